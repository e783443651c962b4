"""Study of whole paths: jumps of solvers that go from pose to pose, and of ``solve_path``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle
import math
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any, TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np
import yaml

from ik_service.common.option_values import checked_option
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
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
from ik_service.exceptions import IkServiceError
from ik_service.extras.studies.arms import ARMS
from ik_service.extras.studies.tables import write_csv
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_path, JointPath
from ik_service.kinematics.pose_error import pose_error
from ik_service.paths.search.path_solver import solve_path
from ik_service.robot import Robot
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure


Solve = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""From T_base_tip (4, 4) and a seed (n,) to a joint vector (n,); None for none."""

_PEERS_TOLERANCE = 1e-5
_UNREAD = ('visual', 'collision', 'safety_controller', 'transmission')

WHOLE = 'solve_path'
JUMP = 0.1
"""Motion of a joint from one pose to the next that is a jump [rad] or [m]."""

# Errors that single precision or rounding allows [m], [rad], and beyond a limit.
_TOLERANCE, _SLACK = 1.5e-5, 1e-6
_TRIED = 3  # poses that are solved before time counts

_OURS = 'panda'
_LISTING = 'chains.yaml'
_JOINTS = 7

_COLORS = {
    WHOLE: PALETTE[0], 'levenberg_marquardt': PALETTE[3], 'roboticstoolbox': PALETTE[1],
    'TRAC-IK': PALETTE[2],
}  # fmt: skip
_LABELS = {WHOLE: 'solve_path, the whole path', 'levenberg_marquardt': 'Levenberg–Marquardt, ours'}
_MARKERS = ('o', 's', 'D', '^')
_TICK = 0.08  # height of the marks of jumps, of the axes

SUMMARY = 'whole paths of 7-joint arms: jumps from pose to pose, and of solve_path'

_count = checked_option(int, lambda n: n >= 1, 'a whole number of at least 1 is needed, not {!r}')
_FOLDER = Path('../shared/robots')
_HEADING = (
    'arm', 'path', 'method', 'poses', 'solved', 'without_jump_up_to', 'jumps', 'largest_motion',
    'seconds',
)  # fmt: skip
# Of the poses whose joints go into the table, one in so many, beside those at jumps.
_SHOWN = 5


class AbsentPeerError(IkServiceError):
    """Library that is missing, or cannot solve for an arm; the text is the reason."""


def roboticstoolbox_solver(rtb: ModuleType, chain: KinematicChain) -> Solve:
    """
    Return ``ik_LM`` of roboticstoolbox in C++, by Chan's method.

    Its tolerance is on ½‖e‖²: the default of 1e-6 lets errors of 1.4e-3 pass, and 5e-11 is 1e-5.

    :raises AbsentPeerError: not all of its joints turn.
    """
    path = revolute_path(chain)
    elements = []
    for i, motion in enumerate(path.motions):
        limits = np.array([chain.lower[i], chain.upper[i]])
        elements += [rtb.ET.SE3(motion.T_before), rtb.ET.Rz(jindex=i, qlim=limits)]
    ets = rtb.ETS([*elements, rtb.ET.SE3(path.T_after)])

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solution = ets.ik_LM(target, q0=seed, tol=0.5 * _PEERS_TOLERANCE**2, k=0.1, method='chan')
        return solution.q if solution.success else None

    return solve


def trac_ik_solver(
    pytracik: ModuleType,
    urdf: str,
    links: tuple[str, str],
    mode: str = 'Speed',
    timeout: float = 0.005,
) -> Callable[[tuple[float, ...], np.ndarray], np.ndarray | None]:
    """
    Return TRAC-IK through its Python binding; its targets are those of :func:`trac_ik_target`.

    :param urdf: text of the description, see :func:`plain_urdf`.
    :param mode: Speed returns the first solution, Distance uses all the time to find a near one.
    :param timeout: [s].
    """
    kind = getattr(pytracik.SolveType, mode)
    solver = pytracik.TRAC_IK(*links, urdf, timeout, _PEERS_TOLERANCE, kind)

    def solve(target: tuple[float, ...], seed: np.ndarray) -> np.ndarray | None:
        answer = pytracik.ik(solver, seed, *target)
        return answer[1:] if answer[0] >= 0 else None

    return solve


