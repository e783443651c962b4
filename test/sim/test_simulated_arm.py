"""The simulated arm: commands, limits, faults and what it publishes."""

import numpy as np
import pytest
from support.chains import arm

import ik_service as iks
from ik_service import Robot
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.motion.target_follower import TargetFollower
from ik_service.sim.simulated_arm import CarriedSpeed, check_start, ENGINES, SimulatedArm
from ik_service.solvers.solver import Solver

ARM = Robot.from_urdf("""<robot name="arm">
  <link name="base"/><link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="a"/>
    <limit lower="0" upper="0.4" velocity="0.1" effort="1"/></joint>
  <joint name="turn" type="continuous"><parent link="a"/><child link="b"/></joint>
  <joint name="left" type="revolute"><parent link="b"/><child link="c"/>
    <limit lower="-1" upper="2" velocity="2" effort="1"/></joint>
  <joint name="right" type="revolute"><parent link="b"/><child link="d"/>
    <limit lower="-5" upper="5" velocity="2" effort="1"/>
    <mimic joint="left" multiplier="-2" offset="0.5"/></joint>
</robot>""")


def values(arm):
    return dict(zip(arm.joint_names, arm.positions, strict=True))


def test_starts_in_the_middle_or_where_it_is_told():
    arm = SimulatedArm(ARM)
    assert values(arm) == pytest.approx({'lift': 0.2, 'turn': 0.0, 'left': 0.5, 'right': -0.5})
    arm = SimulatedArm(ARM, {'left': 1.0, 'lift': 9.0})
    assert values(arm) == pytest.approx({'lift': 0.4, 'turn': 0.0, 'left': 1.0, 'right': -1.5})
    arm.step(1.0)
    assert values(arm)['left'] == 1.0, 'and stays there'
    assert arm.efforts is None, 'it has no mass'


def test_approaches_a_command_exponentially():
    arm = SimulatedArm(ARM, time_constant=0.5)
    arm.command(['turn'], [1.0])
    for _ in range(50):
        arm.step(0.01)
    assert values(arm)['turn'] == pytest.approx(1.0 - np.exp(-1.0), abs=1e-9)


def test_keeps_the_velocity_limits_and_reports_velocities():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['lift', 'left'], [0.4, 2.0])
    before = arm.positions
    arm.step(0.1)
    moved = arm.positions - before
    assert moved == pytest.approx([0.01, 0.0, 0.1, -0.2]), 'right has to keep its limit, too'
    assert arm.velocities == pytest.approx(moved / 0.1)
    for _ in range(30):
        arm.step(0.1)
    assert values(arm) == pytest.approx({'lift': 0.4, 'turn': 0.0, 'left': 2.0, 'right': -3.5})
    assert arm.velocities == pytest.approx(np.zeros(4))


@pytest.mark.parametrize('time_constant', [0.0, 0.05])
def test_never_leaves_the_limits(time_constant):
    random = np.random.default_rng(1)
    arm = SimulatedArm(ARM, time_constant=time_constant)
    for _ in range(500):
        arm.command(['lift', 'left'], random.uniform(-5.0, 5.0, 2))
        arm.step(random.uniform(0.0, 0.5))
        now = values(arm)
        assert 0.0 <= now['lift'] <= 0.4
        assert -1.0 <= now['left'] <= 2.0
        assert now['right'] == pytest.approx(-2.0 * now['left'] + 0.5)


def test_a_mimic_joint_may_be_named_and_follows_all_the_same():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['right', 'left'], [3.0, 0.6])
    arm.step(1.0)
    assert values(arm)['right'] == pytest.approx(-0.7)


def test_joints_that_are_not_named_keep_their_targets():
    arm = SimulatedArm(ARM, time_constant=0.0)
    arm.command(['turn'], [3.0])
    arm.command(['left'], [0.0])
    arm.step(10.0)
    assert values(arm)['turn'] == 3.0


@pytest.mark.parametrize(
    ('command', 'error', 'message'),
    [
        ((['left', 'nose'], [1.0, 1.0]), UnknownJointError, 'nose'),
        ((['left'], [1.0, 1.0]), ArgumentError, '1 joints, but has 2'),
        ((['turn', 'left'], [1.0, float('nan')]), ArgumentError, "'left' is nan"),
        ((['turn'], [1.0], [1.0, 2.0]), ArgumentError, 'has 2 velocities'),
        ((['turn'], [1.0], [float('nan')]), ArgumentError, "velocity of 'turn' is nan"),
    ],
)
def test_a_bad_command_changes_nothing(command, error, message):
    arm = SimulatedArm(ARM)
    with pytest.raises(error, match=message):
        arm.command(*command)
    before = arm.positions
    arm.step(1.0)
    assert arm.positions.tolist() == before.tolist()


@pytest.mark.parametrize('dt', [0.0, -1.0])
def test_time_does_not_run_backwards(dt):
    arm = SimulatedArm(ARM)
    arm.command(['turn'], [1.0])
    arm.step(dt)
    assert values(arm)['turn'] == 0.0


