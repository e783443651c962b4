"""Singularities: slowing down towards them, going on beside them, and driving out of them."""

import numpy as np
import pytest
from support.motion.rigs import BENT, panda, ServoRig, ur5e

from ik_service.motion.servo.commands import ServoSettings
from ik_service.motion.servo.servo_goal import ServoCode

STRETCHED = np.array([0.3, -1.2, 0.0, -1.9, -1.57, 0.0])
NEARLY_STRETCHED = np.array([0.3, -1.2, 0.05, -1.9, -1.57, 0.0])
WRIST = np.array([0.3, -1.2, 1.6, -1.9, 0.0, 0.0])
SETTINGS = ServoSettings(unitless=False)


def condition(rig):
    return np.linalg.cond(rig.chain.jacobian(rig.q))


def outwards(rig):
    """Return the direction from the shoulder to the wrist of the UR5e."""
    chain = rig.chain
    wrist = chain.robot.chain(chain.base_link, 'wrist_1_link')
    shoulder = chain.robot.chain(chain.base_link, 'upper_arm_link')
    way = wrist.forward(rig.q[:4])[:3, 3] - shoulder.forward(rig.q[:2])[:3, 3]
    return way / np.linalg.norm(way)


def along(direction, speed):
    return [*(speed * direction), 0.0, 0.0, 0.0]


@pytest.mark.parametrize('scaling', [0.3, 1.0])
def test_towards_a_stretched_arm_the_motion_fades_before_the_singularity(scaling):
    rig = ServoRig(ur5e(), BENT, velocity_scaling=scaling)
    direction, codes = outwards(rig), []
    for _ in range(60):
        rig.drive(0.1, along(direction, 0.2))
        codes.append(rig.goal.status.code)
    assert ServoCode.DECELERATE_FOR_APPROACHING_SINGULARITY in codes
    assert codes[-1] is ServoCode.HALT_FOR_SINGULARITY
    assert SETTINGS.lower_threshold < condition(rig) < 4 * SETTINGS.hard_stop
    assert rig.q[2] > 0.1, 'the elbow has not passed the singularity'


@pytest.mark.parametrize('start', [STRETCHED, NEARLY_STRETCHED], ids=['at', 'beside'])
@pytest.mark.parametrize('elbow', [1.0, -1.0])
def test_out_of_a_stretched_arm_the_tip_goes_where_it_is_asked(start, elbow):
    rig = ServoRig(ur5e(), start * [1, 1, elbow, 1, 1, 1], velocity_scaling=1.0)
    inwards = -outwards(rig)
    before = condition(rig)
    rig.drive(0.5, along(inwards, 0.1))
    moved = rig.drive(1.0, along(inwards, 0.1))
    assert condition(rig) < SETTINGS.lower_threshold < before
    assert 0.095 < moved @ inwards < 0.101, 'full speed'
    assert np.linalg.norm(moved - inwards * (moved @ inwards)) < 2e-3


def test_where_one_direction_is_lost_the_others_go_on_at_full_speed():
    rig = ServoRig(ur5e(), STRETCHED, velocity_scaling=1.0)
    sideways = np.cross([0.0, 0.0, 1.0], outwards(rig))
    sideways /= np.linalg.norm(sideways)
    rig.drive(0.3, along(sideways, 0.1))
    moved = rig.drive(0.5, along(sideways, 0.1))
    assert moved @ sideways > 0.045


def test_out_of_a_singular_wrist_the_tip_turns_where_it_is_asked():
    rig = ServoRig(ur5e(), WRIST, velocity_scaling=1.0)
    axis = rig.chain.jacobian(rig.q)[3:, 4]  # of the joint that brings the wrist out of it
    rig.drive(0.5, [0.0, 0.0, 0.0, *(0.5 * axis)])
    assert abs(rig.q[4]) > 0.15
    assert condition(rig) < 60


def test_a_twist_in_the_lost_direction_of_a_wrist_makes_no_joint_fast():
    rig = ServoRig(ur5e(), WRIST + 0.01 * np.eye(6)[4], velocity_scaling=1.0)
    U, _, _ = np.linalg.svd(rig.chain.jacobian(rig.q))
    rig.drive(2.0, 0.3 * U[:, -1])
    speeds = np.abs([command.velocity for command in rig.commands])
    assert speeds.max() < 0.5
    assert rig.goal.status.code is ServoCode.HALT_FOR_SINGULARITY


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('arm', [panda, ur5e])
def test_from_wherever_a_direction_has_led_its_opposite_leads_back(arm, seed):
    """Drive into whatever comes, then the other way: the tip must follow at once."""
    chain, random = arm(), np.random.default_rng(seed)
    middle = 0.5 * (np.maximum(chain.lower, -2.5) + np.minimum(chain.upper, 2.5))
    rig = ServoRig(chain, middle + random.uniform(-0.3, 0.3, chain.n), velocity_scaling=1.0)
    direction = random.normal(size=3)
    direction /= np.linalg.norm(direction)
    rig.drive(15.0, along(direction, 0.15))
    rig.let_go()
    rig.drive(0.5, along(direction, -0.15))
    back = rig.drive(0.5, along(direction, -0.15))
    assert back @ direction < -0.06
    assert rig.follower.violations == 0
