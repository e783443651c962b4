"""Goals of driving by hand: twists and jogs, and slowing down at singularities."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog
from support.chains import snake
from support.motion.rigs import BENT, panda, READY, ServoRig, SPEED_UNITS, ur5e

from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.servo.commands import (
    joint_command,
    JointCommand,
    pose_command,
    ServoSettings,
    twist_command,
    TwistCommand,
)
from ik_service.motion.servo.servo_goal import ServoCode
from ik_service.motion.servo.velocity_solver import VelocitySolver
from ik_service.motion.settings import FollowerState

PERIOD = 0.01
ROUNDING = 1e-9
MARGIN = ServoSettings().margins[0]


def with_joint(q, joint, value):
    return np.where(np.arange(len(q)) == joint, value, q)


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
    rig.obey(TwistCommand(np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.6]), turns=True))
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
    rig.obey(TwistCommand(np.full(6, 0.1)), until=rig.now - 1e-3)
    before = rig.q
    rig.tick(100)
    np.testing.assert_array_equal(rig.q, before)


def test_a_pose_is_gone_to_straight_and_held_for_as_long_as_it_is_asked_for(rig):
    goal = rig.tip @ transform_from_xyz_rpy((0.03, -0.05, 0.02), (0.1, 0.0, -0.2))
    start = rig.tip[:3, 3]
    way = goal[:3, 3] - start
    rig.obey(pose_command(goal, SPEED_UNITS))
    for _ in range(300):
        rig.tick()
        off = rig.tip[:3, 3] - start
        assert np.linalg.norm(off - way * (off @ way) / (way @ way)) < 1e-3
    assert np.abs(pose_error(rig.tip, goal)).max() < 1e-5


@pytest.mark.parametrize(
    ('moved', 'turned'),
    [((0.0, -0.1, 0.02), (0.0, 0.0, 0.05)), ((0.01, 0.0, 0.0), (0.3, 0.0, -0.2))],
)
def test_towards_a_pose_neither_speed_is_exceeded_one_is_reached_and_then_the_arm_rests(
    moved, turned
):
    settings = ServoSettings(linear=0.1, rotational=0.2)
    rig = ServoRig(ur5e(), BENT, settings)
    goal = rig.tip @ transform_from_xyz_rpy(moved, turned)
    rig.obey(pose_command(goal, settings))
    fastest = np.zeros(2)
    for _ in range(400):
        before = rig.tip
        rig.tick()
        step = pose_error(before, rig.tip) * rig.rate
        speeds = np.linalg.norm(step[:3]) / 0.1, np.linalg.norm(step[3:]) / 0.2
        fastest = np.maximum(fastest, speeds)
    assert 0.95 < fastest.max() < 1.001
    assert not rig.goal.busy
    assert np.abs(pose_error(rig.tip, goal)).max() < 2e-6


def test_between_the_thresholds_less_and_less_of_a_motion_towards_a_singularity_is_kept():
    chain, settings = ur5e(), ServoSettings()
    solver, limits = VelocitySolver(chain, settings), ServoRig(chain, BENT).follower.limits
    seen = []
    for wrist in np.linspace(0.1, 0.6, 51):
        q = with_joint(BENT, 4, wrist)
        J = chain.jacobian(q)
        U, sizes, _ = np.linalg.svd(J)
        condition, along = sizes[0] / sizes[-1], 0.01 * U[:, -1]
        if 17.0 < condition < 30.0:
            kept = [
                along @ J @ solver.for_twist(sign * along, q, limits, 0.01) for sign in (1, -1)
            ]
            seen.append(min(np.abs(kept)) * 1e4 - (30.0 - condition) / 13.0)
    assert len(seen) > 5
    np.testing.assert_allclose(seen, 0.0, atol=1e-6)


def test_a_fast_twist_ends_at_the_margin_of_a_joint_and_not_beyond():
    start = with_joint(BENT, 5, 2.0 * np.pi - 1.0)
    rig = ServoRig(ur5e(), start)
    rig.drive(3.0, 2.5 * rig.chain.jacobian(start)[:, 5])
    assert rig.chain.upper[5] - MARGIN - 1e-3 < rig.q[5] <= rig.chain.upper[5] - MARGIN + 1e-9


@pytest.mark.parametrize('wrist', [0.0, 2.0 * np.pi - 0.15])
def test_a_speed_that_joints_cannot_reach_is_no_warning_of_a_limit_that_they_move_away_from(wrist):
    start = with_joint(BENT, 5, wrist)
    rig = ServoRig(ur5e(), start)
    rig.drive(0.3, -10.0 * rig.chain.jacobian(start)[:, 5])
    assert rig.q[5] < wrist - 0.2
    assert rig.goal.status.code is ServoCode.NO_WARNING


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
    start = with_joint(READY, joint, 0.9 * chain.upper[joint] + 0.1 * chain.lower[joint])
    rig = ServoRig(chain, start)
    rig.let_go(2.0)
    rig.send([0.0] * 6, seconds=5.0)
    rig.tick(200)
    np.testing.assert_array_equal(rig.q, start)


def test_driving_a_redundant_arm_to_and_fro_brings_its_joints_away_from_their_limits():
    chain = panda()
    start = with_joint(READY, 2, 0.9 * chain.upper[2])
    rig = ServoRig(chain, start)
    tip = rig.tip
    for _ in range(5):
        for speed in (0.1, -0.1):
            rig.drive(1.0, [0.0, speed, 0.0, 0.0, 0.0, 0.0])
    assert rig.q[2] < start[2] - 0.1
    assert np.abs(pose_error(tip, rig.tip)).max() < 0.02


def test_the_other_joints_take_over_from_one_that_is_at_its_limit():
    chain = panda()
    start = with_joint(READY, 0, chain.upper[0] - MARGIN)
    rig = ServoRig(chain, start)
    moved = rig.drive(1.0, [-0.05, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert moved[0] < -0.035
    assert np.abs(moved[1:]).max() < 1e-3
    assert rig.q[0] <= start[0] + 1e-9


class Uneven:
    """A redundant arm some joints of which are far slower than others."""

    def __init__(self, chain, shares):
        limits = ServoRig(chain, chain.mid_range()).follower.limits
        self.chain, self.random = chain, np.random.default_rng(1)
        self.limits = replace(limits, velocity=limits.velocity * shares)
        self.solver = VelocitySolver(chain, ServoSettings())

    def postures(self, count):
        range_ = self.chain.upper - self.chain.lower
        while count:
            q = self.chain.mid_range() + self.random.uniform(-0.3, 0.3, self.chain.n) * range_
            if np.linalg.cond(self.chain.jacobian(q)) < 10.0:
                count -= 1
                yield q

    def twist(self):
        return self.random.normal(size=6) * [0.2, 0.2, 0.2, 0.4, 0.4, 0.4]

    def velocity(self, twist, q, last=None):
        return self.solver.for_twist(twist, q, self.limits, PERIOD, last)

    def largest_share(self, J, twist):
        """Return the largest share of a twist that joints can do at their speeds."""
        speed = self.limits.velocity_now
        share = np.zeros(self.chain.n + 1)
        share[-1] = -1.0
        bounds = [*zip(-speed, speed, strict=True), (0.0, 1.0)]
        system = np.column_stack([J, -twist])
        return linprog(share, A_eq=system, b_eq=np.zeros(6), bounds=bounds).x[-1]


@pytest.fixture(params=['panda', 'snake of 8', 'snake of 9'])
def uneven(request):
    if request.param == 'panda':
        return Uneven(panda(), [1.0, 1.0, 1.0, 0.1, 1.0, 1.0, 1.0])
    if request.param == 'snake of 8':
        return Uneven(snake(8, 1), np.logspace(-2.0, 0.0, 8))
    return Uneven(snake(9, 2), np.logspace(0.0, -2.0, 9))


def test_fast_joints_take_over_from_slow_ones_so_that_the_tip_is_nearly_as_fast_as_can_be(uneven):
    shares = []
    for q in uneven.postures(40):
        J, twist = uneven.chain.jacobian(q), uneven.twist()
        moved = J @ uneven.velocity(twist, q)
        shares.append((moved @ twist) / (twist @ twist) / uneven.largest_share(J, twist))
        np.testing.assert_allclose(moved / np.linalg.norm(moved), twist / np.linalg.norm(twist))
    assert min(shares) > 0.85
    assert np.mean(shares) > 0.98


def test_joint_velocities_of_an_uneven_arm_are_continuous_in_its_posture(uneven):
    for start, end in zip(uneven.postures(10), uneven.postures(10), strict=True):
        twist = uneven.twist()
        path = start + np.linspace(0.0, 0.05, 1001)[:, None] * (end - start)
        shares = [uneven.velocity(twist, q) / uneven.limits.velocity_now for q in path]
        assert np.abs(np.diff(shares, axis=0)).max() < 0.02


def test_a_large_change_of_the_self_motion_does_not_turn_the_tip_off_its_direction(uneven):
    n, speed = uneven.chain.n, uneven.limits.velocity_now
    most = PERIOD * uneven.limits.acceleration_now * (1.0 + ROUNDING)
    for q in uneven.postures(40):
        twist = 0.02 * uneven.twist()
        J = uneven.chain.jacobian(q) * speed
        shares = (np.eye(n) - np.linalg.pinv(J) @ J) @ uneven.random.normal(size=n)
        last = uneven.velocity(twist, q) + 0.05 * speed * shares / np.abs(shares).max()
        velocity = uneven.velocity(twist, q + PERIOD * last, last)
        moved = uneven.chain.jacobian(q + PERIOD * last) @ velocity
        assert (np.abs(velocity - last) <= most).all()
        assert np.linalg.norm(moved / np.linalg.norm(moved) - twist / np.linalg.norm(twist)) < 1e-9


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
    rig = ServoRig(chain, with_joint(BENT, 5, chain.upper[5] - MARGIN - 0.2))
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
    start = with_joint(BENT, joint, side * (chain.upper[joint] - 0.5 * MARGIN))
    rig = ServoRig(chain, start)
    rig.drive(1.0, [0.0, 0.0, 0.0, *(0.3 * rig.tip[:3, 2])])  # by the last joint alone
    assert rig.q[5] - start[5] > 0.2
    np.testing.assert_allclose(rig.q[:5], start[:5], atol=1e-6)


def test_from_within_its_margin_a_joint_may_only_come_back():
    chain = panda()
    start = with_joint(chain.mid_range(), 3, chain.upper[3] - 0.02)
    rig = ServoRig(chain, start)
    rig.drive(1.0, joints={'panda_joint4': 1.0})
    np.testing.assert_array_equal(rig.q, start)
    rig.drive(1.0, joints={'panda_joint4': -0.2})
    assert rig.q[3] == pytest.approx(start[3] - 0.2, abs=0.05)


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


@pytest.mark.parametrize('arm', [panda, ur5e])
def test_hostile_commands_never_move_a_joint_beyond_its_limits(arm):
    chain, random = arm(), np.random.default_rng(5)
    start = BENT if chain.n == 6 else 0.5 * (chain.lower + chain.upper)
    rig = ServoRig(chain, start, velocity_scaling=1.0)
    follower, limits = rig.follower, rig.follower.limits
    follower.follow_goal(rig.goal)
    rig.tick(3)
    last, speed, now = rig.q, np.zeros(chain.n), rig.now
    nearest = np.full(chain.n, np.inf)
    for _ in range(6000):
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


UNITLESS = ServoSettings(linear=0.4, rotational=0.8, joint=0.5)


@pytest.mark.parametrize(
    ('asked', 'speeds', 'named'),
    [
        ([0.5, 0.0, -1.0, 0.0, 1.0, 0.0], [0.2, 0.0, -0.4, 0.0, 0.8, 0.0], ''),
        ([0.0, 3.0, -1.5, 0.0, 0.0, 0.0], [0.0, 0.4, -0.2, 0.0, 0.0, 0.0], "'linear.y' is 3"),
    ],
)
def test_a_unitless_twist_is_a_share_of_the_scales_up_to_one(asked, speeds, named):
    command, note = twist_command(np.array(asked), UNITLESS)
    np.testing.assert_allclose(command.twist, speeds)
    assert named in note
    assert bool(note) == bool(named)
    in_units = twist_command(0.5 * np.array(asked), SPEED_UNITS)[0].twist
    np.testing.assert_array_equal(in_units, 0.5 * np.array(asked))


@pytest.mark.parametrize('R', [2 * np.eye(3), np.diag([1, 1, -1]), np.eye(4), 'x'])
def test_axes_of_a_twist_that_are_no_rotation_are_refused(R):
    with pytest.raises(ArgumentError, match=r'^R: '):
        twist_command(np.ones(6), UNITLESS, R)


@pytest.mark.parametrize('value', ['fast', None, 1j])
def test_a_joint_velocity_that_is_no_number_is_refused_by_name(value):
    with pytest.raises(ArgumentError, match='velocities: has to be'):
        joint_command({'panda_joint1': value}, UNITLESS, panda())


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf, 1e6])
def test_numbers_that_can_be_no_speed_are_refused_by_name(value):
    twist = np.zeros(6)
    twist[4] = value
    for settings in (UNITLESS, SPEED_UNITS):
        with pytest.raises(ArgumentError, match=r'angular\.y'):
            twist_command(twist, settings)
        with pytest.raises(ArgumentError, match='panda_joint3'):
            joint_command({'panda_joint3': value}, settings, panda())
    T = np.eye(4)
    T[1, 3] = np.nan
    with pytest.raises(ArgumentError, match='pose'):
        pose_command(T, UNITLESS)


def test_joints_that_are_not_named_rest_and_unknown_ones_are_named():
    command, _ = joint_command({'elbow_joint': -1.0}, UNITLESS, ur5e())
    np.testing.assert_array_equal(command.velocity, [0.0, 0.0, -0.5, 0.0, 0.0, 0.0])
    with pytest.raises(ArgumentError, match=r"'elbow' is none of .*shoulder_pan_joint"):
        joint_command({'elbow': 1.0}, UNITLESS, ur5e())


@pytest.mark.parametrize(
    ('settings', 'named'),
    [
        ({'linear': 0.0}, 'linear'),
        ({'timeout': np.nan}, 'timeout'),
        ({'margins': ()}, 'joint_limit_margins'),
        ({'margins': (-0.1,)}, 'joint_limit_margins'),
        ({'lower_threshold': 30.0}, 'hard_stop_singularity_threshold'),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(settings, named):
    with pytest.raises(OptionError) as caught:
        ServoSettings(**settings)
    assert caught.value.option == named


def test_margins_are_one_or_one_for_each_joint_and_leave_room_between_them():
    chain = panda()
    assert (ServoSettings().margins_of(chain) == 0.1).all()
    wide = ServoSettings(margins=(10.0,)).margins_of(chain)
    np.testing.assert_allclose(wide, 0.25 * (chain.upper - chain.lower))
    with pytest.raises(OptionError, match='2 numbers; there have to be one, or 7'):
        ServoSettings(margins=(0.1, 0.2)).margins_of(chain)


STRETCHED = np.array([0.3, -1.2, 0.0, -1.9, -1.57, 0.0])
NEARLY_STRETCHED = with_joint(STRETCHED, 2, 0.05)
WRIST = np.array([0.3, -1.2, 1.6, -1.9, 0.0, 0.0])


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
    assert SPEED_UNITS.lower_threshold < condition(rig) < 4 * SPEED_UNITS.hard_stop
    assert rig.q[2] > 0.1, 'the elbow has not passed the singularity'


@pytest.mark.parametrize('start', [STRETCHED, NEARLY_STRETCHED], ids=['at', 'beside'])
@pytest.mark.parametrize('elbow', [1.0, -1.0])
def test_out_of_a_stretched_arm_the_tip_goes_where_it_is_asked(start, elbow):
    rig = ServoRig(ur5e(), start * [1, 1, elbow, 1, 1, 1], velocity_scaling=1.0)
    inwards = -outwards(rig)
    before = condition(rig)
    rig.drive(0.5, along(inwards, 0.1))
    moved = rig.drive(1.0, along(inwards, 0.1))
    assert condition(rig) < SPEED_UNITS.lower_threshold < before
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


@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('arm', [panda, ur5e])
def test_from_wherever_a_direction_has_led_its_opposite_leads_back(arm, seed):
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