def test_follows_a_moving_command_by_its_speed_until_no_successor_comes():
    arm = SimulatedArm(ARM, time_constant=0.05)
    for tick in range(1, 101):
        arm.command(['turn'], [0.01 * tick], [1.0])
        arm.step(0.01)
    assert values(arm)['turn'] == pytest.approx(1.0, abs=0.01), 'and not 0.05 behind'
    furthest = 0.0
    for _ in range(100):
        arm.step(0.01)
        furthest = max(furthest, values(arm)['turn'])
    assert furthest < 1.05
    assert values(arm)['turn'] == pytest.approx(1.0, abs=1e-6)


def test_reset_puts_it_where_it_started_and_it_stays_there():
    arm = SimulatedArm(ARM, {'left': 1.0})
    start = arm.positions
    arm.command(['turn', 'left'], [1.0, 0.0], [0.5, 0.5])
    arm.step(0.3)
    arm.reset()
    assert arm.positions.tolist() == start.tolist()
    arm.step(1.0)
    assert arm.positions.tolist() == start.tolist()


@pytest.mark.parametrize('joint', ['left', 'right'])
def test_a_stuck_joint_stays_with_what_mimics_it(joint):
    arm = SimulatedArm(ARM)
    before = values(arm)
    arm.block(joint)
    arm.command(['turn', 'left'], [1.0, 2.0])
    arm.step(2.0)
    after = values(arm)
    assert after['turn'] == pytest.approx(1.0)
    assert (after['left'], after['right']) == (before['left'], before['right'])
    arm.block('')
    arm.step(5.0)
    assert values(arm)['left'] == pytest.approx(2.0)


def test_refuses_to_block_an_unknown_joint():
    with pytest.raises(UnknownJointError, match='nose'):
        SimulatedArm(ARM).block('nose')


def test_an_arm_with_mass_has_an_effort_for_every_drive():
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    arm = SimulatedArm(ARM, engine='mujoco')
    arm.command(['left'], [1.0])
    arm.step(0.05)
    efforts = dict(zip(arm.joint_names, arm.efforts, strict=True))
    assert efforts['left'] > 0.001
    assert efforts['right'] == 0.0, 'it has no drive'


LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
HAND = f"""
<robot name="hand">
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="left" type="revolute">
    <parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{LIMIT}
  </joint>
  <joint name="right" type="prismatic">
    <parent link="a"/><child link="c"/><axis xyz="1 0 0"/>{LIMIT}
    <mimic joint="left" multiplier="-0.5" offset="0.1"/>
  </joint>
  <joint name="held" type="fixed"><parent link="c"/><child link="d"/></joint>
</robot>
"""


@pytest.fixture(scope='module')
def robot():
    return iks.Robot.from_urdf(HAND)


@pytest.mark.parametrize(
    'positions',
    [{}, {'left': 0.4}, {'left': 0.4, 'right': -0.1}, {'right': -0.1, 'left': 0.4}, {'other': 3}],
)
def test_mimic_joints_may_be_given_where_they_follow_to(robot, positions):
    check_start(robot, positions, 'start')


@pytest.mark.parametrize(
    ('positions', 'message'),
    [
        (
            {'right': -0.1},
            r'start.right: cannot be given alone, as right follows left .*: give that one',
        ),
        (
            {'left': 0.4, 'right': 0.3},
            r'start.right: has to be -0.1 \[m\], not 0.3, as right follows left',
        ),
        ({'left': 1.2}, r'start.left: has to be from -1 to 1 \[rad\], not 1.2'),
    ],
)
def test_other_positions_are_refused_with_what_is_right(robot, positions, message):
    with pytest.raises(ArgumentError, match=message):
        check_start(robot, positions, 'start')


PERIOD = 0.01


def gone(carried, time=PERIOD, steps=5):
    """How far the speeds lead within some time."""
    return sum(carried.step(time / steps) * (time / steps) for _ in range(steps))


def stream(way, speed, intervals):
    """How far each command of a stream leads, until the next one comes after its interval."""
    carried, ways = CarriedSpeed(1), []
    for interval in intervals:
        carried.command([0], np.array([way]), np.array([speed]))
        ways.append(float(gone(carried, interval)[0]))
    return np.array(ways)


def test_positions_that_move_as_fast_as_they_say_go_on_with_that_speed():
    assert stream(0.01, 1.0, [PERIOD] * 20) == pytest.approx(np.full(20, 0.01))


def test_speeds_that_the_positions_do_not_bear_out_lead_no_farther_than_the_positions():
    ways = stream(0.01, 1.5, [PERIOD] * 100)
    assert ways.sum() == pytest.approx(1.0, rel=0.02)
    assert ways[-1] == pytest.approx(0.01, rel=0.02)


