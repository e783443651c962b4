"""Trees of several tips, and poses of links."""

import math
import pickle

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import (
    arm_path,
    ARM_TIPS,
    joint_xml,
    limit_xml,
    postures,
    robot_xml,
    SHARED_ROBOTS,
)

from ik_service import Robot
from ik_service.exceptions import ArgumentError, ChainError, UnknownJointError, UnknownLinkError
from ik_service.kinematics.link_poses import link_poses
from ik_service.kinematics.pose_error import pose_error
from ik_service.kinematics.tree import KinematicTree, MOST_TIPS

HANDS = PAIR = ('left_grip', 'right_grip')


@pytest.fixture(scope='module')
def robot():
    return Robot.from_urdf(arm_path('upper_body'))


@pytest.fixture(scope='module')
def tree(robot):
    return robot.tree('pelvis', [*HANDS, PAIR])


def poses_of_links(tree, q):
    return link_poses(tree.robot, dict(zip(tree.joint_names, q, strict=True)))


def test_variables_are_the_union_of_those_of_the_chains(robot, tree):
    left, right = (robot.chain('pelvis', tip) for tip in HANDS)
    assert tree.n == 19
    assert tree.joint_names == (*left.joint_names, *right.joint_names[5:])
    assert left.joint_names[:5] == right.joint_names[:5]
    np.testing.assert_array_equal(tree.lower[:12], left.lower)
    np.testing.assert_array_equal(tree.velocity[12:], right.velocity[5:])


def test_poses_are_those_of_the_links(tree):
    for q in postures(tree, 5):
        poses, found = poses_of_links(tree, q), tree.forward(q)
        assert tuple(found) == tree.tips == (*HANDS, PAIR)
        for tip in HANDS:
            np.testing.assert_allclose(
                found[tip], np.linalg.solve(poses['pelvis'], poses[tip]), atol=1e-12
            )
        between = np.linalg.solve(poses['left_grip'], poses['right_grip'])
        np.testing.assert_allclose(found[PAIR], between, atol=1e-12)


def test_jacobian_is_that_of_finite_differences(tree):
    q, h = postures(tree, 1, seed=4)[0], 1e-6
    J = tree.jacobian(q)
    assert J.shape == (18, 19)
    for i in range(tree.n):
        before, after = (tree.forward(q + s * h * np.eye(19)[i]) for s in (-1, 1))
        for row, tip in enumerate(tree.tips):
            error = pose_error(before[tip], after[tip]) / (2 * h)
            np.testing.assert_allclose(J[6 * row : 6 * row + 6, i], error, atol=1e-7)


def test_limits_are_narrowed(tree):
    narrower = tree.with_limits(tree.lower / 2, np.full(19, math.inf))
    np.testing.assert_array_equal(narrower.lower, tree.lower / 2)
    np.testing.assert_array_equal(narrower.arrays.upper, tree.upper)
    assert narrower.tips == tree.tips
    with pytest.raises(ChainError, match='no position left'):
        tree.with_limits(tree.upper, tree.lower)


def test_joints_can_be_locked(robot):
    tree = robot.tree(None, HANDS, locked={'waist_yaw': 0.2})
    assert tree.n == 18
    assert 'waist_yaw' not in tree.joint_names
    poses = link_poses(robot, {**dict.fromkeys(tree.joint_names, 0.1), 'waist_yaw': 0.2})
    found = tree.forward(np.full(18, 0.1))['right_grip']
    np.testing.assert_allclose(found, poses['right_grip'], atol=1e-12)


def test_joint_that_two_tips_follow_in_different_ways_keeps_both_their_limits():
    mimic = '<mimic joint="a" multiplier="2"/>'
    robot = Robot.from_urdf(
        robot_xml(
            ['base', 'one', 'two'],
            [
                joint_xml('a', 'revolute', 'base', 'one', inner=limit_xml(-1.0, 1.0)),
                joint_xml('b', 'revolute', 'base', 'two', inner=limit_xml(-1.0, 1.0, 0.5) + mimic),
            ],
        )
    )
    tree = robot.tree('base', ['one', 'two'])
    assert tree.joint_names == ('a',)
    assert (tree.lower[0], tree.upper[0], tree.velocity[0]) == (-0.5, 0.5, 0.25)


def test_trees_can_be_pickled(tree):
    copy = pickle.loads(pickle.dumps(tree))
    q = tree.mid_range()
    np.testing.assert_array_equal(copy.jacobian(q), tree.jacobian(q))
    assert not copy.arrays.joints.flags.writeable


def test_tree_of_a_chain_has_its_limits(robot):
    chain = robot.chain('pelvis', 'left_grip')
    narrower = chain.with_limits(chain.lower / 2, chain.upper)
    tree = KinematicTree.of_chain(narrower)
    assert tree.tips == ('left_grip',)
    np.testing.assert_array_equal(tree.lower, chain.lower / 2)


