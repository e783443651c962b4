"""
Adapters of the measured solvers: of this project, and of other IK libraries.

Each has the same tolerance of 1e-5 and the joint limits. Targets and chains are prepared in
advance where a library allows it: what is timed is its solver, called from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass, field
from functools import partial
import importlib
import io
import json
import math
from pathlib import Path
import sys
from types import ModuleType
from typing import Any

import numpy as np
from records import Row
from robots import BenchRobot

import ik_service as iks
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.joint_path import joint_path, JointPath

_TOLERANCE = 1e-5  # [m] and [rad]


class AbsentPeerError(IkServiceError):
    """Library that is missing, or cannot solve for an arm; the text is the reason."""


def revolute_path(chain: iks.KinematicChain) -> JointPath:
    """Return a chain as turns about z between transforms; AbsentPeerError if not all turn."""
    path = joint_path(chain.robot, chain.base_link, chain.tip_link, {})
    if any(motion.scale != 1.0 or not motion.turns for motion in path.motions):
        raise AbsentPeerError('it is asked only for chains whose joints all turn')
    return path


@dataclass(frozen=True)
class Adapter:
    """
    Solver of any library, prepared for a robot.

    :ivar solve: from a prepared target and a seed (n,) to joint positions (n,), or None when the
        solver reports that it found none.
    :ivar prepare: from T_base_tip (4, 4) to the target in the format of the solver; not timed.
    :ivar share: the share of the problems that it gets; below 1 for slow ones.
    :ivar inside: time of each solve in the compiled solver [s]; only for this project's.
    """

    name: str
    solve: Callable[[object, np.ndarray], np.ndarray | None]
    prepare: Callable[[np.ndarray], object] = np.asarray
    share: float = 1.0
    inside: list[float] = field(default_factory=list)


def ours(robot: BenchRobot, solver: str, options: iks.IkOptions | None = None) -> Adapter:
    """Adapter of one of this project's methods, through ``Solver.solve``."""
    prepared = iks.Solver(robot.chain, solver, options)
    prepared.warm_up()

    inside: list[float] = []

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = prepared.solve(target, seed)
        inside.append(result.solve_time)
        return result.q if result.success else None

    return Adapter(solver, solve, inside=inside)


def require(module: str, package: str) -> ModuleType:
    """Import a module of another library; AbsentPeerError says why it cannot be imported."""
    try:
        return importlib.import_module(module)
    except Exception as error:  # an extension of the wrong version can raise anything
        reason = f'{package} cannot be imported: {error}'
        raise AbsentPeerError(why_absent(package, reason)) from error


def why_absent(package: str, otherwise: str) -> str:
    """Return the reason why a library could not be installed; ``otherwise`` where it could."""
    with suppress(OSError):
        return json.loads(Path(sys.prefix, 'absent.json').read_text()).get(package, otherwise)
    return otherwise


def gather(factories: dict[str, Callable[[], Adapter]]) -> tuple[list[Adapter], list[Row]]:
    """Make adapters; return them, and rows with the reasons of those that cannot be made."""
    there, absent = [], []
    for name, make in factories.items():
        try:
            there.append(make())
        except AbsentPeerError as reason:
            absent.append({'solver': name, 'absent': str(reason)})
    return there, absent


_PINK_ITERATIONS = 100


def all_peers(robot: BenchRobot) -> tuple[list[Adapter], list[Row]]:
    """Make adapters of all libraries that can solve for a robot, and the others' reasons."""
    return gather(
        {
            'roboticstoolbox': partial(roboticstoolbox, robot),
            'TRAC-IK': partial(trac_ik, robot),
            'KDL': partial(kdl, robot),
            'pink': partial(pink, robot),
            'ikpy': partial(ikpy, robot),
            'EAIK': partial(eaik, robot),
        }
    )


def searches(robot: BenchRobot) -> tuple[list[Adapter], list[Row]]:
    """Make the adapters of the two libraries that search as this project does."""
    return gather(
        {'roboticstoolbox': partial(roboticstoolbox, robot), 'TRAC-IK': partial(trac_ik, robot)}
    )


def roboticstoolbox(robot: BenchRobot) -> Adapter:
    """
    ``ik_LM`` in C++, by Chan's method.

    Its tolerance is on ½‖e‖²: the default of 1e-6 lets errors of 1.4e-3 pass, and 5e-11 is 1e-5.
    """
    rtb = require('roboticstoolbox', 'roboticstoolbox-python')
    chain, path = robot.chain, revolute_path(robot.chain)
    elements = []
    for i, motion in enumerate(path.motions):
        limits = np.array([chain.lower[i], chain.upper[i]])
        elements += [rtb.ET.SE3(motion.T_before), rtb.ET.Rz(jindex=i, qlim=limits)]
    ets = rtb.ETS([*elements, rtb.ET.SE3(path.T_after)])

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solution = ets.ik_LM(target, q0=seed, tol=0.5 * _TOLERANCE**2, k=0.1, method='chan')
        return solution.q if solution.success else None

    return Adapter('roboticstoolbox', solve)


def trac_ik(robot: BenchRobot, mode: str = 'Speed', timeout: float = 0.005) -> Adapter:
    """
    TRAC-IK through its Python binding, whose targets are positions and quaternions.

    :param mode: Speed returns the first solution, Distance uses all the time to find a near one.
    :param timeout: [s].
    """
    library = require('pytracik', 'pytracik')
    kind = getattr(library.SolveType, mode)
    solver = library.TRAC_IK(
        robot.base_link, robot.tip_link, robot.urdf, timeout, _TOLERANCE, kind
    )

    def prepare(T: np.ndarray) -> tuple[float, ...]:
        return (*T[:3, 3].tolist(), *quaternion_xyzw_from_rotation(T[:3, :3]))

    def solve(target: tuple[float, ...], seed: np.ndarray) -> np.ndarray | None:
        answer = library.ik(solver, seed, *target)
        return answer[1:] if answer[0] >= 0 else None

    return Adapter('TRAC-IK' if mode == 'Speed' else f'TRAC-IK {mode}', solve, prepare)


