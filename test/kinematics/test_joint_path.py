"""Paths of joints between links, and joints that follow others, on a path and off it."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from support.chains import (
    arm,
    assert_jacobian_is_the_derivative,
    forward_by_tree,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    rotation,
    transform,
)

from ik_service import Robot
from ik_service.exceptions import ArgumentError, ChainError, UnknownJointError, UnknownLinkError
from ik_service.kinematics.joint_path import joint_path


def assert_is_consistent(chain):
    """Check that FK agrees with the tree, and that the Jacobian is its derivative."""
    for q in postures(chain, 10):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-14)
        assert_jacobian_is_the_derivative(chain, q)


SEEDED = settings(deadline=None, derandomize=True, max_examples=100)
X, Y, Z = np.eye(3)


def branched():
    """A trunk of two joints that carries two arms of three, one of them with a slide."""
    joints = [
        joint_xml('trunk1', 'revolute', 'root', 'a', (0, 0, 0.3), (0, 0, 0.4), Z,
                  limit_xml(-2.0, 2.0)),
        joint_xml('trunk2', 'prismatic', 'a', 'torso', (0.1, 0, 0.2), (0.2, 0, 0), Y,
                  limit_xml(-0.1, 0.4)),
        joint_xml('left1', 'revolute', 'torso', 'l1', (0, 0.2, 0.1), (0, 0.5, 0), X,
                  limit_xml(-2.0, 2.0)),
        joint_xml('left2', 'prismatic', 'l1', 'l2', (0.3, 0, 0), (0.7, 0, 0.1), (0.6, 0, 0.8),
                  limit_xml(0.0, 0.5)),
        joint_xml('left3', 'continuous', 'l2', 'l3', (0.3, 0, 0), (0, 0, 1.1), (0, 0.6, -0.8)),
        joint_xml('left_hand', 'fixed', 'l3', 'left', (0.1, 0, 0.1), (1, 0, 0)),
        joint_xml('right1', 'revolute', 'torso', 'r1', (0, -0.2, 0.1), (0, -0.5, 0), -X,
                  limit_xml(-2.0, 2.0)),
        joint_xml('right2', 'revolute', 'r1', 'r2', (0.3, 0, 0), (-0.7, 0, 0.1), Y,
                  limit_xml(-1.0, 2.5)),
        joint_xml('right3', 'continuous', 'r2', 'right', (0.3, 0, 0), (0, 0, -1.1), -Z),
    ]  # fmt: skip
    links = ['root', 'a', 'torso', 'l1', 'l2', 'l3', 'left', 'r1', 'r2', 'right']
    return Robot.from_urdf(robot_xml(links, joints))


BRANCHED = branched()
PAIRS = [
    (a, b) for a in BRANCHED.links for b in BRANCHED.links if a != b and {a, b} != {'l3', 'left'}
]


@pytest.mark.parametrize(('base', 'tip'), PAIRS)
def test_any_pair_of_links_agrees_with_the_poses_of_the_tree(base, tip):
    chain = BRANCHED.chain(base, tip)
    for q in postures(chain, 5):
        np.testing.assert_allclose(chain.forward(q), forward_by_tree(chain, q), rtol=0, atol=1e-14)


def test_joints_are_named_from_base_to_tip():
    over = BRANCHED.chain('left', 'right')
    assert over.joint_names == ('left3', 'left2', 'left1', 'right1', 'right2', 'right3')


def test_common_trunk_is_not_part_of_a_chain_between_branches():
    path = joint_path(BRANCHED, 'left', 'right', {})
    assert [motion.scale for motion in path.motions] == [-1, -1, -1, 1, 1, 1]
    assert [motion.turns for motion in path.motions] == [True, False, True, True, True, True]


@pytest.mark.parametrize('ends', [('nowhere', 'left'), ('root', 'nowhere')])
def test_unknown_link_is_refused(ends):
    with pytest.raises(UnknownLinkError, match='nowhere'):
        BRANCHED.chain(*ends)


@pytest.mark.parametrize('ends', [('l3', 'left'), ('torso', 'torso')])
def test_path_without_moving_joints_is_refused(ends):
    with pytest.raises(ChainError, match=f"no joint moves between '{ends[0]}' and '{ends[1]}'"):
        BRANCHED.chain(*ends)


# Locked joints


@pytest.mark.parametrize(
    'names',
    [('trunk1',), ('left2',), ('left3',), ('trunk1', 'trunk2'), ('trunk2', 'left1', 'left3')],
)
@pytest.mark.parametrize('ends', [('root', 'left'), ('left', 'root')])
def test_locked_joints_stand_where_they_were_locked(names, ends):
    full = BRANCHED.chain(*ends)
    for q in postures(full, 5):
        locked = {name: q[full.joint_names.index(name)] for name in names}
        free = [i for i, name in enumerate(full.joint_names) if name not in names]
        chain = BRANCHED.chain(*ends, locked=locked)
        assert chain.joint_names == tuple(full.joint_names[i] for i in free)
        np.testing.assert_array_equal(chain.upper, full.upper[free])
        np.testing.assert_allclose(chain.forward(q[free]), full.forward(q), rtol=0, atol=1e-14)
        J = full.jacobian(q)[:, free]
        np.testing.assert_allclose(chain.jacobian(q[free]), J, rtol=0, atol=1e-14)


def test_locking_a_joint_off_the_path_changes_nothing():
    q = postures(BRANCHED.chain('torso', 'left'), 1)[0]
    plain = BRANCHED.chain('torso', 'left')
    locked = BRANCHED.chain('torso', 'left', locked={'right1': 1.0, 'trunk1': -1.0})
    assert locked.joint_names == plain.joint_names
    np.testing.assert_array_equal(locked.forward(q), plain.forward(q))


def test_locking_everything_leaves_no_chain():
    locked = {'left1': 0.0, 'left2': 0.0, 'left3': 0.0}
    with pytest.raises(ChainError, match="between 'torso' and 'left' that is not locked"):
        BRANCHED.chain('torso', 'left', locked=locked)


@pytest.mark.parametrize('name', ['nothing', 'left_hand'])
def test_locking_an_unknown_or_fixed_joint_is_refused(name):
    with pytest.raises(UnknownJointError, match=f"'{name}'; valid: trunk1, trunk2") as error:
        BRANCHED.chain('root', 'left', locked={name: 0.0})
    assert error.value.name == name


@pytest.mark.parametrize('value', [2.0 + 1e-9, -2.1, math.nan, math.inf])
def test_locking_outside_the_limits_is_refused(value):
    with pytest.raises(ChainError, match="joint 'trunk1' cannot be locked at"):
        BRANCHED.chain('root', 'left', locked={'trunk1': value})


@pytest.mark.parametrize('value', ['far', '0.1', None, True, 1j, [0.1, 0.2]])
def test_locking_at_a_non_number_is_refused(value):
    with pytest.raises(ArgumentError, match=r"locked position of 'trunk1': has to be .*number"):
        BRANCHED.chain('root', 'left', locked={'trunk1': value})


@pytest.mark.parametrize('kind', [np.float16, np.float32, np.longdouble, np.array])
@pytest.mark.filterwarnings('error')
def test_numbers_of_numpy_lock_a_joint_in_double_precision(kind):
    locked = BRANCHED.chain('root', 'left', locked={'trunk1': kind(0.1)}).locked
    assert locked == {'trunk1': float(kind(0.1))}
    assert type(locked['trunk1']) is float


def test_locking_a_continuous_joint_anywhere():
    chain = BRANCHED.chain('root', 'left', locked={'left3': 40 * math.pi})
    home = BRANCHED.chain('root', 'left', locked={'left3': 0.0})
    q = postures(chain, 1)[0]
    np.testing.assert_allclose(chain.forward(q), home.forward(q), rtol=0, atol=1e-13)


# Planar and floating joints


@pytest.mark.parametrize('normal', [Z, -Z, X, Y, (0.6, 0.0, 0.8), (0.0, -0.6, -0.8)])
def test_planar_joint(normal):
    normal = np.array(normal)
    T_origin = transform(rotation(Z, 0.7), (0.1, 0.2, 0.3))
    floor = joint_xml('floor', 'planar', 'world', 'cart', (0.1, 0.2, 0.3), (0, 0, 0.7), normal)
    chain = Robot.from_urdf(robot_xml(['world', 'cart'], [floor])).chain()
    assert chain.joint_names == ('floor/x', 'floor/y', 'floor/theta')
    assert not np.isfinite([*chain.lower, *chain.upper]).any()
    # The directions of the plane: the frame's x and y, turned by what takes z to the normal.
    if normal[2] > -0.999:
        angle = math.acos(normal[2])
        R = rotation(np.cross(Z, normal), angle) if angle > 0 else np.eye(3)
    else:
        R = np.diag([1.0, -1.0, -1.0])
    x, y, theta = 0.4, -0.3, 1.1
    T = transform(rotation(normal, theta), x * R[:, 0] + y * R[:, 1])
    np.testing.assert_allclose(chain.forward([x, y, theta]), T_origin @ T, rtol=0, atol=1e-15)
    assert_is_consistent(chain)


@SEEDED
@given(st.tuples(*[st.floats(-2, 2)] * 3), st.tuples(*[st.floats(-math.pi, math.pi)] * 3))
def test_floating_joint(position, angles):
    names = ('trans_x', 'trans_y', 'trans_z', 'rot_z', 'rot_y', 'rot_x')
    assert FLOATING.joint_names == tuple(f'free/{name}' for name in names)
    yaw, pitch, roll = angles
    R = rotation(Z, yaw) @ rotation(Y, pitch) @ rotation(X, roll)
    T = transform(rotation(Z, 0.7)) @ transform(R, position)
    np.testing.assert_allclose(FLOATING.forward([*position, *angles]), T, rtol=0, atol=1e-14)


FLOATING = Robot.from_urdf(
    robot_xml(['world', 'body'], [joint_xml('free', 'floating', 'world', 'body', rpy=(0, 0, 0.7))])
).chain()


def test_jacobian_of_a_floating_joint():
    assert_is_consistent(FLOATING)


# The split of rotations


angles = st.floats(-math.pi, math.pi)


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


@pytest.mark.parametrize(
    ('multiplier', 'fault'),
    [
        (1.0, 'its limits, with those of the joints that follow it, are -1 … -2'),
        (0.0, 'it follows with multiplier 0, and its offset is outside its limits'),
    ],
)
def test_limits_of_a_mimic_joint_that_leave_nothing(multiplier, fault):
    robot = series(
        ('revolute', limit_xml(-1.0, 1.0)),
        ('revolute', limit_xml(-1.0, 1.0) + mimic_xml('j1', multiplier, 3.0)),
    )
    with pytest.raises(ChainError, match=f'has no position left: {fault}'):
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
