"""Content of a ``compute_cartesian_path`` request, by MoveIt's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

from moveit_msgs.msg import RobotTrajectory
from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, PreparedSolver, SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import listed, quote
from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.cartesian_path import CartesianPath, JumpThresholds, LEAST_ROWS, MOST_POSES
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode, invalid_goal, invalid_link, RequestError
from ik_service.ros.motion.command_channels import trajectory_point
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.requests.goals import group_of, Held

_NUMBERS = (
    'jump_threshold',
    'prismatic_jump_threshold',
    'revolute_jump_threshold',
    'max_velocity_scaling_factor',
    'max_acceleration_scaling_factor',
    'max_cartesian_speed',
)


@dataclass(frozen=True)
class MovedPoint:
    """
    Point that a request moves, and the joints that do it.

    :ivar name: the link, or the attached object.
    :ivar T_link_point: (4, 4) the point in the frame of its link [m].
    :ivar prepared: chain to the link, with its solver.
    """

    group: ArmGroup
    name: str
    T_link_point: np.ndarray
    prepared: PreparedSolver

    @property
    def chain(self) -> KinematicChain:
        """The chain to the link."""
        chain = self.prepared.chain
        assert isinstance(chain, KinematicChain)  # to one link
        return chain


def moved_point(
    request: GetCartesianPath.Request,
    measured: MeasuredState,
    settings: SolverSettings,
    held: Held,
) -> MovedPoint:
    """
    Return the point that a request moves.

    :param held: returns the link of an attached object and its pose there; None for all else.
    :raises RequestError: INVALID_GROUP_NAME, or INVALID_LINK_NAME.
    """
    group = group_of(measured.arm, request.group_name)
    link, T_link_point = request.link_name, np.eye(4)
    found = held(link) if link else None
    if found is not None:
        link, T_link_point = found
    if not link and len(group.tip_links) > 1:
        raise invalid_link(
            f'group {group.name!r} places several links; name the one to be moved in link_name: '
            f'{listed(group.tip_links)}'
        )
    link = link or group.tip_links[0]
    try:
        prepared = group.chain_solvers[link, settings]
    except ChainError as error:
        raise invalid_link(f'link_name: {error}') from error
    return MovedPoint(group, request.link_name or link, T_link_point, prepared)


def check_numbers(request: GetCartesianPath.Request) -> None:
    """
    Refuse numbers that mean nothing, before anything is done.

    :raises RequestError: FAILURE for ``max_step``, as with MoveIt, and for too many waypoints;
        INVALID_GOAL_CONSTRAINTS for the others; naming the field.
    """
    if not 0.0 < request.max_step < math.inf:
        raise RequestError(
            ErrorCode.FAILURE,
            f'max_step is {request.max_step}; it has to be a finite length above 0 [m]',
        )
    if len(request.waypoints) > MOST_POSES:
        raise RequestError(
            ErrorCode.FAILURE,
            f'waypoints has {len(request.waypoints)} elements; at most {MOST_POSES} are supported',
        )
    for name in _NUMBERS:
        value = getattr(request, name)
        if math.isnan(value):
            raise invalid_goal(f'{name} is {value}; it has to be a number')
        if name.endswith('factor') and value < 0.0:
            raise invalid_goal(
                f'{name} is {value:g}; it has to be from 0 to 1, where 0 is the default'
            )
        if name == 'max_cartesian_speed' and value < 0.0:
            raise invalid_goal(f'{name} is {value:g}; it has to be above 0 [m/s], or 0 for none')


def thresholds_of(request: GetCartesianPath.Request) -> JumpThresholds:
    """Return the thresholds of a checked request; those of 0 or less mean none."""
    return JumpThresholds(
        max(0.0, request.jump_threshold),
        max(0.0, request.revolute_jump_threshold),
        max(0.0, request.prismatic_jump_threshold),
    )


def unused_threshold(request: GetCartesianPath.Request, path: CartesianPath) -> list[str]:
    """Return a remark where a path is too short for ``jump_threshold``; empty where it is not."""
    rows = len(path.q)
    used = rows >= LEAST_ROWS or 'jump_threshold times' in path.reason
    if request.jump_threshold <= 0.0 or rows == 1 or used:
        return []
    return [
        f'jump_threshold is not used: {rows} points are too few for it, {LEAST_ROWS} are needed'
    ]


def waypoints_of(
    request: GetCartesianPath.Request,
    point: MovedPoint,
    T_base_start: np.ndarray,
    frames: FrameResolver,
) -> np.ndarray:
    """
    Return the poses of the point at the waypoints.

    In the frame of the moved link each is relative to the one before, and the first to the start.

    :param T_base_start: (4, 4) the point at the start.
    :returns: (k, 4, 4) T_base_point.
    :raises RequestError: INVALID_GOAL_CONSTRAINTS, naming the field that is wrong;
        FRAME_TRANSFORM_FAILURE for an unknown frame.
    """
    given = [
        matrix_from_pose(pose, f'waypoints[{number}]')
        for number, pose in enumerate(request.waypoints)
    ]
    frame = request.header.frame_id.lstrip('/')
    if frame and frame == point.name:
        poses, T = [], T_base_start
        for T_before_next in given:
            T = T @ T_before_next
            poses.append(T)
        return np.array(poses).reshape(-1, 4, 4)
    T_base_frame = frames.base_from_frame(point.group.base_link, frame)
    absolute = np.array(given).reshape(-1, 4, 4)
    return absolute if T_base_frame is None else T_base_frame @ absolute


def scaling_of(
    request: GetCartesianPath.Request, name: str, default: float
) -> tuple[float, list[str]]:
    """
    Return a scaling factor, and remarks for the client.

    :param request: the request, which :func:`check_numbers` has accepted.
    :param default: the factor where it is 0.
    """
    value = getattr(request, name)
    if value > 1.0:
        return 1.0, [f'{name} of {value:g} is cut to 1']
    return value or default, []


def limited_link(request: GetCartesianPath.Request, measured: MeasuredState) -> str | None:
    """Return the link whose speed is limited, None for the moving one; raises RequestError."""
    name = request.cartesian_speed_limited_link
    if not name:
        return None
    if not measured.arm.has_link(name):
        raise invalid_link(f'cartesian_speed_limited_link: the robot has no link {quote(name)}')
    return name


def group_trajectory(
    trajectory: JointTrajectory, point: MovedPoint, arm: Arm, posture: np.ndarray
) -> JointTrajectory:
    """
    Return a trajectory of the joints of a chain as one of all joints of its group.

    :param posture: (m,) full posture [rad] or [m], where the other joints stay.
    """
    own = trajectory.joint_names
    names = tuple(dict.fromkeys((*point.group.chain.joint_names, *own)))
    if names == own:
        return trajectory
    rows = len(trajectory)
    at = [names.index(name) for name in own]
    positions = np.tile(posture[arm.postures.indices(names)], (rows, 1))
    positions[:, at] = trajectory.positions
    others = np.zeros((2, rows, len(names)))
    others[0][:, at], others[1][:, at] = trajectory.velocities, trajectory.accelerations
    return JointTrajectory(names, trajectory.times, positions, *others)


def write_trajectory(message: RobotTrajectory, trajectory: JointTrajectory, frame_id: str) -> None:
    """
    Write a trajectory to the field of an answer.

    Its stamp is 0, as MoveIt's: it begins when it is sent to a controller, however late that is.
    The times are whole nanoseconds, and the motion is that at these times.

    :param frame_id: the frame of the header: that of the model.
    """
    assert trajectory.velocities is not None
    assert trajectory.accelerations is not None
    nanoseconds = np.round(trajectory.times * 1e9)
    late = (nanoseconds * 1e-9 - trajectory.times)[:, None]
    moving = trajectory.velocities.any(axis=1, keepdims=True)
    positions = trajectory.positions + late * trajectory.velocities
    velocities = trajectory.velocities + np.where(moving, late * trajectory.accelerations, 0.0)
    joints = message.joint_trajectory
    joints.header.frame_id = frame_id
    joints.joint_names = list(trajectory.joint_names)
    joints.points = [
        trajectory_point(t, q, v, a)
        for t, q, v, a in zip(
            nanoseconds.astype(int).tolist(),
            positions,
            velocities,
            trajectory.accelerations,
            strict=True,
        )
    ]


def path_message(
    path: CartesianPath, trajectory: JointTrajectory, timing: str, notes: Sequence[str]
) -> str:
    """Return the message to the client about a path."""
    passed, part = math.floor(path.progress), path.progress % 1.0
    text = f'fraction {path.fraction:.4g}: {passed} of {path.waypoints} waypoints'
    if path.reason:
        text += f' and {part:.1%} of the line to waypoints[{passed}]; there {path.reason}'
    text += (
        f'. {len(trajectory)} points, {path.length:.3f} m in {trajectory.duration:.3f} s by '
        f'timing {timing!r}, largest step {path.largest_step:.3g}'
    )
    if path.deviation > 0.0:
        text += f', at most {path.deviation * 1e3:.2g} mm beside the lines'
    text += f'; found in {path.solve_time:.3g} s'
    return '; '.join((text, *notes))
