"""Methods that go along a path: as a whole, or pose after pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ik_service.common.transforms import quaternion_xyzw_from_rotation
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_path, JointPath
from ik_service.kinematics.pose_error import pose_error
from ik_service.paths.search.path_solver import solve_path
from ik_service.solvers.registry import DEFAULT_SOLVER
from ik_service.solvers.solver import Solver

Solve = Callable[[np.ndarray, np.ndarray], np.ndarray | None]
"""From T_base_tip (4, 4) and a seed (n,) to a joint vector (n,); None for none."""

_PEERS_TOLERANCE = 1e-5
_UNREAD = ('visual', 'collision', 'safety_controller', 'transmission')


class AbsentPeerError(IkServiceError):
    """Library that is missing, or cannot solve for an arm; the text is the reason."""


def roboticstoolbox_solver(rtb: ModuleType, chain: KinematicChain) -> Solve:
    """
    Return ``ik_LM`` of roboticstoolbox in C++, by Chan's method.

    Its tolerance is on ½‖e‖²: the default of 1e-6 lets errors of 1.4e-3 pass, and 5e-11 is 1e-5.

    :param rtb: the library.
    :param chain: the arm.
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

    :param pytracik: the binding.
    :param urdf: text of the description, see :func:`plain_urdf`.
    :param links: base and tip.
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
    Return a description without meshes and soft limits.

    Some readers look for mesh files; TRAC-IK's reads a <safety_controller> without bounds as one
    whose bounds are zero.

    :param path: the URDF file.
    """
    root = ElementTree.parse(path).getroot()
    for parent in root.iter():
        for child in list(parent):
            if child.tag in _UNREAD:
                parent.remove(child)
    return ElementTree.tostring(root, encoding='unicode')


def revolute_path(chain: KinematicChain) -> JointPath:
    """
    Return a chain as turns about z with constant transforms between them.

    :param chain: the arm.
    :raises AbsentPeerError: not all of its joints turn.
    """
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, {})
    if any(motion.scale != 1.0 or not motion.turns for motion in path.motions):
        raise AbsentPeerError('it is asked only for chains whose joints all turn')
    return path


WHOLE = 'solve_path'
JUMP = 0.1
"""Motion of a joint from one pose to the next that is a jump [rad] or [m]."""

# What a single-precision or rounding limit lets pass [m], [rad], and beyond a limit.
_TOLERANCE, _SLACK = 1.5e-5, 1e-6
_TRIED = 3  # poses that are solved before time counts


@dataclass(frozen=True)
class Course:
    """
    Way of a method along a path.

    :ivar method: name of the method.
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


def whole_course(chain: KinematicChain, targets: np.ndarray, start: np.ndarray) -> Course:
    """
    Find the path as a whole.

    :param chain: the arm.
    :param targets: (N, 4, 4) T_base_tip.
    :param start: (n,) where it begins [rad] or [m].
    """
    solve_path(chain, targets[:_TRIED], start)
    began = perf_counter()
    path = solve_path(chain, targets, start)
    return Course(WHOLE, path.q, perf_counter() - began)


def stepwise_courses(
    chain: KinematicChain, urdf: Path, targets: np.ndarray, start: np.ndarray
) -> tuple[list[Course], dict[str, str]]:
    """
    Solve pose after pose, each from the solution before, with our default solver and with others.

    :param chain: the arm.
    :param urdf: its description.
    :param targets: (N, 4, 4) T_base_tip.
    :param start: (n,) where it begins [rad] or [m].
    :returns: the courses, and why other libraries are absent, by name.
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
    courses, absent = [], {}
    for name, make in makers.items():
        try:
            solve, prepare = make()
            _follow(name, chain, solve, prepare, targets[:_TRIED], start)
            courses.append(_follow(name, chain, solve, prepare, targets, start))
        except AbsentPeerError as reason:
            absent[name] = str(reason)
        except ValueError as error:  # roboticstoolbox refuses joints without limits
            absent[name] = str(error)
    return courses, absent


def _follow(
    method: str,
    chain: KinematicChain,
    solve: Callable[[Any, np.ndarray], np.ndarray | None],
    prepare: Callable[[np.ndarray], Any],
    targets: np.ndarray,
    start: np.ndarray,
) -> Course:
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
    return Course(method, q, seconds)


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
