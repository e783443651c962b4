"""Arms of six revolute joints with and without a closed form."""

from functools import lru_cache
import math

import numpy as np

from ik_service import Robot
from support.chains import joint_xml, limit_xml, robot_xml

X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
WRIST = [(Z, (0.1, 0.05, 0.3)), (Y, (0, 0, 0)), (Z, (0, 0, 0))]


def arm_of(joints, tool=(0.05, 0.02, 0.1), bound=math.pi):
    """Chain of joints, each an axis and the way there from the one before, in one orientation."""
    limit = limit_xml(-bound, bound)
    xml = [
        joint_xml(f'j{i}', 'revolute', f'l{i}', f'l{i + 1}', xyz, axis=axis, inner=limit)
        for i, (axis, xyz) in enumerate(joints)
    ]
    count = len(joints)
    xml.append(joint_xml('tool', 'fixed', f'l{count}', 'tip', tool, (0.3, -0.4, 0.8)))
    links = [*(f'l{i}' for i in range(count + 1)), 'tip']
    return Robot.from_urdf(robot_xml(links, xml)).chain('l0', 'tip')


def inverted(joints):
    """The same joints from the tip to the base."""
    ways = [way for _, way in joints[1:]]
    back = [(0.02, 0.1, 0.05), *(tuple(-np.array(way)) for way in reversed(ways))]
    return [(axis, way) for (axis, _), way in zip(reversed(joints), back, strict=True)]


def skewed(seed):
    """Six joints about random axes, the last three of which meet."""
    random = np.random.default_rng(seed)
    axes = random.normal(size=(6, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    ways = random.uniform(-0.4, 0.4, (6, 3))
    ways[4:] = 0.0
    return list(zip(axes, ways, strict=True))


def calibrated(joints, error=1e-3):
    """The same joints with axes that are off by an error [rad] and [m]."""
    random = np.random.default_rng(6)
    errors = error * random.normal(size=(len(joints), 2, 3))
    return [tuple(np.array(joint) + off) for joint, off in zip(joints, errors, strict=True)]


_ELBOW = [(Z, (0, 0, 0.3)), (Y, (0, 0, 0.1)), (Y, (0, 0, 0.4)), *WRIST]
_UR = [
    (Z, (0, 0, 0.1)), (Y, (0, 0.1, 0)), (Y, (0, -0.05, 0.5)), (Y, (0, 0, 0.4)),
    (Z, (0, 0.1, 0)), (Y, (0, 0, 0.09)),
]  # fmt: skip
JOINTS = {
    'elbow': _ELBOW,
    'elbow, shoulder offset': [_ELBOW[0], (Y, (0.15, 0.02, 0.1)), *_ELBOW[2:]],
    'scara': [(Z, (0, 0, 0.3)), (Z, (0.4, 0, 0)), (Y, (0.3, 0, 0)), *WRIST],
    'skewed': skewed(1),
    'parallel': _UR,
    'elbow, inverted': inverted(_ELBOW),
    'skewed, inverted': inverted(skewed(2)),
    'parallel, inverted': inverted(_UR),
}
"""Joints of arms that have a closed form."""
WITHOUT = {
    'wrist apart': [*_ELBOW[:5], (Z, (0.03, 0, 0.02))],
    'wrist of 60 degrees': [
        *_ELBOW[:4],
        ((0.866, 0, 0.5), (0.02, 0, 0.07)),
        ((0.866, 0, -0.5), (0.05, 0, 0.04)),
    ],
    'elbow, calibrated': calibrated(_ELBOW),
    'parallel, calibrated': calibrated(_UR),
    'any': [
        (axis, way) for (axis, _), (_, way) in zip(skewed(3), skewed(4)[:4] * 2, strict=False)
    ],
}
"""Joints of arms that have none."""


@lru_cache
def six_joint_arm(name):
    return arm_of({**JOINTS, **WITHOUT}[name])