def kdl(_robot: BenchRobot) -> Adapter:
    """KDL, for which there is no Python package."""
    raise AbsentPeerError('pytracik offers TRAC-IK only, and PyPI has no build of PyKDL')


def pink(robot: BenchRobot) -> Adapter:
    """
    Differential IK by quadratic programs, in a loop until the task's error is small enough.

    Of ten settings of gains and damping these solve most problems.
    """
    library = require('pink', 'pin-pink')
    require('quadprog', 'quadprog')
    import pinocchio as pin

    full = pin.buildModelFromXML(robot.urdf)
    names = set(robot.chain.joint_names)
    locked = [full.getJointId(name) for name in full.names[1:] if name not in names]
    model = pin.buildReducedModel(full, locked, pin.neutral(full))
    data = model.createData()
    limits = [library.limits.ConfigurationLimit(model, config_limit_gain=1.0)]
    task = library.FrameTask(
        robot.tip_link, position_cost=1.0, orientation_cost=1.0, lm_damping=0.1, gain=0.7
    )
    pin.framesForwardKinematics(model, data, pin.neutral(model))
    T_world_base = data.oMf[model.getFrameId(robot.base_link)].copy()

    def solve(target: pin.SE3, seed: np.ndarray) -> np.ndarray | None:
        configuration = library.Configuration(model, data, seed)
        task.set_target(target)
        for _ in range(_PINK_ITERATIONS):
            if np.abs(task.compute_error(configuration)).max() <= _TOLERANCE:
                return configuration.q
            velocity = library.solve_ik(
                configuration, [task], 1.0, 'quadprog', limits=limits, safety_break=False
            )
            q = np.clip(
                configuration.q + velocity, model.lowerPositionLimit, model.upperPositionLimit
            )
            configuration.update(q)
        return None

    return Adapter('pink', _or_none(solve), lambda T: T_world_base * pin.SE3(T), 0.2)


def ikpy(robot: BenchRobot) -> Adapter:
    """IKPy's least squares; it does not report success, which is left to the verifier."""
    chains = require('ikpy.chain', 'ikpy')
    links = require('ikpy.link', 'ikpy')
    from ik_service.common.transforms import rpy_from_rotation

    def link(name: str, T: np.ndarray, **motion: object) -> object:
        return links.URDFLink(name, T[:3, 3], rpy_from_rotation(T[:3, :3]), **motion)

    path = revolute_path(robot.chain)
    chain = chains.Chain(
        [
            links.OriginLink(),
            *(
                link(motion.variable, motion.T_before, rotation=[0.0, 0.0, 1.0], bounds=bounds)
                for motion, *bounds in zip(
                    path.motions, robot.chain.lower, robot.chain.upper, strict=True
                )
            ),
            link('tip', path.T_after, joint_type='fixed'),
        ],
        active_links_mask=[False, *(True for _ in path.motions), False],
    )

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray:
        start = np.concatenate(([0.0], seed, [0.0]))
        q = chain.inverse_kinematics_frame(target, start, orientation_mode='all')
        return np.array(q[1:-1])

    return Adapter('ikpy', _or_none(solve), share=0.1)


def eaik_solver(robot: BenchRobot) -> Any:  # noqa: ANN401 - a class of EAIK
    """EAIK's closed form for six revolute joints; AbsentPeerError where there is none."""
    library = require('eaik.IK_Homogeneous', 'EAIK')
    if robot.chain.n != 6:
        raise AbsentPeerError('EAIK solves arms of six revolute joints')
    path = revolute_path(robot.chain)
    frames, T = [], np.eye(4)
    for motion in path.motions:
        T = T @ motion.T_before
        frames.append(T)
    with redirect_stderr(io.StringIO()):
        solver = library.HomogeneousRobot(np.array([*frames, T @ path.T_after]))
    if not solver.hasKnownDecomposition():
        raise AbsentPeerError('EAIK knows no closed form for this arm')
    return solver


def eaik(robot: BenchRobot) -> Adapter:
    """EAIK's closed form, and of its solutions the nearest in limits."""
    solver, chain = eaik_solver(robot), robot.chain

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solution = solver.IK(target)
        q = np.atleast_2d(solution.Q)
        if q.size == 0:
            return None
        # The turn that is nearest to the seed, moved inside where that is beyond a limit.
        q = q - 2 * math.pi * np.round((q - seed) / (2 * math.pi))
        q += 2 * math.pi * ((q < chain.lower).astype(float) - (q > chain.upper))
        distance = np.abs(q - seed).max(axis=1)
        distance[((q < chain.lower) | (q > chain.upper)).any(axis=1)] = math.inf
        if np.ndim(solution.is_LS):  # least squares: not a solution
            distance[np.asarray(solution.is_LS, dtype=bool)] = math.inf
        best = int(np.argmin(distance))
        return q[best] if math.isfinite(distance[best]) else None

    return Adapter('EAIK', solve)


def _or_none(solve: object) -> object:
    """Solver whose exceptions count as failures."""

    def guarded(target: object, seed: np.ndarray) -> np.ndarray | None:
        try:
            return solve(target, seed)
        except Exception:  # whatever it raises, there is no answer
            return None

    return guarded
