"""Poses of every link of a robot."""

import math

import numpy as np
import pytest
from support.chains import arm as chain_of
from support.chains import ARM_TIPS, SHARED_ROBOTS

from ik_service import Robot
from ik_service.exceptions import ArgumentError, ChainError, UnknownJointError
from ik_service.kinematics.link_poses import link_poses

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


@pytest.mark.parametrize('name', ARM_TIPS)
def test_poses_of_all_links_of_the_arms_agree_with_chains(name):
    assert_chains_agree(chain_of(name).robot)


@pytest.mark.parametrize('name', MAKERS)
def test_poses_of_all_links_of_makers_robots_agree_with_chains(name):
    assert_chains_agree(makers_robot(name))


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
