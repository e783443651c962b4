"""Study of whole paths: jumps of solvers that go from pose to pose, and of ``solve_path``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ik_service.extras.studies.paths.arms import path_arms, PathArm
from ik_service.extras.studies.paths.joint_paths import poses_along, wandering_path
from ik_service.extras.studies.paths.methods import Course, JUMP, stepwise_courses, whole_course
from ik_service.extras.studies.paths.paths_figure import draw
from ik_service.extras.studies.tables import write_csv

SUMMARY = 'whole paths of 7-joint arms: jumps from pose to pose, and of solve_path'

_FOLDER = Path('../shared/robots')
_HEADING = (
    'arm', 'path', 'method', 'poses', 'solved', 'without_jump_up_to', 'jumps', 'largest_motion',
    'seconds',
)  # fmt: skip
# Of the poses whose joints go into the table, one in so many, beside those at jumps.
_SHOWN = 5


@dataclass(frozen=True)
class PathOutcome:
    """
    Courses of all methods along a path.

    :ivar arm: the arm.
    :ivar number: of the path.
    :ivar courses: one a method, the whole path first.
    """

    arm: PathArm
    number: int
    courses: tuple[Course, ...]


def add_arguments(parser: ArgumentParser) -> None:
    """
    Add the options of the study.

    :param parser: of its command line.
    """
    parser.add_argument(
        '--poses', type=_count, default=2000, metavar='N', help='on a path (default: %(default)s)'
    )
    parser.add_argument(
        '--legs',
        type=_count,
        default=40,
        metavar='N',
        help='ways between random postures on a path (default: %(default)s)',
    )
    parser.add_argument(
        '--paths', type=_count, default=1, metavar='N', help='for each arm (default: %(default)s)'
    )
    parser.add_argument(
        '--robots',
        type=Path,
        default=_FOLDER,
        metavar='DIR',
        help='folder with more arms and a chains.yaml (default: %(default)s)',
    )


def run(arguments: Namespace) -> list[Path]:
    """
    Go along the paths with all methods, and write a figure and two tables.

    :param arguments: the parsed options, with the folder for the files as ``output``.
    :returns: paths of the files.
    """
    arms, missing = path_arms(arguments.robots)
    if missing:
        print(missing)
    outcomes, reasons = [], {}
    for arm in arms:
        for number in range(1, arguments.paths + 1):
            outcome, absent = _outcome(arm, number, arguments)
            outcomes.append(outcome)
            reasons.update(absent)
    for name, reason in reasons.items():
        print(f'{name} is absent: {reason}')
    _print(outcomes)
    folder, shown = arguments.output, _most_jumps(outcomes)
    summary = write_csv(folder / 'paths-summary.csv', _HEADING, _rows(outcomes))
    joints = _write_joints(folder / 'paths.csv', shown)
    draw(folder / 'paths.png', shown, outcomes)
    return [folder / 'paths.png', summary, joints]


def _outcome(
    arm: PathArm, number: int, arguments: Namespace
) -> tuple[PathOutcome, dict[str, str]]:
    truth = wandering_path(arm.chain, number, arguments.poses, arguments.legs)
    targets = poses_along(arm.chain, truth)
    whole = whole_course(arm.chain, targets, truth[0])
    others, absent = stepwise_courses(arm.chain, arm.urdf, targets, truth[0])
    return PathOutcome(arm, number, (whole, *others)), absent


def _most_jumps(outcomes: Sequence[PathOutcome]) -> PathOutcome:
    """Return the path on which all methods together jump most."""
    return max(outcomes, key=lambda outcome: sum(len(each.jumps) for each in outcome.courses))


def _rows(outcomes: Iterable[PathOutcome]) -> list[tuple[object, ...]]:
    return [
        (
            outcome.arm.name, outcome.number, course.method, len(course.q),
            int(course.solved.sum()), course.fraction, len(course.jumps),
            float(course.motions.max()), round(course.seconds, 4),
        )
        for outcome in outcomes
        for course in outcome.courses
    ]  # fmt: skip


def _print(outcomes: Iterable[PathOutcome]) -> None:
    print(f'{"arm":20} path  {"method":20} solved   jumps > {JUMP:g}  up to   time')
    for name, number, method, poses, solved, fraction, jumps, _, seconds in _rows(outcomes):
        print(
            f'{name:20} {number:4}  {method:20} {solved / poses:6.1%} {jumps:10}'  # type: ignore[operator]
            f'  {fraction:7.1%}  {seconds:6.3f} s'
        )


def _write_joints(path: Path, outcome: PathOutcome) -> Path:
    columns = ('arm', 'path', 'method', 'pose', 'jump', *outcome.arm.chain.joint_names)
    rows = []
    for course in outcome.courses:
        shown = {*range(0, len(course.q), _SHOWN), *course.jumps.tolist()}
        jumps = set(course.jumps.tolist())
        for pose in sorted(shown):
            q = np.round(course.q[pose], 5)
            rows.append((outcome.arm.name, outcome.number, course.method, pose, pose in jumps, *q))
    return write_csv(path, columns, rows)


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise ArgumentTypeError(f'a whole number of at least 1 is needed, not {text!r}')
    return value
