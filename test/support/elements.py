"""The extended Jacobian from its definitions, by finite differences of the poses of links."""

import math

import numpy as np

import ik_service as iks
from ik_service.kinematics.link_poses import link_poses
from support.chains import joint_xml, limit_xml, robot_xml, rotation

_STEP = 1e-6


def joint_frames(chain, q):
    """T_base_joint of the frames in which the joints move, z along their axes; then the tip's."""
    positions = {**chain.locked, **dict(zip(chain.joint_names, q, strict=True))}
    poses = link_poses(chain.robot, positions)
    frames = []
    for joint, forward in chain.robot.path(chain.base_link, chain.tip_link):
        if joint.movable and joint.name not in chain.locked:
            T = poses[joint.parent] @ joint.T_parent_joint if forward else poses[joint.child]
            frames.append(T @ _z_to(joint.axis))
    frames.append(poses[chain.tip_link])
    return [np.linalg.solve(poses[chain.base_link], T) for T in frames]


def _z_to(axis):
    """The shortest rotation that brings z onto an axis; half a turn about x where z is against."""
    T = np.eye(4)
    across = np.cross([0.0, 0.0, 1.0], axis)
    sine = np.linalg.norm(across)
    if sine > 1e-9:
        T[:3, :3] = rotation(across, math.atan2(sine, axis[2]))
    elif axis[2] < 0.0:
        T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    return T


def element_poses(chain, q):
    """Pose of the end of each element in the frame in which its first joint moves."""
    frames = joint_frames(chain, q)
    return [np.linalg.solve(first, end) for first, end in zip(frames, frames[2:], strict=False)]


def element_rows(chain, q, length):
    """(m − 1, 6, n): how each element's pose changes, its position in units of a length."""
    rows = np.empty((len(element_poses(chain, q)), 6, chain.n))
    for i in range(chain.n):
        way = _STEP * np.eye(chain.n)[i]
        ends = zip(element_poses(chain, q + way), element_poses(chain, q - way), strict=True)
        for k, (after, before) in enumerate(ends):
            turn = after[:3, :3] @ before[:3, :3].T
            rows[k, :3, i] = (after[:3, 3] - before[:3, 3]) / (2 * _STEP * length)
            twice = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
            rows[k, 3:, i] = np.divide(twice, 4 * _STEP)
    return rows


def mean_distance(chain):
    """Mean distance of consecutive joints and the tip, where nothing has slid."""
    origins = np.array([T[:3, 3] for T in joint_frames(chain, np.zeros(chain.n))])
    return np.linalg.norm(np.diff(origins, axis=0), axis=1).mean()


def extended(chain, q, weights=(1.0,) * 6, element_weight=0.01, length=None, planar=False):
    """The matrix: first coordinate of every element, then the second …; then the tip's rows."""
    length = 1.0 if planar else length or mean_distance(chain)
    rows = element_rows(chain, q, length)[:, : 2 if planar else 6]
    tip = np.sqrt(weights)[:, None] * chain.jacobian(q)
    stacked = element_weight * rows.transpose(1, 0, 2).reshape(-1, chain.n)
    return np.vstack([stacked, tip[np.array(weights) > 0.0]])


def mimicking():
    """Three links in space; the third joint follows the first, with the second between them."""
    limits = limit_xml(-2.0, 2.0)
    follows = limits + '<mimic joint="first" multiplier="-0.5"/>'
    joints = [
        joint_xml('first', 'revolute', 'a', 'b', (0, 0, 0.1), axis=(0, 1, 0), inner=limits),
        joint_xml('second', 'revolute', 'b', 'c', (0.5, 0, 0), (0.2, 0, 0), inner=limits),
        joint_xml('third', 'revolute', 'c', 'd', (0.4, 0, 0), axis=(0, 0, -1), inner=follows),
        joint_xml('fourth', 'prismatic', 'd', 'e', (0.3, 0, 0), axis=(1, 0, 0), inner=follows),
        joint_xml('tip', 'fixed', 'e', 'f', (0.2, 0.1, 0)),
    ]
    return iks.Robot.from_urdf(robot_xml('abcdef', joints)).chain()
