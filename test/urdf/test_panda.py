"""The project's Franka Emika Panda against the figures that its maker publishes."""

from math import pi

import numpy as np
import pytest
from support.chains import (
    arm_path,
    assert_same_pose,
    limits_of,
    POSE_TOLERANCE,
    postures,
    REPOSITORY,
    rot_x,
    rot_z,
    trans,
)

from ik_service import Robot

REFERENCE = REPOSITORY.parent / 'shared' / 'robots' / 'franka_panda.urdf'

# Franka Control Interface documentation, "Robot and interface specifications".
# Craig's convention: T = Rot(x, alpha) Trans(x, a) Rot(z, theta) Trans(z, d). Rows: a, d, alpha.
DH = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -pi / 2),
    (0.0, 0.316, pi / 2),
    (0.0825, 0.0, pi / 2),
    (-0.0825, 0.384, -pi / 2),
    (0.0, 0.0, pi / 2),
    (0.088, 0.0, pi / 2),
)
FLANGE = 0.107
TCP = 0.1034  # Franka Hand: flange to the point between the fingertips
HAND_ANGLE = -pi / 4
FINGER_ROOT = 0.0584  # hand to the fingers' frames
LOWER = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
UPPER = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
VELOCITY = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
EFFORT = (87, 87, 87, 87, 12, 12, 12)


def panda_flange_by_dh(q):
    T = np.eye(4)
    for (a, d, alpha), theta in zip(DH, q, strict=True):
        T = T @ rot_x(alpha) @ trans(x=a) @ rot_z(theta) @ trans(z=d)
    return T @ trans(z=FLANGE)


@pytest.fixture
def panda():
    return Robot.from_urdf(arm_path('panda'))


def test_fingers_are_not_the_tip(panda):
    assert panda.leaves == ('panda_hand_tcp', 'panda_leftfinger', 'panda_rightfinger')
    assert panda.chain('panda_link0').tip_link == 'panda_hand_tcp'


def test_panda_limits(panda):
    chain = panda.chain('panda_link0', 'panda_hand_tcp')
    assert chain.joint_names == tuple(f'panda_joint{i}' for i in range(1, 8))
    assert tuple(chain.lower) == LOWER
    assert tuple(chain.upper) == UPPER
    assert tuple(chain.velocity) == VELOCITY
    assert limits_of(panda, chain.joint_names, 'effort') == EFFORT


def test_panda_matches_the_makers_table(panda):
    flange = panda.chain('panda_link0', 'panda_link8')
    tcp = panda.chain('panda_link0', 'panda_hand_tcp')
    T_flange_tcp = rot_z(HAND_ANGLE) @ trans(z=TCP)
    for q in postures(flange, 200):
        T = panda_flange_by_dh(q)
        assert_same_pose(flange.forward(q), T)
        assert_same_pose(tcp.forward(q), T @ T_flange_tcp)


def test_panda_fingers_open_together(panda):
    assert panda.resolve_mimic('panda_finger_joint2') == ('panda_finger_joint1', 1.0, 0.0)
    left = panda.chain('panda_hand', 'panda_leftfinger')
    right = panda.chain('panda_hand', 'panda_rightfinger')
    for finger, side in ((left, 1), (right, -1)):
        assert finger.joint_names == ('panda_finger_joint1',)
        assert (finger.lower[0], finger.upper[0], finger.velocity[0]) == (0.0, 0.04, 0.2)
        expected = trans(y=side * 0.03, z=FINGER_ROOT)
        assert_same_pose(finger.forward([0.03]), expected)
    fingers = ('panda_finger_joint1', 'panda_finger_joint2')
    assert limits_of(panda, fingers, 'effort') == (100, 100)


@pytest.mark.parametrize('tip', ['panda_link8', 'panda_hand_tcp', 'panda_leftfinger'])
def test_panda_equals_the_public_description(panda, tip):
    pin = pytest.importorskip('pinocchio')
    if not REFERENCE.exists():
        pytest.skip('the public description of the Panda is not beside this repository')
    model = pin.buildModelFromUrdf(str(REFERENCE))
    data = model.createData()
    frame = model.getFrameId(tip)
    assert frame < model.nframes
    chain = panda.chain('panda_link0', tip)
    columns = [model.joints[model.getJointId(name)].idx_q for name in chain.joint_names]
    q_model = np.zeros(model.nq)
    worst = 0.0
    for q in postures(chain, 1000, seed=1):
        q_model[columns] = q
        pin.framesForwardKinematics(model, data, q_model)
        worst = max(worst, np.abs(chain.forward(q) - data.oMf[frame].homogeneous).max())
    assert worst < POSE_TOLERANCE
