"""Study of whole paths: jumps of solvers that go from pose to pose, and of ``solve_path``."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Protocol, TYPE_CHECKING

import numpy as np
import yaml

from ik_service.common.resources import urdf_path
from ik_service.drawing.figures import (
    ACCENT,
    FAINT,
    GRID,
    INK,
    method_label,
    PALETTE,
    sheet,
)
from ik_service.extras.studies.arms import ARMS
from ik_service.extras.studies.paths.methods import (
    Course,
    JUMP,
    stepwise_courses,
    WHOLE,
    whole_course,
)
from ik_service.extras.studies.tables import write_csv
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure


def wandering_path(
    chain: KinematicChain, seed: int, points: int, legs: int, share: float = 0.3
) -> np.ndarray:
    """
    Return a joint path from one random posture to the next, at rest in each.

    :param chain: the arm; joints without limits stay within ±π.
    :param seed: of the random postures.
    :param points: number of rows.
    :param legs: number of ways between postures.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (points, n) within the limits [rad] or [m].
    """
    ends = random_postures(chain, seed, legs, share)
    course = np.linspace(0, legs, points)
    leg = np.minimum(course.astype(int), legs - 1)
    done = 0.5 - 0.5 * np.cos(math.pi * (course - leg))[:, None]
    return ends[leg] + (ends[leg + 1] - ends[leg]) * done


def random_postures(chain: KinematicChain, seed: int, legs: int, share: float) -> np.ndarray:
    """
    Return random postures, each not far from the one before.

    :param chain: the arm; joints without limits stay within ±π.
    :param seed: of the random postures.
    :param legs: number of ways between postures.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (legs + 1, n) within the limits [rad] or [m].
    """
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    corners = [random.uniform(lower, upper)]
    for _ in range(legs):
        q = corners[-1] + random.uniform(-share, share, chain.n) * (upper - lower)
        q = np.where(q > upper, 2 * upper - q, q)  # what goes over a limit is reflected
        corners.append(np.where(q < lower, 2 * lower - q, q))
    return np.array(corners)


def poses_along(chain: KinematicChain, path: np.ndarray) -> np.ndarray:
    """
    Return the poses of the tip along a joint path.

    :param chain: the arm.
    :param path: (k, n) joint vectors [rad] or [m].
    :returns: (k, 4, 4) T_base_tip.
    """
    return np.array([chain.forward(q) for q in path]).reshape(-1, 4, 4)


_OURS = 'panda'
_LISTING = 'chains.yaml'
_JOINTS = 7


@dataclass(frozen=True)
class PathArm:
    """
    An arm with its description.

    :ivar name: its name.
    :ivar urdf: the description.
    :ivar chain: from its base to its tip.
    """

    name: str
    urdf: Path
    chain: KinematicChain


def path_arms(folder: Path) -> tuple[list[PathArm], str]:
    """
    Return the arms of the study.

    :param folder: descriptions, and their base and tip links in ``chains.yaml``: a list of
        ``name``, ``urdf``, ``base_link`` and ``tip_link``.
    :returns: the arms, ours first, and why there are no others; empty when there are.
    """
    arms = [_arm(_OURS, urdf_path(_OURS), *ARMS[_OURS])]
    listing = folder / _LISTING
    if not listing.is_file():
        return arms, f'other arms are skipped: there is no {listing} (--robots)'
    for entry in yaml.safe_load(listing.read_text(encoding='utf-8')):
        links = entry['base_link'], entry['tip_link']
        arm = _arm(entry['name'], folder / entry['urdf'], *links)
        if arm.chain.n == _JOINTS and _OURS not in arm.name:
            arms.append(arm)
    return arms, ''


def _arm(name: str, urdf: Path, base_link: str, tip_link: str) -> PathArm:
    return PathArm(name, urdf, Robot.from_urdf(urdf).chain(base_link, tip_link))


_COLORS = {
    WHOLE: PALETTE[0], 'levenberg_marquardt': PALETTE[3], 'roboticstoolbox': PALETTE[1],
    'TRAC-IK': PALETTE[2],
}  # fmt: skip
_LABELS = {WHOLE: 'solve_path, the whole path', 'levenberg_marquardt': 'Levenberg–Marquardt, ours'}
_MARKERS = ('o', 's', 'D', '^')
_TICK = 0.08  # height of the marks of jumps, of the axes


class Outcome(Protocol):
    """Courses of all methods along a path, as the study has them."""

    @property
    def arm(self) -> PathArm:
        """The arm."""

    @property
    def number(self) -> int:
        """Number of the path."""

    @property
    def courses(self) -> tuple[Course, ...]:
        """One a method."""


def draw(path: Path, shown: Outcome, outcomes: Sequence[Outcome]) -> None:
    """
    Draw the joints along one path for each method, and the jumps on all paths.

    :param path: the PNG file.
    :param shown: the path whose joints are drawn.
    :param outcomes: all paths.
    """
    rows = len(shown.courses)
    with sheet(path, 14.0, 2.0 * rows + 1.2) as figure:
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.9, 1.0))[0]
        _draw_joints(left, shown)
        _draw_jumps(right, outcomes)


def _draw_joints(panel: SubFigure, shown: Outcome) -> None:
    grid = panel.subplots(len(shown.courses), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, course in zip(grid, shown.courses, strict=True):
        for joint, color in zip(np.degrees(course.q).T, _joint_colors(course), strict=True):
            axes.plot(joint, color=color, linewidth=1.1)
        for jump in course.jumps:
            axes.axvspan(jump - 1.0, jump, color=ACCENT, alpha=0.28, linewidth=0.6, zorder=0)
            axes.axvline(jump, 1.0 - _TICK, 1.0, color=ACCENT, linewidth=1.2)
        axes.set_title(_title(course), fontsize=10)
        axes.set_ylabel('joints [°]')
        axes.set_xlim(0, len(course.q) - 1)
    grid[-1].set_xlabel('pose')
    panel.suptitle(
        f'{shown.arm.name}: joints along path {shown.number}, jumps above {JUMP:g} rad marked',
        x=0.02, ha='left', fontsize=12,
    )  # fmt: skip


def _title(course: Course) -> str:
    jumps = len(course.jumps)
    text = 'no jump' if jumps == 0 else f'{jumps} jump{"" if jumps == 1 else "s"}'
    missing = int((~course.solved).sum())
    more = f', {missing} poses not solved' if missing else ''
    return f'{_label(course.method)}: {text}{more}, {course.seconds:.2f} s'


def _joint_colors(course: Course) -> list[str]:
    return [PALETTE[i % len(PALETTE)] for i in range(course.q.shape[1])]


def _label(method: str) -> str:
    return _LABELS.get(method, method_label(method))


def _draw_jumps(panel: SubFigure, outcomes: Sequence[Outcome]) -> None:
    """Draw the number of jumps of every method on every path, arm by arm."""
    axes: Axes = panel.subplots()
    arms = list(dict.fromkeys(outcome.arm.name for outcome in outcomes))
    methods = list(dict.fromkeys(c.method for outcome in outcomes for c in outcome.courses))
    lanes = np.linspace(-0.24, 0.24, len(methods)) if len(methods) > 1 else [0.0]
    for height in range(len(arms)):
        axes.axhspan(height - 0.36, height + 0.36, color=GRID, alpha=0.55, linewidth=0, zorder=0)
    for method, lane, marker in zip(methods, lanes, _MARKERS, strict=False):
        points = [
            (len(course.jumps), arms.index(outcome.arm.name) + lane)
            for outcome in outcomes
            for course in outcome.courses
            if course.method == method
        ]
        axes.plot(
            *np.transpose(points), marker, color=_COLORS.get(method, FAINT), markersize=7,
            label=_label(method), clip_on=False, zorder=3,
        )  # fmt: skip
    axes.axvline(0.0, color=INK, linewidth=1.0, zorder=1)
    axes.set_yticks(range(len(arms)), [name.replace('_', ' ') for name in arms])
    axes.set_ylim(len(arms) - 0.5, -0.5)
    axes.set_xlim(left=0.0)
    axes.grid(axis='y', visible=False)
    axes.set_xlabel(f'jumps above {JUMP:g} rad on a path')
    axes.spines['left'].set_visible(False)
    poses = len(outcomes[0].courses[0].q)
    panel.suptitle(f'Jumps on paths of {poses:,} poses', x=0.02, ha='left', fontsize=12)
    panel.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=2)


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