@pytest.mark.parametrize(
    ('tips', 'message'),
    [
        ([], '1 to 64'),
        ((f'link{i}' for i in range(10_000)), '1 to 64'),
        (['left_grip', 'left_grip'], "'left_grip' comes twice"),
        ([PAIR, list(PAIR)], 'comes twice'),
        ('left_grip', 'several links'),
        (None, 'several links'),
        ([None], 'links or pairs'),
        ([('pelvis', 'chest', 'head')], 'links or pairs'),
        ([('pelvis', 3)], 'links or pairs'),
    ],
)
def test_tips_that_are_none_are_refused(robot, tips, message):
    with pytest.raises(ArgumentError, match=rf'^tips: .*{message}'):
        robot.tree(None, tips)


def test_as_many_tips_as_there_may_be(robot):
    links = [link for link in robot.links if 'left' in link or 'right' in link]
    pairs = [(a, b) for a in links for b in links if a[0] != b[0]][:MOST_TIPS]
    assert len(robot.tree(None, pairs).tips) == 64


def test_links_and_joints_that_do_not_exist_are_named(robot):
    with pytest.raises(UnknownLinkError, match='nose'):
        robot.tree(None, ['nose'])
    with pytest.raises(UnknownLinkError, match='hip'):
        robot.tree('hip', ['head'])
    with pytest.raises(UnknownJointError, match='knee'):
        robot.tree(None, ['head'], locked={'knee': 0.0})


@pytest.mark.parametrize('tip', ['pelvis', ('left_hand', 'left_grip')])
def test_tip_that_no_joint_moves_is_refused(robot, tip):
    with pytest.raises(ChainError, match='no joint moves between'):
        robot.tree(None, ['right_grip', tip])


@pytest.mark.parametrize('q', [[0.0], np.full(19, math.nan), 'home', None])
def test_joint_vectors_that_are_none_are_refused(tree, q):
    for function in (tree.forward, tree.jacobian):
        with pytest.raises(ArgumentError, match=r'^q: '):
            function(q)


MAKERS = ['pr2_right_arm', 'yumi_finger_mimic_offpath', 'kinova_gen3', 'tiago_torso_arm']


def makers_robot(name):
    path = SHARED_ROBOTS / f'{name}.urdf'
    if not path.is_file():
        pytest.skip(f'the folder {SHARED_ROBOTS.name} is not beside the repository')
    return Robot.from_urdf(path)


def random_positions(robot, seed=0):
    rng = np.random.default_rng(seed)
    positions = {}
    for name in robot.independent_joint_names:
        limits = robot.joints[name].limits
        positions[name] = rng.uniform(max(limits.lower, -3.0), min(limits.upper, 3.0))
    return positions


def chains_from_root(robot):
    """A chain to every link that some joint moves."""
    for link in robot.links:
        try:
            yield robot.chain(robot.root_link, link)
        except ChainError:
            assert not any(joint.movable for joint, _ in robot.path(robot.root_link, link))


def assert_chains_agree(robot):
    positions = random_positions(robot)
    poses = link_poses(robot, positions)
    assert tuple(poses) == robot.links
    np.testing.assert_array_equal(poses[robot.root_link], np.eye(4))
    count = 0
    for chain in chains_from_root(robot):
        q = [positions[name] for name in chain.joint_names]
        np.testing.assert_allclose(chain.forward(q), poses[chain.tip_link], rtol=0, atol=1e-12)
        count += 1
    assert count >= 6


@pytest.mark.parametrize('name', [*ARM_TIPS, *MAKERS])
def test_poses_of_all_links_agree_with_chains(name):
    assert_chains_agree(chain_of(name).robot if name in ARM_TIPS else makers_robot(name))


def test_joints_left_out_stand_at_zero_or_the_limit_next_to_it():
    panda = chain_of('panda').robot
    given = dict.fromkeys(panda.independent_joint_names, 0.0)
    given['panda_joint4'] = -0.0698  # its upper limit
    everything, nothing = link_poses(panda, given), link_poses(panda, {})
    for link, T in nothing.items():
        np.testing.assert_array_equal(T, everything[link])


def test_mimic_joints_follow_whatever_is_given_for_them():
    panda = chain_of('panda').robot
    poses = link_poses(panda, {'panda_finger_joint1': 0.03, 'panda_finger_joint2': 0.01})
    hand = np.linalg.inv(poses['panda_hand'])
    left, right = (hand @ poses[f'panda_{side}finger'] for side in ('left', 'right'))
    assert left[1, 3] == pytest.approx(0.03, abs=1e-15)
    assert right[1, 3] == pytest.approx(-0.03, abs=1e-15)


@pytest.mark.parametrize('name', ['nothing', 'panda_joint8'])  # the latter is fixed
def test_joints_that_do_not_move_are_refused(name):
    with pytest.raises(UnknownJointError, match=f"'{name}'; valid: panda_joint1"):
        link_poses(chain_of('panda').robot, {name: 0.0})


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_positions_that_are_not_finite_are_refused(value):
    with pytest.raises(ArgumentError, match='panda_joint2 is'):
        link_poses(chain_of('panda').robot, {'panda_joint1': 0.0, 'panda_joint2': value})


def test_positions_beyond_the_limits_are_taken_as_they_are():
    planar = chain_of('planar_6r').robot
    once, twice = (link_poses(planar, {'joint_1': a}) for a in (1.0, 1.0 + 4 * math.pi))
    np.testing.assert_allclose(once['tool0'], twice['tool0'], rtol=0, atol=1e-14)