def trac_ik_target(T: np.ndarray) -> tuple[float, ...]:
    """
    Return a target as TRAC-IK takes it: position, then quaternion.

    :param T: (4, 4) T_base_tip.
    """
    return (*T[:3, 3].tolist(), *quaternion_xyzw_from_rotation(T[:3, :3]))


def plain_urdf(path: Path) -> str:
    """
    Return a description without meshes, and with the limits that count here in its <limit>s.

    Some readers search for mesh files; TRAC-IK's reads a <safety_controller> without bounds as one
    whose bounds are zero.
    """
    root = ElementTree.parse(path).getroot()
    joints = Robot.from_urdf(path).joints
    for joint in root.iterfind('joint[safety_controller]'):
        own, limit = joints[joint.get('name', '')].limits, joint.find('limit')
        if limit is not None and joint.get('type') != 'continuous':
            limit.attrib.update(lower=repr(own.lower), upper=repr(own.upper))
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _UNREAD:
                parent.remove(child)
    return ElementTree.tostring(root, encoding='unicode')


def revolute_path(chain: KinematicChain) -> JointPath:
    """
    Return a chain as turns about z with constant transforms between them.

    :raises AbsentPeerError: not all of its joints turn.
    """
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, {})
    if any(motion.scale != 1.0 or not motion.turns for motion in path.motions):
        raise AbsentPeerError('it is asked only for chains whose joints all turn')
    return path


@dataclass(frozen=True)
class FoundPath:
    """
    Joint path that a method found.

    :ivar q: (N, n) joint vectors [rad] or [m]; NaN where a pose is not solved.
    :ivar seconds: time for all of them [s].
    """

    method: str
    q: np.ndarray
    seconds: float

    @property
    def solved(self) -> np.ndarray:
        """(N,) Whether each pose is solved."""
        return ~np.isnan(self.q[:, 0])

    @property
    def motions(self) -> np.ndarray:
        """(N,) Largest motion of a joint since the solution before [rad] or [m]; 0 for none."""
        rows = np.flatnonzero(self.solved)
        motions = np.zeros(len(self.q))
        motions[rows[1:]] = np.abs(np.diff(self.q[rows], axis=0)).max(axis=1, initial=0.0)
        return motions

    @property
    def jumps(self) -> np.ndarray:
        """Numbers of the poses to which a joint jumps."""
        return np.flatnonzero(self.motions > JUMP)

    @property
    def fraction(self) -> float:
        """Share of the path up to the first jump, or the first pose that is not solved."""
        wrong = (self.motions > JUMP) | ~self.solved
        return float(np.argmax(wrong)) / len(wrong) if wrong.any() else 1.0


def whole_path(chain: KinematicChain, targets: np.ndarray, start: np.ndarray) -> FoundPath:
    """
    Find the path as a whole.

    :param targets: (N, 4, 4) T_base_tip.
    :param start: (n,) where it begins [rad] or [m].
    """
    solve_path(chain, targets[:_TRIED], start)
    began = perf_counter()
    path = solve_path(chain, targets, start)
    return FoundPath(WHOLE, path.q, perf_counter() - began)


def stepwise_paths(
    chain: KinematicChain, urdf: Path, targets: np.ndarray, start: np.ndarray
) -> tuple[list[FoundPath], dict[str, str]]:
    """
    Solve pose after pose, each from the solution before, with our default solver and with others.

    :param targets: (N, 4, 4) T_base_tip.
    :param start: (n,) where it begins [rad] or [m].
    :returns: the paths, and why other libraries are absent, by name.
    """
    makers: dict[str, Callable[[], tuple[Any, Callable[[np.ndarray], Any]]]] = {
        DEFAULT_SOLVER: lambda: (_own_solver(chain), np.asarray),
        'roboticstoolbox': lambda: (
            roboticstoolbox_solver(_library('roboticstoolbox'), chain),
            np.asarray,
        ),
        'TRAC-IK': lambda: (
            trac_ik_solver(
                _library('pytracik'), plain_urdf(urdf), (chain.base_link, chain.tip_link)
            ),
            trac_ik_target,
        ),
    }
    found_paths, absent = [], {}
    for name, make in makers.items():
        try:
            solve, prepare = make()
            _follow(name, chain, solve, prepare, targets[:_TRIED], start)
            found_paths.append(_follow(name, chain, solve, prepare, targets, start))
        except AbsentPeerError as reason:
            absent[name] = str(reason)
        except ValueError as error:  # roboticstoolbox refuses joints without limits
            absent[name] = str(error)
    return found_paths, absent


