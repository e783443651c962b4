"""Main function of ``ik_conformance``: checks of any ``compute_ik`` server on the ROS graph."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
import math
import os
from pathlib import Path
import time

from moveit_msgs.srv import GetPositionIK

from ik_service.cli.formatting import labelled
from ik_service.cli.parser import Parser
from ik_service.cli.ros import split_ros_arguments
from ik_service.common.arguments import checked_option
from ik_service.common.quoting import suggested
from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    COMPUTE_IK,
    NoAnswerError,
    NotSupportedError,
)
from ik_service.extras.conformance.check import Check, Outcome, Verdict
from ik_service.extras.conformance.checks import (
    answers,
    collisions,
    constraints,
    load,
    motions,
    plans,
    solutions,
)
from ik_service.extras.conformance.checks.load import ALIVE
from ik_service.extras.conformance.connection import connected
from ik_service.extras.conformance.report import listing, Report, write_json, write_junit
from ik_service.extras.conformance.subject import CheckSettings, Choice, prepare, Subject

CHECKS: tuple[Check, ...] = (
    *solutions.FORWARD,
    *solutions.SOLUTIONS,
    *answers.ANSWERS,
    *answers.LINKS,
    *answers.FRAMES,
    *answers.TIPS,
    *constraints.CONSTRAINTS,
    *solutions.TIMES,
    *collisions.COLLISIONS,
    *collisions.SCENES,
    *plans.LINES,
    *plans.PLANS,
    *motions.MOTIONS,
    *load.CLIENTS,
    # Checks that may end a weak server come last.
    *answers.NUMBERS,
    *answers.SEEDS,
    *load.HUGE,
    *load.ALIVE,
)
"""All checks."""


class UnknownCheckError(IkServiceError):
    """Name of a check or section that does not exist."""


def chosen_checks(names: Sequence[str], gentle: bool) -> tuple[Check, ...]:
    """Return checks of these names or sections, or all; ``gentle`` without the violent ones."""
    sections = dict.fromkeys(check.section for check in CHECKS)
    for name in names:
        if name not in sections and all(name != check.name for check in CHECKS):
            near = suggested(name, [*sections, *(check.name for check in CHECKS)])
            raise UnknownCheckError(f'there is no check or section {name!r}; {near} (--list)')
    return tuple(
        check
        for check in CHECKS
        if (not names or check.name in names or check.section in names)
        and not (gentle and check.rough)
    )


def run_checks(checks: Iterable[Check], subject: Subject) -> Iterator[Outcome]:
    """
    Run checks and yield their outcomes.

    After a request that was not answered, and where the service has gone, an ordinary one is sent;
    when that is not answered either, the server counts as gone, and no further check is run but
    the one that says so.
    """
    gone = ''
    for check in checks:
        if gone and check not in ALIVE:
            yield Outcome(check, Verdict.NOT_RUN, gone)
            continue
        outcome = _outcome(check, subject)
        yield outcome
        ended = not subject.connection.offers(GetPositionIK, COMPUTE_IK)
        if (ended or isinstance(outcome.failure, NoAnswerError)) and not gone:
            gone = '' if _answers(subject) else f'the server answers no more since {check.name}'


def _outcome(check: Check, subject: Subject) -> Outcome:
    began = time.monotonic()
    failure: CheckFailedError | None = None
    try:
        note, verdict = check.run(subject), Verdict.PASS
    except NotSupportedError as reason:
        note, verdict = str(reason), Verdict.NOT_SUPPORTED
    except CheckFailedError as error:
        note, verdict, failure = str(error), Verdict.FAIL, error
    except IkServiceError as error:  # a value in an answer that nothing can be computed from
        failure = CheckFailedError(check.summary, str(error), 'an answer that can be read')
        note, verdict = str(failure), Verdict.FAIL
    return Outcome(check, verdict, note, time.monotonic() - began, failure)


def _answers(subject: Subject) -> bool:
    request, _, _ = subject.ordinary_request('a sign of life')
    try:
        subject.ik(request, 'a pose near its seed')
    except (NoAnswerError, NotSupportedError):
        return False
    return True


_positive = checked_option(float, lambda x: 0.0 < x < math.inf, 'has to be positive, not {}')

_EXAMPLES = """
The robot is that of the server, from its parameter robot_description, from get_urdf, or from the
topic robot_description. Nothing is moved without --move. --ros-args at the end leads to other
names:

  ik_conformance --urdf panda.urdf --tip-link panda_hand_tcp
  ik_conformance --group panda_arm --junit report.xml
  ik_conformance --only solutions clients --count 1000
  ik_conformance --urdf arm.urdf --ros-args -r compute_ik:=/other/compute_ik

