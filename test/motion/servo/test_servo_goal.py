"""The arm driven by hand: it goes where it is asked to, and rests when nothing is asked."""

import numpy as np
import pytest
from support.motion.rigs import BENT, panda, READY, ServoRig, SPEED_UNITS, ur5e

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.servo.commands import (
    JointCommand,
    pose_command,
    ServoSettings,
    TwistCommand,
)
from ik_service.motion.servo.servo_goal import ServoCode
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


MARGIN = ServoSettings().margins[0]


@pytest.mark.parametrize('scaling', [0.3, 1.0])
@pytest.mark.parametrize('side', [1.0, -1.0])
def test_a_joint_that_is_driven_stops_at_its_margin_and_may_leave_it(scaling, side):
    chain = ur5e()
    rig = ServoRig(chain, BENT, velocity_scaling=scaling)
    limit = chain.upper[2] if side > 0 else chain.lower[2]
    rig.drive(12.0, joints={'elbow_joint': side * 0.9, 'wrist_3_joint': 0.05})
    assert abs(abs(limit - rig.q[2]) - MARGIN) < 1e-3
    assert (limit - rig.q[2]) * side > MARGIN - 1e-6
    assert rig.goal.status.code is ServoCode.JOINT_BOUND
    assert 'elbow_joint' in rig.goal.status.message
    assert rig.q[5] == pytest.approx(0.6, abs=0.02), 'the other joint goes on'
    rig.drive(0.5, joints={'elbow_joint': -side * 0.5})
    assert (limit - rig.q[2]) * side > MARGIN + 0.15


def test_a_straight_motion_stops_as_a_whole_where_a_joint_has_to():
    chain = ur5e()
    start = BENT.copy()
    start[5] = chain.upper[5] - MARGIN - 0.2
    rig = ServoRig(chain, start)
    axis = rig.tip[:3, 2]
    rig.drive(4.0, [0.0, 0.0, 0.0, *(0.3 * axis)])
    assert rig.q[5] == pytest.approx(chain.upper[5] - MARGIN, abs=1e-3)
    assert rig.goal.status.code is ServoCode.JOINT_BOUND
    np.testing.assert_allclose(rig.tip[:3, 2], axis, atol=1e-6)
    rig.drive(1.0, [0.0, 0.0, 0.0, *(-0.3 * axis)])
    assert rig.q[5] < chain.upper[5] - MARGIN - 0.2


@pytest.mark.parametrize('side', [1.0, -1.0])
@pytest.mark.parametrize('joint', [0, 1])
def test_a_joint_within_its_margin_stops_no_motion_that_needs_it_not(joint, side):
    chain = ur5e()
    start = BENT.copy()
    start[joint] = side * (chain.upper[joint] - 0.5 * MARGIN)
    rig = ServoRig(chain, start)
    rig.drive(1.0, [0.0, 0.0, 0.0, *(0.3 * rig.tip[:3, 2])])  # by the last joint alone
    assert rig.q[5] - start[5] > 0.2
    np.testing.assert_allclose(rig.q[:5], start[:5], atol=1e-6)


def test_from_within_its_margin_a_joint_may_only_come_back():
    chain = panda()
    start = 0.5 * (chain.lower + chain.upper)
    start[3] = chain.upper[3] - 0.02
    rig = ServoRig(chain, start)
    rig.drive(1.0, joints={'panda_joint4': 1.0})
    np.testing.assert_array_equal(rig.q, start)
    rig.drive(1.0, joints={'panda_joint4': -0.2})
    assert rig.q[3] == pytest.approx(start[3] - 0.2, abs=0.05)


TICKS = [6_000, pytest.param(50_000, marks=pytest.mark.slow)]
PERIOD = 0.01
ROUNDING = 1e-9


def random_command(random, chain):
    """Return something between a touch of the joystick and nonsense."""
    size = 10.0 ** random.uniform(-6, 3)
    kind = random.integers(5)
    if kind == 0:
        return JointCommand(size * random.normal(size=chain.n))
    if kind == 1:
        lower, upper = np.maximum(chain.lower, -3.0), np.minimum(chain.upper, 3.0)
        return pose_command(chain.forward(random.uniform(lower, upper)), ServoSettings())
    if kind == 2:
        return None
    twist = np.where(random.random(6) < 0.5, 0.0, size * random.normal(size=6))
    return TwistCommand(twist, turns=bool(random.integers(2)))


@pytest.mark.parametrize('ticks', TICKS)
@pytest.mark.parametrize('arm', [panda, ur5e])
def test_hostile_commands_never_move_a_joint_beyond_its_limits(arm, ticks):
    chain, random = arm(), np.random.default_rng(5)
    start = BENT if chain.n == 6 else 0.5 * (chain.lower + chain.upper)
    rig = ServoRig(chain, start, velocity_scaling=1.0)
    follower, limits = rig.follower, rig.follower.limits
    follower.follow_goal(rig.goal)
    rig.tick(3)
    last, speed, now = rig.q, np.zeros(chain.n), rig.now
    nearest = np.full(chain.n, np.inf)
    for _ in range(ticks):
        if random.random() < 0.05:
            rig.goal.command(random_command(random, chain), now + random.uniform(-0.1, 1.0))
        dt = PERIOD * random.uniform(0.6, 1.0)
        now += dt
        follower.set_measured(last, now)
        command = follower.tick(now)
        if command is None:
            continue
        rate = (command.q - last) / dt
        assert (np.abs(rate) <= limits.velocity_now + ROUNDING / dt).all()
        assert (np.abs(rate - speed) <= limits.braking * limits.unit * dt + ROUNDING / dt).all()
        assert (command.q >= chain.lower).all()
        assert (command.q <= chain.upper).all()
        last, speed = command.q, rate
        nearest = np.minimum(nearest, np.minimum(last - chain.lower, chain.upper - last))
    assert follower.violations == 0
    margins = ServoSettings().margins_of(chain)
    # Commands that leap leave little time to brake, but never less than this.
    assert (nearest > 0.2 * margins).all()