def _follow(
    method: str,
    chain: KinematicChain,
    solve: Callable[[Any, np.ndarray], np.ndarray | None],
    prepare: Callable[[np.ndarray], Any],
    targets: np.ndarray,
    start: np.ndarray,
) -> FoundPath:
    """Go from pose to pose; the seed is the last solution that its library reports."""
    prepared, seed = [prepare(T) for T in targets], start
    q = np.full((len(targets), chain.n), np.nan)
    began = perf_counter()
    for k, target in enumerate(prepared):
        answer = solve(target, seed)
        if answer is not None:
            q[k] = seed = answer
    seconds = perf_counter() - began
    for k, T in enumerate(targets):
        if not _accepted(chain, q[k], T):
            q[k] = np.nan
    return FoundPath(method, q, seconds)


def _accepted(chain: KinematicChain, q: np.ndarray, target: np.ndarray) -> bool:
    """Whether a joint vector is at its target and within the limits."""
    if not np.isfinite(q).all():
        return False
    inside = (q >= chain.lower - _SLACK).all() and (q <= chain.upper + _SLACK).all()
    return bool(inside and np.abs(pose_error(chain.forward(q), target)).max() <= _TOLERANCE)


def _own_solver(chain: KinematicChain) -> Solve:
    solver = Solver(chain)

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = solver.solve(target, seed)
        return result.q if result.success else None

    return solve


def _library(name: str) -> ModuleType:
    try:
        return import_module(name)
    except Exception as error:  # an extension of the wrong version can raise anything
        raise AbsentPeerError(f'{name} cannot be imported: {error}') from error


def wandering_path(
    chain: KinematicChain, seed: int, points: int, legs: int, share: float = 0.3
) -> np.ndarray:
    """
    Return a joint path from one random posture to the next, at rest in each.

    :param chain: the arm; joints without limits stay within ±π.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (points, n) within the limits [rad] or [m].
    """
    ends = random_corners(chain, seed, legs, share)
    progress = np.linspace(0, legs, points)
    leg = np.minimum(progress.astype(int), legs - 1)
    done = 0.5 - 0.5 * np.cos(math.pi * (progress - leg))[:, None]
    return ends[leg] + (ends[leg + 1] - ends[leg]) * done


def random_corners(chain: KinematicChain, seed: int, legs: int, share: float) -> np.ndarray:
    """
    Return random postures, each not far from the one before.

    :param chain: the arm; joints without limits stay within ±π.
    :param share: of its range that a joint moves at most on a leg.
    :returns: (legs + 1, n) within the limits [rad] or [m].
    """
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    corners = [random.uniform(lower, upper)]
    for _ in range(legs):
        q = corners[-1] + random.uniform(-share, share, chain.n) * (upper - lower)
        q = np.where(q > upper, 2 * upper - q, q)  # positions beyond a limit are reflected
        corners.append(np.where(q < lower, 2 * lower - q, q))
    return np.array(corners)


def poses_along(chain: KinematicChain, path: np.ndarray) -> np.ndarray:
    """
    Return the poses of the tip along a joint path.

    :param path: (k, n) joint vectors [rad] or [m].
    :returns: (k, 4, 4) T_base_tip.
    """
    return np.array([chain.forward(q) for q in path]).reshape(-1, 4, 4)


@dataclass(frozen=True)
class PathArm:
    """An arm with its description."""

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


@dataclass(frozen=True)
class PathOutcome:
    """Courses of all methods along a path."""

    arm: PathArm
    number: int
    found_paths: tuple[FoundPath, ...]


def draw(path: Path, shown: PathOutcome, outcomes: Sequence[PathOutcome]) -> None:
    """Draw the joints along one path for each method, and the jumps on all paths."""
    rows = len(shown.found_paths)
    with sheet(path, 14.0, 2.0 * rows + 1.2) as figure:
        left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(1.9, 1.0))[0]
        _draw_joints(left, shown)
        _draw_jumps(right, outcomes)


