"""Main function of ``ik_conformance``: checks of any ``compute_ik`` server on the ROS graph."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
import time
from typing import TYPE_CHECKING

from ik_service.common.ros_installation import require_ros
from ik_service.extras.conformance.arguments import parse

if TYPE_CHECKING:
    from ik_service.extras.conformance.check import Check, Outcome
    from ik_service.extras.conformance.subject import Subject


def main(arguments: Sequence[str]) -> int:
    """
    Run the program.

    :param arguments: the command line after the program's name.
    :returns: the exit code: 0 when no check has failed, 1 when one has.
    :raises IkServiceError: there is no server, or no description of its robot.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    options, ros_arguments = parse(arguments)
    require_ros()
    from ik_service.extras.conformance.connection import connected
    from ik_service.extras.conformance.preparation import Choice, prepare
    from ik_service.extras.conformance.subject import Settings
    from ik_service.extras.conformance.table import chosen_checks
    from ik_service.extras.conformance.text import listing

    checks = chosen_checks(options.only, options.gentle)
    if options.list:
        print(listing(checks))
        return 0
    choice = Choice(options.urdf, options.srdf, options.group, options.base_link, options.tip_link)
    settings = Settings(
        options.count,
        options.position_tolerance,
        options.orientation_tolerance,
        options.change_world,
        options.move,
    )
    with connected(ros_arguments, options.namespace, options.timeout) as connection:
        subject, source = prepare(connection, choice, settings, options.first_timeout)
        return _run(subject, checks, _about(subject, source), options)


def _run(
    subject: Subject, checks: Sequence[Check], about: dict[str, str], options: Namespace
) -> int:
    from ik_service.cli.formatting import labelled
    from ik_service.extras.conformance.check import Verdict
    from ik_service.extras.conformance.files import write_json, write_junit
    from ik_service.extras.conformance.run import run_checks
    from ik_service.extras.conformance.text import Report

    for label, text in about.items():
        print('\n'.join(labelled(label.capitalize(), text)))
    report, began = Report(checks), time.monotonic()
    outcomes: list[Outcome] = []
    try:
        for outcome in run_checks(checks, subject):
            outcomes.append(outcome)
            report.add(outcome)
    finally:  # also what was found until Ctrl-C
        report.end(time.monotonic() - began)
        if options.junit is not None:
            write_junit(options.junit, outcomes, about)
        if options.json is not None:
            write_json(options.json, outcomes, about)
    return 1 if any(outcome.verdict is Verdict.FAIL for outcome in outcomes) else 0


def _about(subject: Subject, source: str) -> dict[str, str]:
    """Return what the checks are run on, in words."""
    from ik_service.extras.conformance.names import COMPUTE_IK

    arm, connection = subject.arm, subject.connection
    servers = ', '.join(connection.servers_of(COMPUTE_IK)) or 'a node that cannot be found'
    group = subject.group_name or "(empty: the server's default)"
    return {
        'server': f'{connection.full_name(COMPUTE_IK)} of {servers}',
        'robot': f'{arm.robot.name}: {len(arm.joint_names)} joints, {arm.base_link} → '
        f'{", ".join(arm.tips)}; from {source}',
        'group': group,
    }
