"""The arm driven by hand: it goes where it is asked to, and rests when nothing is asked."""

import numpy as np
import pytest
from support.follower_helpers import READY
from support.servo_helpers import BENT, panda, ServoRig, SPEED_UNITS, ur5e

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.servo.commands import pose_command, ServoSettings, TwistCommand
from ik_service.motion.settings import FollowerState


@pytest.fixture(params=[(panda, READY), (ur5e, BENT)], ids=['panda', 'ur5e'])
def rig(request):
    chain, start = request.param
    return ServoRig(chain(), start)


@pytest.mark.parametrize('axis', range(6))
@pytest.mark.parametrize('sign', [-1.0, 1.0])
def test_the_tip_moves_as_asked_and_in_no_other_way(rig, axis, sign):
    twist = np.zeros(6)
    twist[axis] = sign * (0.1 if axis < 3 else 0.3)
    before = rig.tip
    rig.drive(0.5, twist)
    moved = pose_error(before, rig.tip)
    asked = 0.5 * twist[axis]
    assert 0.7 * abs(asked) < moved[axis] * sign <= abs(asked) + 1e-9  # it had to speed up
    others = np.delete(moved, axis)
    assert np.abs(others).max() < 2e-3 * abs(asked)
    assert rig.follower.state is FollowerState.SERVO
    assert rig.follower.violations == 0


def test_a_twist_in_the_axes_of_the_tip_turns_with_it(rig):
    approach, start = rig.tip[:3, 2], rig.tip[:3, 3]
    rig.goal.command(TwistCommand(np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.6]), turns=True))
    rig.follower.follow_goal(rig.goal)
    rig.tick(100)
    moved = rig.tip[:3, 3] - start
    assert moved @ approach > 0.04
    assert np.linalg.norm(moved - approach * (moved @ approach)) < 1e-4
    np.testing.assert_allclose(rig.tip[:3, 2], approach, atol=1e-4)


@pytest.mark.parametrize('ending', ['silence', 'zero', 'none'])
def test_without_a_command_the_arm_stops_within_its_limits_and_stays_at_rest(rig, ending):
    rig.drive(0.5, [0.2, 0.0, 0.0, 0.0, 0.0, 0.3])
    if ending == 'zero':
        rig.send([0.0] * 6, seconds=10.0)
    elif ending == 'none':
        rig.goal.command(None)
    stopping = rig.rest(0.5)
    change = rig.follower.limits.acceleration_now / rig.rate
    steps = np.diff([command.velocity for command in stopping], axis=0)
    assert (np.abs(steps) <= change * (1 + 1e-6)).all()
    resting = rig.rest(3.0)
    assert all((command.q == resting[0].q).all() for command in resting)


def test_an_old_command_never_moves_the_arm(rig):
    rig.goal.command(TwistCommand(np.full(6, 0.1)), until=rig.now - 1e-3)
    rig.follower.follow_goal(rig.goal)
    before = rig.q
    rig.tick(100)
    np.testing.assert_array_equal(rig.q, before)


def test_the_newest_kind_wins_between_targets_and_commands(rig):
    rig.follower.set_target(rig.tip)
    rig.drive(0.3, [0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert rig.follower.state is FollowerState.SERVO
    rig.follower.set_target(rig.tip)
    assert rig.goal.end
    rig.tick(300)
    assert rig.follower.state is FollowerState.RELEASED


def test_a_pose_is_gone_to_straight_and_held_for_as_long_as_it_is_asked_for(rig):
    goal = rig.tip @ transform_from_xyz_rpy((0.03, -0.05, 0.02), (0.1, 0.0, -0.2))
    start = rig.tip[:3, 3]
    way = goal[:3, 3] - start
    rig.goal.command(pose_command(goal, SPEED_UNITS))
    rig.follower.follow_goal(rig.goal)
    for _ in range(300):
        rig.tick()
        off = rig.tip[:3, 3] - start
        assert np.linalg.norm(off - way * (off @ way) / (way @ way)) < 1e-3
    assert np.abs(pose_error(rig.tip, goal)).max() < 1e-5


def test_a_joint_is_driven_alone_and_released_streams_end_without_hold():
    rig = ServoRig(ur5e(), BENT, hold=False)
    rig.drive(0.5, joints={'wrist_2_joint': 0.4})
    moved = rig.q - BENT
    assert 0.15 < moved[4] <= 0.2
    assert not np.delete(moved, 4).any()
    rig.let_go(2.0)
    assert not rig.follower.active


@pytest.mark.parametrize('joint', range(7))
def test_a_redundant_arm_moves_its_joints_away_from_limits_only_while_it_is_driven(joint):
    chain = panda()
    start = READY.copy()
    start[joint] = 0.9 * chain.upper[joint] + 0.1 * chain.lower[joint]
    rig = ServoRig(chain, start)
    rig.let_go(2.0)
    rig.send([0.0] * 6, seconds=5.0)
    rig.tick(200)
    np.testing.assert_array_equal(rig.q, start)


def test_driving_a_redundant_arm_to_and_fro_brings_its_joints_away_from_their_limits():
    chain = panda()
    start = READY.copy()
    start[2] = 0.9 * chain.upper[2]
    rig = ServoRig(chain, start)
    tip = rig.tip
    for _ in range(5):
        for speed in (0.1, -0.1):
            rig.drive(1.0, [0.0, speed, 0.0, 0.0, 0.0, 0.0])
    assert rig.q[2] < start[2] - 0.1
    assert np.abs(pose_error(tip, rig.tip)).max() < 0.02


def test_the_other_joints_take_over_from_one_that_is_at_its_limit():
    chain = panda()
    start = READY.copy()
    start[0] = chain.upper[0] - ServoSettings().margins_of(chain)[0]
    rig = ServoRig(chain, start)
    moved = rig.drive(1.0, [-0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert moved[0] < -0.035
    assert np.abs(moved[1:]).max() < 1e-3
    assert rig.q[0] <= start[0] + 1e-9