def _draw_joints(panel: SubFigure, shown: PathOutcome) -> None:
    grid = panel.subplots(len(shown.found_paths), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for axes, found in zip(grid, shown.found_paths, strict=True):
        for joint, color in zip(np.degrees(found.q).T, cycle(PALETTE), strict=False):
            axes.plot(joint, color=color, linewidth=1.1)
        for jump in found.jumps:
            axes.axvspan(jump - 1.0, jump, color=ACCENT, alpha=0.28, linewidth=0.6, zorder=0)
            axes.axvline(jump, 1.0 - _TICK, 1.0, color=ACCENT, linewidth=1.2)
        axes.set_title(_title(found), fontsize=10)
        axes.set_ylabel('joints [°]')
        axes.set_xlim(0, len(found.q) - 1)
    grid[-1].set_xlabel('pose')
    panel.suptitle(
        f'{shown.arm.name}: joints along path {shown.number}, jumps above {JUMP:g} rad marked',
        x=0.02, ha='left', fontsize=12,
    )  # fmt: skip


def _title(found: FoundPath) -> str:
    jumps = len(found.jumps)
    text = 'no jump' if jumps == 0 else f'{jumps} jump{"" if jumps == 1 else "s"}'
    missing = int((~found.solved).sum())
    more = f', {missing} poses not solved' if missing else ''
    return f'{_label(found.method)}: {text}{more}, {found.seconds:.2f} s'


def _label(method: str) -> str:
    return _LABELS.get(method, method_label(method))


def _draw_jumps(panel: SubFigure, outcomes: Sequence[PathOutcome]) -> None:
    """Draw the number of jumps of every method on every path, arm by arm."""
    axes: Axes = panel.subplots()
    arms = list(dict.fromkeys(outcome.arm.name for outcome in outcomes))
    methods = list(dict.fromkeys(c.method for outcome in outcomes for c in outcome.found_paths))
    lanes = np.linspace(-0.24, 0.24, len(methods)) if len(methods) > 1 else [0.0]
    for height in range(len(arms)):
        axes.axhspan(height - 0.36, height + 0.36, color=GRID, alpha=0.55, linewidth=0, zorder=0)
    for method, lane, marker in zip(methods, lanes, _MARKERS, strict=False):
        points = [
            (len(found.jumps), arms.index(outcome.arm.name) + lane)
            for outcome in outcomes
            for found in outcome.found_paths
            if found.method == method
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
    poses = len(outcomes[0].found_paths[0].q)
    panel.suptitle(f'Jumps on paths of {poses:,} poses', x=0.02, ha='left', fontsize=12)
    panel.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=2)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the study."""
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
    # That on which all methods together jump most.
    shown = max(outcomes, key=lambda outcome: sum(len(each.jumps) for each in outcome.found_paths))
    folder = arguments.output
    summary = write_csv(folder / 'paths-summary.csv', _HEADING, _rows(outcomes))
    joints = _write_joints(folder / 'paths.csv', shown)
    draw(folder / 'paths.png', shown, outcomes)
    return [folder / 'paths.png', summary, joints]


def _outcome(
    arm: PathArm, number: int, arguments: Namespace
) -> tuple[PathOutcome, dict[str, str]]:
    truth = wandering_path(arm.chain, number, arguments.poses, arguments.legs)
    targets = poses_along(arm.chain, truth)
    whole = whole_path(arm.chain, targets, truth[0])
    others, absent = stepwise_paths(arm.chain, arm.urdf, targets, truth[0])
    return PathOutcome(arm, number, (whole, *others)), absent


def _rows(outcomes: Iterable[PathOutcome]) -> list[tuple[object, ...]]:
    return [
        (
            outcome.arm.name, outcome.number, found.method, len(found.q),
            int(found.solved.sum()), found.fraction, len(found.jumps),
            float(found.motions.max()), round(found.seconds, 4),
        )
        for outcome in outcomes
        for found in outcome.found_paths
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
    for found in outcome.found_paths:
        shown = {*range(0, len(found.q), _SHOWN), *found.jumps.tolist()}
        jumps = set(found.jumps.tolist())
        for pose in sorted(shown):
            q = np.round(found.q[pose], 5)
            rows.append((outcome.arm.name, outcome.number, found.method, pose, pose in jumps, *q))
    return write_csv(path, columns, rows)
