"""
Poses of all links of a robot, and of the tip of a chain in many postures.

Links are also found by how they are joined: below, or rigidly attached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.joint_space import FAR
from ik_service.kinematics.kernels import fill_linearised, fill_poses, fill_speeds
from ik_service.model.robot_model import RobotModel


def tip_poses(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    """
    Return the poses of the tip in many postures.

    :param q: (N, n) joint positions [rad] or [m].
    :returns: (N, 4, 4) T_base_tip [m].
    :raises ArgumentError: q has another shape or is not finite.
    """
    rows = _postures(chain, q)
    poses = np.empty((len(rows), 4, 4))
    arguments = chain.arrays, rows, *_scratch(chain), poses
    entry_point(fill_poses, *arguments)(*arguments)
    return poses


def linearised(chain: KinematicChain, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """
    Return frames and Jacobians in many postures (N, n) [rad] or [m], floats.

    :returns: (N, 12) x, y and z axes, then the origin [m], of the frame behind the last joint;
        (N, n, 6) Jacobians, a row a variable, linear before angular.
    """
    frames, rows = np.empty((len(q), 12)), np.empty((*q.shape, 6))
    fill_linearised(chain.arrays, q, _scratch(chain)[0], frames, rows)
    return frames, rows


def tip_speeds(chain: KinematicChain, q: ArrayLike, velocities: ArrayLike) -> np.ndarray:
    """
    Return the speed of the origin of the tip in many postures, each with its joint velocities.

    :param q: (N, n) joint positions [rad] or [m].
    :param velocities: (N, n) joint velocities [rad/s] or [m/s].
    :returns: (N,) [m/s]: of each row the norm of the first three rows of J q̇.
    :raises ArgumentError: an array has another shape or is not finite.
    """
    rows = _postures(chain, q)
    moving = _rows('velocities', velocities, rows.shape)
    speeds = np.empty(len(rows))
    columns = np.empty((chain.n, 6))
    arguments = chain.arrays, rows, moving, *_scratch(chain), columns, speeds
    entry_point(fill_speeds, *arguments)(*arguments)
    return speeds


def _postures(chain: KinematicChain, q: ArrayLike) -> np.ndarray:
    """Return a copy of postures, without full turns, whose rounding errors poses would have."""
    rows = _rows('q', q, (None, chain.n))
    far = (np.abs(rows) > FAR) & (chain.arrays.turn > 0.0)
    rows[far] = np.arctan2(np.sin(rows[far]), np.cos(rows[far]))
    return rows


def _rows(name: str, values: ArrayLike, shape: tuple[int | None, int]) -> np.ndarray:
    rows = real_array(values, name)
    count, n = shape
    if rows.ndim != 2 or rows.shape[1] != n or count not in (None, len(rows)):
        wanted = f'({"N" if count is None else count}, {n})'
        raise ArgumentError(name, f'has shape {rows.shape}, has to be {wanted}')
    if not np.isfinite(rows).all():
        row = int(np.argmin(np.isfinite(rows).all(axis=1)))
        raise ArgumentError(f'{name}[{row}]', 'has to be finite')
    return rows


def _scratch(chain: KinematicChain) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((len(chain.arrays.variables), 6)), np.empty(12)


def link_poses(robot: RobotModel, positions: Mapping[str, float]) -> dict[str, np.ndarray]:
    """
    Return the poses of all links: forward kinematics of the whole robot.

    :param positions: joint positions by name [rad] or [m]. Joints that mimic others follow them,
        whatever is given for them; a joint left out is at 0, or at the limit next to 0.
    :returns: (4, 4) T_root_link by link name.
    :raises UnknownJointError: when the robot has no such movable joint.
    :raises ArgumentError: when a position is NaN or infinite.
    """
    movable = [joint.name for joint in robot.joints.values() if joint.movable]
    for name, value in positions.items():
        if name not in robot.joints or not robot.joints[name].movable:
            raise UnknownJointError(name, movable)
        if not np.isfinite(value):
            raise ArgumentError('positions', f'{name} is {value}')
    poses = {robot.root_link: np.eye(4)}
    pending = [robot.root_link]
    while pending:
        parent = pending.pop()
        for joint in robot.child_joints_of(parent):
            T = poses[parent] @ joint.T_parent_joint
            if joint.movable:
                T = T @ joint_motion(joint, joint_position(robot, joint.name, positions))
            poses[joint.child] = T
            pending.append(joint.child)
    return {link: poses[link] for link in robot.links}


def joint_position(robot: RobotModel, name: str, positions: Mapping[str, float]) -> float:
    """
    Return the position of a joint [rad] or [m], following the joint that it mimics.

    :param name: name of a movable joint.
    :param positions: as for :func:`link_poses`.
    """
    source, multiplier, offset = robot.resolve_mimic(name)
    limits = robot.joints[source].limits
    default = min(max(0.0, limits.lower), limits.upper)
    return multiplier * positions.get(source, default) + offset


def links_below(robot: RobotModel, link: str) -> Iterator[str]:
    """Yield all links below a link."""
    pending = [link]
    while pending:
        for joint in robot.child_joints_of(pending.pop()):
            pending.append(joint.child)
            yield joint.child


def attached_links(robot: RobotModel, link: str) -> dict[str, np.ndarray]:
    """
    Return the links that are rigidly attached to a link, itself among them.

    :param link: one of its links.
    :returns: (4, 4) T_link_other [m] of each by its name.
    """
    found = {link: np.eye(4)}
    pending = [link]
    while pending:
        at = pending.pop()
        above = robot.parent_joint_of(at)
        joints = [*robot.child_joints_of(at), *([above] if above else [])]
        for joint in joints:
            down = joint.parent == at
            other = joint.child if down else joint.parent
            if not joint.movable and other not in found:
                T = joint.T_parent_joint if down else inverse_transform(joint.T_parent_joint)
                found[other] = found[at] @ T
                pending.append(other)
    return found
