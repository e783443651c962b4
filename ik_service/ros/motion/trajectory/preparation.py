"""Everything that is checked of a trajectory before anything moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
import math
from typing import cast

import numpy as np

from ik_service.common.quoting import listed, quote
from ik_service.exceptions import TrajectoryError
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.playback.trajectory_fit import fitted, GOAL_TOLERANCE, limits_of, per_joint
from ik_service.motion.playback.trajectory_outcome import GOAL_TIME, TrajectoryTolerances
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.paths.trajectory.limit_check import TrajectoryLimits
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.following.follower_interface import FollowerInterface
from ik_service.ros.motion.following.followers import Followers
from ik_service.ros.motion.trajectory.goal_outcome import GoalEnd, GoalRefusedError
from ik_service.ros.motion.trajectory.trajectory_messages import (
    RequestedTolerances,
    TrajectoryRequest,
)

LONGEST_AHEAD = 10.0
"""Largest time until a trajectory begins [s]; farther, and the clocks of two machines differ."""

_MOST_NAMED = 5
"""Joints at fault that a message names."""


def follower_for(followers: Followers, names: Sequence[str]) -> FollowerInterface:
    """
    Return the follower of the group whose joints a trajectory moves.

    :param followers: the followers of the arm.
    :param names: the trajectory's joints.
    :raises GoalRefusedError: no group has all of them and no other; names those at fault.
    """
    wanted = set(names)
    for following in followers:
        if set(following.group.chain.joint_names) == wanted:
            return following
    nearest = max(followers, key=lambda f: len(wanted & set(f.group.chain.joint_names)))
    joints = nearest.group.chain.joint_names
    others = [name for name in names if name not in joints]
    faults = [f'{quote(name)} {_place_of(name, followers)}' for name in others[:_MOST_NAMED]]
    missing = [name for name in joints if name not in wanted]
    if missing:
        faults.append(f'{listed(missing)} {"is" if len(missing) == 1 else "are"} missing')
    raise GoalRefusedError(
        GoalEnd.INVALID_JOINTS,
        f'{"; ".join(faults)}; a trajectory has to name all joints of a group and no others, '
        f'here: {listed(joints)}',
    )


def _place_of(name: str, followers: Followers) -> str:
    """Return what a joint is that does not belong to the group."""
    joint = followers.arm.robot.joints.get(name)
    if joint is None:
        return 'is no joint of the robot'
    if joint.mimic is not None:
        return f'follows {quote(joint.mimic.joint)} by itself (mimic)'
    return 'is fixed' if not joint.movable else 'does not belong to the group'


def prepared(request: TrajectoryRequest, following: FollowerInterface) -> JointTrajectory:
    """
    Return a trajectory that is checked, from where the arm is, with the joints in its order.

    :param request: what a goal asks for.
    :param following: the follower of its joints.
    :raises GoalRefusedError: it does not start there, leaves the limits, or no joint state has
        come yet.
    """
    place = following.follower.commanded
    if place is None:
        measured = following.measured.joints(following.group.indices)
        if measured is None:
            raise GoalRefusedError(GoalEnd.REFUSED, following.no_joint_state())
        place = measured[0]
    try:
        return fitted(request.trajectory, chain_of(following), place, _limits(following))
    except TrajectoryError as error:
        raise GoalRefusedError(GoalEnd.INVALID, str(error)) from None


def joined(request: TrajectoryRequest, following: FollowerInterface) -> JointTrajectory | None:
    """
    Return a trajectory that goes on from the motion of the commands, with the joints in its order.

    :param request: what a goal asks for, checked already (:func:`prepared`).
    :param following: the follower of its joints.
    :returns: the trajectory; None where that is not possible within the limits, where it is to
        begin later, and where it leads along straight lines, which begin at rest.
    """
    motion, trajectory = following.follower.motion, request.trajectory
    if motion is None or request.stamp:
        return None
    if trajectory.velocities is None:
        if len(trajectory) > 1:
            return None
        trajectory = replace(trajectory, velocities=np.zeros_like(trajectory.positions))
    try:
        return fitted(trajectory, chain_of(following), motion[0], _limits(following), motion[1])
    except TrajectoryError:
        return None


def _limits(following: FollowerInterface) -> TrajectoryLimits:
    chain = chain_of(following)
    acceleration = following.measured.arm.bounds.acceleration(chain)
    return replace(limits_of(chain), acceleration=acceleration)


def chain_of(following: FollowerInterface) -> KinematicChain:
    """
    Return the chain of a follower, whose group has one tip.

    :param following: the follower.
    """
    return cast(KinematicChain, following.group.chain)


def start_time(request: TrajectoryRequest, clock: MotionClock) -> float:
    """
    Return when a trajectory begins, on the clock of what moves the arm [s]; −inf for now.

    :param request: what a goal asks for.
    :param clock: that clock.
    :raises GoalRefusedError: it would be over already, or begins too far ahead.
    """
    if not request.stamp:
        return -math.inf
    start = clock.moment_of(request.stamp)
    ahead = start - clock.now()
    if ahead + request.trajectory.duration < 0.0:
        late = -ahead - request.trajectory.duration
        raise GoalRefusedError(
            GoalEnd.OLD_STAMP,
            f'by its stamp the trajectory ended {late:.3f} s ago; a stamp of 0 means now, and the '
            'clocks have to agree',
        )
    if ahead > LONGEST_AHEAD:
        raise GoalRefusedError(
            GoalEnd.INVALID,
            f'by its stamp the trajectory begins in {ahead:.3f} s, more than the allowed '
            f'{LONGEST_AHEAD:g} s; a stamp of 0 means now, and the clocks have to agree, as does '
            'use_sim_time',
        )
    return start


def tolerances_for(requested: RequestedTolerances, chain: KinematicChain) -> TrajectoryTolerances:
    """
    Return the tolerances of a trajectory, with the defaults where the goal leaves it to us.

    :param requested: what it asks for.
    :param chain: the chain of its joints.
    """
    defaults = per_joint(chain, GOAL_TOLERANCE)
    names = chain.joint_names
    return TrajectoryTolerances(
        np.array([requested.path.get(name, math.inf) for name in names]),
        np.array([requested.goal.get(name, d) for name, d in zip(names, defaults, strict=True)]),
        requested.goal_time or GOAL_TIME,
        _of_joints(requested.path_velocity, names),
        _of_joints(requested.goal_velocity, names),
    )


def _of_joints(tolerances: Mapping[str, float], names: Sequence[str]) -> np.ndarray | None:
    """Return tolerances (n,) in the order of joints, inf where none is given; None for none."""
    if not tolerances:
        return None
    return np.array([tolerances.get(name, math.inf) for name in names])
