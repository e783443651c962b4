"""Files, transforms and random postures for the tests of the arms in urdf/."""

from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
# Room for rounding only: a pi/2 written with ten digits would already miss it.
POSE_TOLERANCE = 1e-12


def path_of(arm):
    return ROOT / 'urdf' / f'{arm}.urdf'


def rot_x(angle):
    T = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    T[1:3, 1:3] = [[c, -s], [s, c]]
    return T


def rot_z(angle):
    T = np.eye(4)
    c, s = np.cos(angle), np.sin(angle)
    T[:2, :2] = [[c, -s], [s, c]]
    return T


def trans(x=0.0, y=0.0, z=0.0):
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def assert_same_pose(T, expected):
    np.testing.assert_allclose(T, expected, rtol=0, atol=POSE_TOLERANCE)


def postures(chain, count, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(chain.lower, chain.upper, (count, len(chain.joint_names)))


def limits_of(robot, names, field):
    return tuple(getattr(robot.joints[name].limits, field) for name in names)
