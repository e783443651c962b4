"""
Adapters of other IK libraries, each with the same tolerance of 1e-5 and the joint limits.

Targets and chains are prepared in advance where a library allows it: what is timed is its solver,
called from Python.
"""

from __future__ import annotations

from contextlib import redirect_stderr
from functools import partial
import io
import math
from typing import Any

from adapters import AbsentError, Adapter, gather, require
import numpy as np
from robots import BenchRobot

from ik_service.kinematics.joint_path import joint_path, JointPath

_PINK_ITERATIONS = 100


def all_peers(robot: BenchRobot) -> tuple[list[Adapter], dict[str, str]]:
    """
    Make the adapters of all libraries that can solve for a robot.

    :param robot: the robot.
    :returns: the adapters, and the reasons of those that cannot be made by name.
    """
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


def roboticstoolbox(robot: BenchRobot) -> Adapter:
    """
    ``ik_LM`` in C++, by Chan's method.

    Its tolerance is on ½‖e‖²: the default of 1e-6 lets errors of 1.4e-3 pass, and 5e-11 is 1e-5.
    """
    rtb = require('roboticstoolbox', 'roboticstoolbox-python')
    path = _revolute_path(robot)
    elements = []
    for i, motion in enumerate(path.motions):
        limits = np.array([robot.chain.lower[i], robot.chain.upper[i]])
        elements += [rtb.ET.SE3(motion.T_before), rtb.ET.Rz(jindex=i, qlim=limits)]
    ets = rtb.ETS([*elements, rtb.ET.SE3(path.T_after)])

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        solution = ets.ik_LM(target, q0=seed, tol=5e-11, k=0.1, method='chan')
        return solution.q if solution.success else None

    return Adapter('roboticstoolbox', solve)


def trac_ik(robot: BenchRobot, mode: str = 'Speed', timeout: float = 0.005) -> Adapter:
    """
    TRAC-IK through its Python binding, whose targets are quaternions.

    :param mode: Speed returns the first solution, Distance uses all the time to find a near one.
    :param timeout: [s].
    """
    pytracik = require('pytracik', 'pytracik')
    from ik_service.common.transforms import quaternion_xyzw_from_rotation

    solver = pytracik.TRAC_IK(
        robot.base_link, robot.tip_link, robot.urdf, timeout, 1e-5,
        getattr(pytracik.SolveType, mode),
    )  # fmt: skip

    def prepare(T: np.ndarray) -> tuple[float, ...]:
        return (*T[:3, 3].tolist(), *quaternion_xyzw_from_rotation(T[:3, :3]))

    def solve(target: tuple[float, ...], seed: np.ndarray) -> np.ndarray | None:
        answer = pytracik.ik(solver, seed, *target)
        return answer[1:] if answer[0] >= 0 else None

    name = 'TRAC-IK' if mode == 'Speed' else f'TRAC-IK {mode}'
    return Adapter(name, solve, prepare)


def kdl(_robot: BenchRobot) -> Adapter:
    """KDL, for which there is no Python package."""
    raise AbsentError('pytracik offers TRAC-IK only, and PyPI has no build of PyKDL')


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
            if np.abs(task.compute_error(configuration)).max() <= 1e-5:
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

    path = _revolute_path(robot)
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
    """
    EAIK's closed form for six revolute joints.

    :param robot: the robot.
    :raises AbsentError: EAIK is not installed, or has none for this arm.
    """
    library = require('eaik.IK_Homogeneous', 'EAIK')
    if robot.chain.n != 6:
        raise AbsentError('EAIK solves arms of six revolute joints')
    path = _revolute_path(robot)
    frames, T = [], np.eye(4)
    for motion in path.motions:
        T = T @ motion.T_before
        frames.append(T)
    with redirect_stderr(io.StringIO()):
        solver = library.HomogeneousRobot(np.array([*frames, T @ path.T_after]))
    if not solver.hasKnownDecomposition():
        raise AbsentError('EAIK knows no closed form for this arm')
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


def _revolute_path(robot: BenchRobot) -> JointPath:
    """The chain as turns about z with constant transforms between them."""
    path = joint_path(robot.chain.robot, robot.base_link, robot.tip_link, {})
    if any(motion.scale != 1.0 or not motion.turns for motion in path.motions):
        raise AbsentError('the adapter is for chains whose joints all turn')
    return path
