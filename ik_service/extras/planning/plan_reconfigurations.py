"""Motions between the branches of a joint path: :func:`plan_reconfigurations`."""

from __future__ import annotations

from ik_service.extras.planning.plan_motion import plan_motion
from ik_service.extras.planning.result import MotionPlan
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.motion_bounds import MotionBounds
from ik_service.paths.search.result import PathResult
from ik_service.paths.timing.timing_limits import TimingLimits
from ik_service.solvers.collision_test import Collisions, CollisionTest


def plan_reconfigurations(
    chain: KinematicChain,
    path: PathResult,
    collisions: Collisions | CollisionTest | None = None,
    timeout: float = 1.0,
    random_seed: int = 0,
    limits: TimingLimits | MotionBounds | None = None,
) -> tuple[MotionPlan, ...]:
    """
    Plan the motion of each reconfiguration of a path, from the posture before to that after.

    :param chain: the chain of the path.
    :param path: the path, from :func:`~ik_service.solve_path`.
    :param collisions: what the motions must be free of.
    :param timeout: time for each motion [s].
    :param random_seed: of all random numbers.
    :param limits: limits of the motions.
    :returns: a plan for each of ``path.reconfigurations``, or why there is none.
    :raises ArgumentError: an argument that
        :func:`~ik_service.extras.planning.plan_motion.plan_motion` refuses.
    :raises MissingExtraError: OMPL is not installed.
    """
    return tuple(
        plan_motion(
            chain,
            each.before,
            each.after,
            collisions,
            timeout=timeout,
            random_seed=random_seed,
            limits=limits,
        )
        for each in path.reconfigurations
    )