exit code: 0 no check has failed, 1 one has, 2 a wrong command or no server
"""


def parse(arguments: Sequence[str]) -> tuple[Namespace, list[str]]:
    """Return the options, and the arguments for ROS."""
    own, ros = split_ros_arguments(arguments)
    parser = _parser()
    options = parser.parse_args(own)
    for file in filter(None, (options.junit, options.json)):
        if not os.path.isdir(file.absolute().parent):
            parser.error(f'there is no folder {str(file.parent)!r} for the report')
        if os.path.isdir(file) or not os.access(
            file if os.path.exists(file) else file.parent, os.W_OK
        ):
            parser.error(f'the report cannot be written to {str(file)!r}')
    if options.junit and options.junit == options.json:
        parser.error('--junit and --json need a file each')
    return options, ros


def _parser() -> ArgumentParser:
    parser = Parser(
        prog='ik_conformance',
        description='Asks a compute_ik and compute_fk server on the ROS graph, and prints a table '
        'of checks:\npass, fail, or not supported.',
        epilog=_EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    _add_robot(parser)
    _add_checks(parser)
    parser.add_argument('--namespace', default='', help='namespace of the services')
    parser.add_argument(
        '--timeout',
        type=_positive,
        default=10.0,
        metavar='S',
        help='how long to wait for a server, and for each answer (default: %(default)g s)',
    )
    parser.add_argument(
        '--first-timeout',
        type=_positive,
        default=120.0,
        metavar='S',
        help='how long to wait for the first answer, as a server may still compile or load a '
        'solver (default: %(default)g s)',
    )
    parser.add_argument('--junit', type=Path, metavar='FILE', help='write a report as JUnit XML')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write a report as JSON')
    return parser


def _add_robot(parser: ArgumentParser) -> None:
    group = parser.add_argument_group('robot')
    group.add_argument('--urdf', type=Path, metavar='FILE', help='URDF or xacro file')
    group.add_argument('--srdf', type=Path, metavar='FILE', help='SRDF or xacro file')
    group.add_argument(
        '--group', default='', metavar='NAME', help="planning group (default: the server's)"
    )
    group.add_argument('--base-link', default='', metavar='LINK', help='base of the arm')
    group.add_argument('--tip-link', default='', metavar='LINK', help='tip of the arm')


def _add_checks(parser: ArgumentParser) -> None:
    group = parser.add_argument_group('checks')
    group.add_argument('--list', action='store_true', help='list the checks, and end')
    group.add_argument(
        '--only', nargs='+', default=[], metavar='NAME', help='only these checks or sections'
    )
    group.add_argument(
        '--gentle', action='store_true', help='leave out what may end a weak server'
    )
    group.add_argument(
        '--change-world',
        action='store_true',
        help='add an object to the world of the server for a moment, and remove it',
    )
    group.add_argument(
        '--move',
        action='store_true',
        help='move the arm by move_action, by up to 0.2 rad or m a joint, and back',
    )
    group.add_argument(
        '--count',
        type=checked_option(
            int, lambda n: 1 <= n <= 1_000_000, 'has to be from 1 to 1,000,000, not {}'
        ),
        default=100,
        metavar='N',
        help='number of random poses (default: %(default)d)',
    )
    group.add_argument(
        '--position-tolerance',
        type=_positive,
        default=1e-3,
        metavar='M',
        help='by which a solution may miss a position (default: %(default)g m)',
    )
    group.add_argument(
        '--orientation-tolerance',
        type=_positive,
        default=1e-2,
        metavar='RAD',
        help='by which it may miss an orientation (default: %(default)g rad)',
    )


def main(arguments: Sequence[str]) -> int:
    """Run the program; return 0 when no check has failed, else 1."""
    options, ros_arguments = parse(arguments)
    checks = chosen_checks(options.only, options.gentle)
    if options.list:
        print(listing(checks))
        return 0
    choice = Choice(options.urdf, options.srdf, options.group, options.base_link, options.tip_link)
    settings = CheckSettings(
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
    for label, text in about.items():
        print('\n'.join(labelled(label.capitalize(), text)))
    report, began = Report(checks), time.monotonic()
    outcomes: list[Outcome] = []
    try:
        for outcome in run_checks(checks, subject):
            outcomes.append(outcome)
            report.add(outcome)
    finally:  # also the findings until Ctrl-C
        report.end(time.monotonic() - began)
        with ExitStack() as reports:  # each, also where another one fails
            if options.junit is not None:
                reports.callback(write_junit, options.junit, outcomes, about)
            if options.json is not None:
                reports.callback(write_json, options.json, outcomes, about)
    return 1 if any(outcome.verdict is Verdict.FAIL for outcome in outcomes) else 0


def _about(subject: Subject, source: str) -> dict[str, str]:
    arm, connection = subject.arm, subject.connection
    servers = ', '.join(connection.servers_of(COMPUTE_IK)) or 'a node that cannot be found'
    group = subject.group_name or "(empty: the server's default)"
    return {
        'server': f'{connection.full_name(COMPUTE_IK)} of {servers}',
        'robot': f'{arm.robot.name}: {len(arm.joint_names)} joints, {arm.base_link} → '
        f'{", ".join(arm.tips)}; from {source}',
        'group': group,
    }
