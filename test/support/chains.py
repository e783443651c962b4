"""Robots for the tests of the mathematics, and reference mathematics in plain NumPy."""

from functools import lru_cache
import math
from pathlib import Path

import numpy as np

from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses
from ik_service.kinematics.pose_error import pose_error

REPOSITORY = Path(__file__).resolve().parents[2]
"""The root of the repository."""
SHARED_ROBOTS = REPOSITORY.parent / 'shared' / 'robots'
# Base and tip of the arms that come with the project.
ARM_TIPS = {
    'planar_6r': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_hand_tcp'),
    'ur5e': ('base_link', 'tool0'),
}


def arm_path(name):
    return REPOSITORY / 'urdf' / f'{name}.urdf'


@lru_cache
def arm(name):
    """Chain of one of the project's arms, from its base to its tool."""
    return Robot.from_urdf(arm_path(name)).chain(*ARM_TIPS[name])


def joint_xml(name, kind, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=(0, 0, 1), inner=''):
    """One joint of a URDF; ``inner`` is its limit, mimic and the like."""

    def text(numbers):
        return ' '.join(repr(float(number)) for number in numbers)

    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{text(xyz)}" rpy="{text(rpy)}"/><axis xyz="{text(axis)}"/>{inner}</joint>'
    )


def limit_xml(lower, upper, velocity=1.0):
    return f'<limit lower="{lower!r}" upper="{upper!r}" velocity="{velocity!r}" effort="1"/>'


def robot_xml(links, joints):
    return (
        '<robot name="test">' + ''.join(f'<link name="{link}"/>' for link in links)
        + ''.join(joints) + '</robot>'
    )  # fmt: skip


def snake_xml(n, seed=0, prismatic=0.2, size=1.0):
    """A chain of n joints about random axes, from link0 to link<n>; some of them slide."""
    rng = np.random.default_rng([n, seed])
    joints = []
    for i in range(n):
        kind = 'prismatic' if n > 1 and rng.random() < prismatic else 'revolute'
        axis = rng.normal(size=3)
        joints.append(
            joint_xml(
                f'joint{i + 1}', kind, f'link{i}', f'link{i + 1}',
                size * rng.uniform(-0.2, 0.2, 3), rng.uniform(-math.pi, math.pi, 3),
                axis / np.linalg.norm(axis),
                limit_xml(-0.3, 0.3) if kind == 'prismatic' else limit_xml(-2.8, 2.8),
            )
        )  # fmt: skip
    return robot_xml([f'link{i}' for i in range(n + 1)], joints)


@lru_cache
def snake(n, seed=0, prismatic=0.2):
    return Robot.from_urdf(snake_xml(n, seed, prismatic)).chain('link0', f'link{n}')


def planar_xml(lengths, kind='revolute', inner=None):
    """An arm in the x-y plane with links of these lengths [m]."""
    inner = limit_xml(-math.pi, math.pi) if inner is None else inner
    joints = [
        joint_xml(f'joint{i + 1}', kind, f'link{i}', f'link{i + 1}', (x, 0, 0), inner=inner)
        for i, x in enumerate([0.0, *lengths[:-1]])
    ]
    last = len(lengths)
    joints.append(joint_xml('tip', 'fixed', f'link{last}', 'tip', (lengths[-1], 0, 0)))
    return robot_xml([*(f'link{i}' for i in range(last + 1)), 'tip'], joints)


@lru_cache
def planar(*lengths):
    return Robot.from_urdf(planar_xml(lengths)).chain('link0', 'tip')


@lru_cache
def endless(*lengths):
    """The planar chain with joints that turn without end."""
    return Robot.from_urdf(planar_xml(lengths, 'continuous', inner='')).chain('link0', 'tip')


def postures(chain, count, seed=0):
    """Random joint vectors within the limits, (count, n); ±π where there are none."""
    lower = np.where(np.isfinite(chain.lower), chain.lower, -math.pi)
    upper = np.where(np.isfinite(chain.upper), chain.upper, math.pi)
    return np.random.default_rng(seed).uniform(lower, upper, (count, chain.n))


def targets(chain, count, seed=0):
    return [chain.forward(q) for q in postures(chain, count, seed)]


def forward_by_tree(chain, q):
    """T_base_tip by way of the poses of all links, with none of the compiled code."""
    positions = {**chain.locked, **dict(zip(chain.joint_names, q, strict=True))}
    poses = link_poses(chain.robot, positions)
    return np.linalg.solve(poses[chain.base_link], poses[chain.tip_link])


def numerical_jacobian(chain, q, step=1e-6):
    """Twist (6, n) of the tip for each joint velocity, by central differences."""
    columns = []
    for i in range(chain.n):
        ahead, behind = q.copy(), q.copy()
        ahead[i] += step
        behind[i] -= step
        difference = pose_error(chain.forward(behind), chain.forward(ahead))
        columns.append(difference / (ahead[i] - behind[i]))
    return np.array(columns).T


def assert_jacobian_is_the_derivative(chain, q):
    J = chain.jacobian(q)
    assert np.linalg.norm(J - numerical_jacobian(chain, q)) < 1e-6 * np.linalg.norm(J)


def pose_difference(T, T_other):
    """Distance [m] and angle [rad] between two poses, from the definitions."""
    distance = np.linalg.norm(T[:3, 3] - T_other[:3, 3])
    chord = np.linalg.norm(T[:3, :3] - T_other[:3, :3]) / math.sqrt(8)
    return distance, 2 * math.asin(min(chord, 1.0))


def rotation(axis, angle):
    """Rotation matrix about an axis, by Rodrigues' formula with the half angle."""
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + 2 * math.sin(angle / 2) ** 2 * K @ K


def transform(R=None, p=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3] = np.eye(3) if R is None else R
    T[:3, 3] = p
    return T


def within_limits(chain, q):
    return bool(np.all((chain.lower <= q) & (q <= chain.upper)))


# Room for rounding only: a pi/2 written with ten digits would already miss it.
POSE_TOLERANCE = 1e-12


def rot_x(angle):
    return transform(rotation((1, 0, 0), angle))


def rot_z(angle):
    return transform(rotation((0, 0, 1), angle))


def trans(x=0.0, y=0.0, z=0.0):
    return transform(p=(x, y, z))


def assert_same_pose(T, expected):
    np.testing.assert_allclose(T, expected, rtol=0, atol=POSE_TOLERANCE)


def limits_of(robot, names, field):
    return tuple(getattr(robot.joints[name].limits, field) for name in names)