def test_they_are_slower_throughout_and_do_not_stop_on_the_way():
    carried = CarriedSpeed(1)
    for _ in range(50):
        carried.command([0], np.array([0.01]), np.array([1.5]))
        speeds = [float(carried.step(0.001)[0]) for _ in range(10)]
    assert speeds == pytest.approx([1.0] * 10, rel=0.02)


def test_commands_that_come_early_and_late_lead_as_far_as_punctual_ones():
    assert stream(0.01, 1.0, [0.008, 0.012] * 50).sum() == pytest.approx(1.0, rel=0.01)


def test_a_command_without_a_successor_leads_a_way_and_a_half_on_at_most():
    ways = stream(0.01, 1.0, [*[PERIOD] * 200, 0.09])
    assert ways[-1] == pytest.approx(0.015, rel=0.01)


def test_speeds_against_the_way_of_the_positions_lead_nowhere():
    assert not stream(-0.01, 1.0, [PERIOD] * 10).any()
    assert not stream(0.0, 1.0, [PERIOD] * 10).any()


def test_a_command_after_a_pause_begins_anew():
    carried = CarriedSpeed(1)
    for pause in (PERIOD, PERIOD, 1.0):
        carried.command([0], np.array([0.01]), np.array([1.0]))
        gone(carried, pause)
    carried.command([0], np.array([0.03]), np.array([1.0]))
    assert gone(carried, 0.5, 500)[0] == pytest.approx(0.03)


def test_joints_that_are_not_named_keep_their_speeds():
    carried = CarriedSpeed(2)
    carried.command([0, 1], np.array([0.01, 0.02]), np.array([1.0, 1.0]))
    carried.command([0], np.array([0.0, 0.0]), np.zeros(2))
    assert gone(carried, 0.05) == pytest.approx([0.0, 0.02])


STEP = 1e-3
TICK = 10  # of commands and of joint states, in steps
SPEED, RUNNING, BRAKING, AFTERWARDS = 0.2, 1.0, 0.5, 0.5
START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, 0.785),
    'ur5e': (0.0, -1.571, 1.571, -1.571, -1.571, 0.0),
}
END = RUNNING + BRAKING
WAY = SPEED * (RUNNING + 0.5 * BRAKING)


def way(time):
    """How far the target has gone: at full speed, then with a constant deceleration."""
    braked = np.clip(time - RUNNING, 0.0, BRAKING)
    return SPEED * (np.clip(time, 0.0, RUNNING) + braked - 0.5 * braked**2 / BRAKING)


def overshoot(name, engine, rate, sending):
    """
    Follow a target along −y and return how far commands and arm go beyond its end [mm].

    :param rate: of the target [Hz].
    :param sending: time from a tick to the arrival of its command, in steps.
    """
    chain = arm(name)
    start = np.array(START[name])
    follower = TargetFollower(Solver(chain), velocity_scaling=0.5)
    simulated = SimulatedArm(
        chain.robot, dict(zip(chain.joint_names, start, strict=True)), engine=engine
    )
    places = [simulated.joint_names.index(joint) for joint in chain.joint_names]
    T_start, every = chain.forward(start), round(1.0 / (rate * STEP))

    def beyond(q):
        return 1e3 * (T_start[1, 3] - chain.forward(q)[1, 3] - WAY)

    def pose(time):
        T = T_start.copy()
        T[1, 3] -= way(time)
        return T

    commanded, gone, waiting = [], [], {}
    for step in range(-200, round((END + AFTERWARDS) / STEP)):
        now = step * STEP
        if step == -150:
            follower.set_target(pose(0.0))
        if step % TICK == 0:
            follower.set_measured(simulated.positions[places], now)
        if step >= 0 and step % every == 1:
            follower.set_target(pose(now - STEP), at=now - STEP, arrived=now)
        if step % TICK == 0:
            command = follower.tick(now)
            if command is not None:
                follower.mark_sent(sending * STEP)
                waiting[step + sending] = command
                commanded.append(beyond(command.q))
        if step in waiting:
            command = waiting.pop(step)
            simulated.command(chain.joint_names, command.q, command.velocity)
        simulated.step(STEP)
        gone.append(beyond(simulated.positions[places]))
    assert gone[-1] == pytest.approx(0.0, abs=0.05), 'and it comes to rest there'
    return max(commanded), max(gone)


@pytest.mark.parametrize('engine', ENGINES)
@pytest.mark.parametrize(
    ('name', 'rate', 'sending'),
    [
        ('panda', 50.0, 0),
        ('panda', 20.0, 2),
        ('panda', 100.0, 2),
        ('ur5e', 50.0, 3),
    ],
)
def test_an_arm_does_not_go_beyond_a_target_that_brakes(name, engine, rate, sending):
    if engine == 'mujoco':
        pytest.importorskip('mujoco', reason='the extra sim is not installed')
    commanded, gone = overshoot(name, engine, rate, sending)
    assert commanded < 0.01
    assert gone < 0.1
