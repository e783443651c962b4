"""Joints that follow others, on the path and off it."""

import numpy as np
import pytest
from support.chains import arm, joint_xml, limit_xml, robot_xml
from support.consistency import assert_is_consistent

from ik_service import Robot
from ik_service.exceptions import ChainError
from ik_service.kinematics.joint_path import joint_path


def mimic_xml(joint, multiplier=1.0, offset=0.0):
    return f'<mimic joint="{joint}" multiplier="{multiplier}" offset="{offset}"/>'


def series(*kinds_and_inners, extra=()):
    """Joints j1, j2, … in a row from l0, with crooked origins."""
    axes = ((0, 0, 1), (0, 1, 0), (0.6, 0, 0.8), (1, 0, 0))
    joints = [
        joint_xml(f'j{i}', kind, f'l{i - 1}', f'l{i}', (0.2, 0.1, 0.3), (0.3, 0.2, 0.1),
                  axes[i % 4], inner)
        for i, (kind, inner) in enumerate(kinds_and_inners, start=1)
    ]  # fmt: skip
    links = [f'l{i}' for i in range(len(joints) + 1)]
    if extra:
        links.append('side')
    return Robot.from_urdf(robot_xml(links, [*joints, *extra]))


def test_mimic_on_the_path():
    robot = series(
        ('revolute', limit_xml(-2.0, 2.0)),
        ('revolute', limit_xml(-1.0, 1.0)),
        ('revolute', limit_xml(-3.0, 3.0) + mimic_xml('j1', -0.5, 0.2)),
    )
    chain = robot.chain('l0', 'l3')
    assert chain.joint_names == ('j1', 'j2')
    assert_is_consistent(chain)
    assert_is_consistent(robot.chain('l3', 'l0'))


@pytest.mark.parametrize(('multiplier', 'offset'), [(1.0, 0.0), (-2.0, 0.3), (0.25, -0.1)])
def test_mimic_of_a_joint_off_the_path(multiplier, offset):
    side = joint_xml('driver', 'revolute', 'l0', 'side', inner=limit_xml(-1.0, 1.5))
    robot = series(
        ('revolute', limit_xml(-4.0, 4.0) + mimic_xml('driver', multiplier, offset)),
        ('revolute', limit_xml(-1.0, 1.0)),
        extra=(side,),
    )
    chain = robot.chain('l0', 'l2')
    assert chain.joint_names == ('driver', 'j2')
    assert (chain.lower[0], chain.upper[0]) == (-1.0, 1.5)
    assert_is_consistent(chain)


def test_two_mimics_of_one_variable_turn_and_slide():
    side = joint_xml('driver', 'revolute', 'l0', 'side', inner=limit_xml(-1.0, 1.0))
    robot = series(
        ('revolute', limit_xml(-4.0, 4.0) + mimic_xml('driver', -1.5, 0.1)),
        ('prismatic', limit_xml(-1.0, 1.0) + mimic_xml('driver', 0.1, 0.2)),
        extra=(side,),
    )
    chain = robot.chain('l0', 'l2')
    assert chain.joint_names == ('driver',)
    assert_is_consistent(chain)


def test_chain_of_mimics():
    robot = series(
        ('revolute', limit_xml(-9.0, 9.0) + mimic_xml('j2', -2.0, 0.5)),
        ('revolute', limit_xml(-9.0, 9.0) + mimic_xml('j3', 0.5, -0.25)),
        ('revolute', limit_xml(-1.0, 1.0)),
    )
    chain = robot.chain('l0', 'l3')
    assert chain.joint_names == ('j3',)
    assert_is_consistent(chain)
    # j1 = −2 (0.5 j3 − 0.25) + 0.5
    scales = [motion.scale for motion in joint_path(robot, 'l0', 'l3', {}).motions]
    assert scales == [-1.0, 0.5, 1.0]


def test_limits_of_a_mimic_joint_narrow_those_of_its_variable():
    robot = series(
        ('revolute', limit_xml(-2.0, 2.0, 3.0)),
        ('revolute', limit_xml(-0.5, 1.0, 1.0) + mimic_xml('j1', -0.5, 0.25)),
    )
    chain = robot.chain('l0', 'l2')
    # −0.5 ≤ −0.5 q + 0.25 ≤ 1
    assert (chain.lower[0], chain.upper[0]) == (-1.5, 1.5)
    assert chain.velocity[0] == 2.0


def test_limits_of_a_mimic_joint_that_leave_nothing():
    robot = series(
        ('revolute', limit_xml(-1.0, 1.0)),
        ('revolute', limit_xml(-1.0, 1.0) + mimic_xml('j1', 1.0, 3.0)),
    )
    with pytest.raises(ChainError, match="joint 'j1' has no position left"):
        robot.chain('l0', 'l2')


def test_mimic_of_a_locked_joint_stands_still():
    robot = series(
        ('revolute', limit_xml(-2.0, 2.0)),
        ('revolute', limit_xml(-1.0, 1.0)),
        ('revolute', limit_xml(-3.0, 3.0) + mimic_xml('j1', -0.5, 0.2)),
    )
    full, chain = robot.chain('l0', 'l3'), robot.chain('l0', 'l3', locked={'j1': 1.2})
    assert chain.joint_names == ('j2',)
    for value in (-0.8, 0.0, 0.3):
        T = full.forward([1.2, value])
        np.testing.assert_allclose(chain.forward([value]), T, rtol=0, atol=1e-14)


def test_locking_a_mimic_joint_names_the_one_it_follows():
    panda = arm('panda').robot
    with pytest.raises(ChainError, match=r"follows 'panda_finger_joint1'; lock that one"):
        panda.chain('panda_link0', 'panda_rightfinger', locked={'panda_finger_joint2': 0.0})
