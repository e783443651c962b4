"""Execution of windows by controllers, in all kinds of trouble and in simulated time."""

import sys

from control_msgs.action import FollowJointTrajectory
import numpy as np
import pytest
from support.chains import REPOSITORY
from support.motion.rigs import panda_solver
from support.motion.storm import bounds_of
from support.motion.trajectory_controller import Version
from support.motion.window_storm import VelocityStorm, WindowStorm
from support.motion.wire import CHANNELS, GraphTime, READY, Rivals, Verdict, Wire
from trajectory_msgs.msg import JointTrajectoryPoint

from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.settings import FollowerState
from ik_service.ros.capabilities.playback import CommandedPlayback
from ik_service.ros.capabilities.trajectory_actions import follow_request

sys.path.insert(0, str(REPOSITORY / 'benchmarks'))
try:
    from wire import CASES
finally:
    del sys.path[0]
LATE = {'10 % of the messages lost', 'every fifth message 30 ms late', 'messages up to 10 ms late'}


@pytest.mark.parametrize(
    ('version', 'name'),
    [*((Version.REPLACES, name) for name in CASES), (Version.DEFERS, 'ordinary motion')],
)
def test_a_controller_that_replaces_executes_everything_within_the_limits(name, version):
    wire = Wire(version=version)
    CASES[name](wire)
    verdict = wire.judged(1.0)
    assert verdict.refused == 0
    assert verdict.outside <= 0.0
    assert verdict.lasts <= 0.5
    if name in LATE:  # of which the node does not know
        assert verdict.step <= 2.1
        return
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.01
    assert verdict.join <= 1e-3


@pytest.mark.parametrize('offset', [-0.005, 0.02])
def test_clocks_of_node_and_controller_may_differ(offset):
    wire = Wire(graph=GraphTime(offset=offset))
    CASES['ordinary motion'](wire)
    verdict = wire.judged(1.0)
    assert (verdict.refused, verdict.outside) == (0, 0.0)
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.2
    assert verdict.join <= 1e-3


def test_it_does_not_matter_from_which_state_the_controller_starts():
    measured, desired = (
        Wire(controller={'interpolate_from_desired_state': desired}) for desired in (False, True)
    )
    for wire in (measured, desired):
        CASES['ordinary motion'](wire)
    executed = [np.array([q for _, q in wire.executed]) for wire in (measured, desired)]
    np.testing.assert_allclose(*executed, atol=1e-9)


@pytest.mark.parametrize('name', CASES)
def test_a_controller_that_blends_executes_it_almost_as_evenly(name):
    wire = Wire(version=Version.BLENDS)
    CASES[name](wire)
    verdict = wire.judged(1.0)
    assert verdict.refused == 0
    assert verdict.outside <= 0.0
    assert verdict.step <= (1.9 if name in LATE else 1.2)


def test_windows_in_the_form_for_blending_are_executed_evenly_by_one_that_replaces():
    wire = Wire()
    wire.blends = True  # a wrong guess
    wire.run(0.3)
    wire.target(wire.q + 0.3)
    wire.run(2.0)
    verdict = wire.judged()
    assert verdict.refused == 0
    assert verdict.step < 8.0  # as they come too seldom
    assert np.abs(wire.velocity).max() < 1e-3


def test_a_controller_that_is_found_to_blend_during_a_motion_gets_windows_in_its_form():
    wire = Wire(version=Version.BLENDS, rate=500.0)
    wire.blends = False  # not known yet
    wire.run(0.3)
    wire.target(wire.q + np.array([0.5, 0.4, -0.3, 0.4, 0.3, 0.2, 0.6]))
    wire.run(0.3)
    wire.blends = True
    wire.run(0.1)
    wire.executed.clear()
    assert wire.run(2.0).judged().acceleration < 3.0, 'six otherwise'


def test_a_motion_waits_until_the_controller_has_answered():
    wire = Wire(version=Version.BLENDS)
    wire.awaited, wire.blends = True, False
    wire.run(0.3)
    wire.target(wire.q + 0.3)
    wire.run(0.5)
    assert wire.verdict.messages == 0
    assert wire.follower.state is FollowerState.AWAITING_CONTROLLER
    wire.awaited, wire.blends = False, True
    wire.run(0.3)
    wire.pause(0.3)  # from the other form, one that blends would leap
    assert wire.run(1.0).judged().step < 1.2
    assert wire.follower.state is FollowerState.REACHED


@pytest.mark.parametrize(('jerk', 'seconds'), [(False, 4.0), (True, 4.0), (False, 2.0)])
def test_a_motion_goes_on_from_where_the_last_window_has_ended_before_its_last_command(
    jerk, seconds
):
    """After a stall at a low speed, the windows take long to come back to the commands."""
    wire = Wire(bounds=bounds_of(panda_solver().chain) if jerk else None, acceleration_time=1.0)
    wire.lie = lambda q: q + 0.01 * (wire.real > 0.5)  # it sags
    wire.run(0.3)
    wire.trajectory(A, seconds=seconds)
    wire.run(0.7)
    wire.pause(0.4)
    wire.configure(velocity_scaling=0.01)
    wire.run(0.1).followers.stop()
    while wire.follower.active:
        last = wire.follower.commanded
        wire.run(0.01)
    wire.run(1.5)
    assert np.abs(wire.executed[-1][1] - last).max() > 0.01
    wire.target(A)
    wire.run(1.0)
    verdict = wire.judged(1.0)
    assert verdict.step <= 1.001
    assert verdict.join <= 1e-3
    assert verdict.acceleration <= 1.01
    assert (verdict.refused, verdict.gate) == (0, 0)


@pytest.mark.parametrize('interface', CHANNELS)
@pytest.mark.parametrize('rates', [(50.0, 500.0), (100.0, 50.0)])
def test_another_rate_in_motion_is_no_change_of_speed(interface, rates):
    before, after = rates
    wire = Wire(interface, rate=before)
    wire.run(0.3)
    wire.target(A)
    wire.run(0.3)
    assert np.abs(wire.velocity).max() > 0.3
    wire.configure(rate=after)
    verdict = wire.run(1.5).judged()
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.05
    assert verdict.gate == 0


def test_velocities_that_are_broken_off_end_with_zeros():
    wire = Wire('velocity_commands')
    wire.run(0.2).target(READY + 0.5)
    wire.run(0.2)
    assert np.abs(wire.velocity).max() > 0.1
    wire.followers.break_off('it is tested')
    wire.run(0.5)
    assert not wire.sent[-1][1].any()
    assert not np.abs(wire.velocity).any()
    wire.target(READY)
    wire.run(4.0)
    assert np.allclose(wire.chain.forward(wire.q), wire.chain.forward(READY), atol=5e-3)


@pytest.mark.parametrize('late', [0.0, 0.012])
@pytest.mark.parametrize('rate_of_states', [100, 12.5])
def test_an_arm_that_is_driven_by_velocities_stops_before_its_limits(late, rate_of_states):
    """The states, and the ticks, are late: the arm is farther than it was measured."""
    bounds = {name: JointBounds(acceleration=6.0) for name in panda_solver().chain.joint_names}
    wire = Wire('velocity_commands', bounds=MotionBounds(bounds), velocity_scaling=1.0)
    random, states = np.random.default_rng(0), []
    wire.gain, wire.late_tick = 1.0, lambda _: late * random.random()
    wire.lie = lambda q: states.append(q) or (None if len(states) % (100 / rate_of_states) else q)
    wire.run(0.5)
    lower, upper = wire.chain.lower, wire.chain.upper
    for joint, end in ((0, upper), (1, lower), (3, upper), (5, lower), (6, upper)):
        goal = np.clip(wire.q + random.uniform(-0.3, 0.3, 7), lower, upper)
        goal[joint] = end[joint]
        wire.target(goal)
        states.clear()
        wire.run(1.8)
        assert np.maximum(lower - states, states - upper).max() < 2e-3
    times, velocities = (np.array(values) for values in zip(*wire.sent, strict=True))
    allowed = wire.limits.acceleration_now * np.maximum(np.diff(times), 0.0095)[:, None]
    assert (np.abs(np.diff(velocities, axis=0)) <= 1.01 * allowed).all()
    assert wire.judged().gate == 0


def test_an_arm_with_coarse_encoders_does_not_go_to_and_fro_at_its_target():
    wire = Wire('velocity_commands', hold=True)
    wire.lie = lambda q: np.round(q / 0.01) * 0.01
    wire.run(0.3)
    wire.target(wire.q + np.array([0.3, 0.2, -0.1, 0.2, 0.1, 0.2, 0.3]))
    wire.run(3.0)
    wire.sent.clear()
    wire.run(0.5)
    assert len(wire.sent) > 40
    assert not np.any([velocity for _, velocity in wire.sent])
    assert np.abs(wire.q - wire.follower.commanded).max() < 0.01


def test_the_last_window_is_sent_after_a_stop():
    wire = Wire(version=Version.BLENDS)
    wire.run(0.3)
    wire.target(wire.q + 0.5)
    wire.run(0.3)
    wire.followers.stop()
    last = None
    while wire.follower.active:
        last = wire.follower.commanded
        wire.run(0.001)
    wire.run(0.5)
    assert np.abs(wire.executed[-1][1] - last).max() < 1e-6
    assert not wire.followers.default.active


@pytest.mark.parametrize('interface', CHANNELS)
@pytest.mark.parametrize('first', [True, False])
def test_a_command_that_another_node_overtakes_is_not_sent(interface, first):
    wire = Wire(interface)
    wire.monitor = Rivals(wire, since=0.35 if first else 0.6)
    wire.restart()
    wire.sending = lambda number: 0.5 if first or wire.real > 0.55 else 0.0
    wire.run(0.3)
    wire.target(A)
    wire.run(2.0)
    received = wire.verdict.messages
    assert not received if first else 10 < received < 30
    assert wire.follower.drop_reason == '/other commands the arm too'
    assert not wire.followers.default.active


@pytest.mark.parametrize('interface', CHANNELS)
def test_a_stall_between_the_time_of_a_tick_and_its_command(interface):
    wire = Wire(interface)
    stalls = iter([0.05])
    wire.monitor.rival = lambda: wire.pause(next(stalls, 0.0) if wire.real > 0.55 else 0.0) or ''
    wire.restart()
    wire.run(0.3)
    wire.target(A)
    assert wire.run(2.5).judged().step < 1.2
    assert next(stalls, None) is None


# Random events, judged from outside


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, True)])
def test_whatever_happens_a_controller_moves_within_the_limits(seed, jerk):
    storm = WindowStorm(panda_solver(), seed, jerk)
    storm.run(1500)
    seen = storm.windows
    assert seen.messages > 150
    figures = 'speed', 'step', 'acceleration', 'rest speed', 'rest acceleration'
    for figure in (*figures, 'jerk', 'rest jerk'):  # none without limits of jerk
        assert seen.worst.get(figure, 0.0) <= 1.021, (figure, seen.moments[figure])
    assert seen.worst['overrun'] <= 1e-6
    assert seen.worst['rest lasts'] < 5.0
    assert seen.over == 0
    assert storm.joints.gate.refused == 0


@pytest.mark.parametrize(
    'change', [{'acceleration_time': 5.0}, {'velocity_scaling': 0.1}], ids=str
)
def test_an_acceleration_that_is_no_longer_allowed_ends_within_the_jerk(change):
    wire = Wire('velocity_commands', bounds=bounds_of(panda_solver().chain))
    wire.run(0.3)
    wire.target(wire.q + np.array([0.5, 0.4, -0.3, 0.4, 0.3, 0.2, 0.6]))
    wire.run(0.2)
    wire.configure(**change)
    assert wire.run(2.0).judged().gate == 0


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (3, True)])
def test_whatever_happens_velocities_stay_within_the_limits_and_end_with_zeros(seed, jerk):
    storm = VelocityStorm(panda_solver(), seed, jerk)
    storm.run(1500)
    seen = storm.velocities
    assert seen.messages > 150
    assert seen.worst['velocity'] <= 1.0 + 1e-5
    assert seen.worst['acceleration'] <= 1.0 + 1e-4
    assert (seen.malformed, storm.ended) == (0, 0)
    assert storm.channel.refusals == 0


A = READY + np.array([1.2, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
B = READY + np.array([-0.8, 0.2, 0.6, -0.2, -0.4, 0.4, -0.9])
AT = 2.3  # a moment at which the arm moves at its speed, in real time since the start [s]


def moved(rate, frequency, interface='joint_trajectory'):
    """Return a wire on which the arm has moved there and back, with a turn on the way."""
    wire = Wire(interface, graph=GraphTime(rate, frequency))
    wire.run(2.0)
    wire.target(A)
    wire.run(0.5)
    wire.target(B)
    wire.run(4.0)
    return wire


def assert_smooth(wire):
    verdict = wire.judged()
    assert verdict.refused == 0
    assert verdict.step <= 1.001
    assert verdict.acceleration <= 1.25
    assert verdict.join < 1e-3


@pytest.mark.parametrize(
    ('frequency', 'rate'), [(10.0, 0.3), (10.0, 2.0), (100.0, 1.0), (1000.0, 2.0)]
)
def test_windows_are_executed_without_a_leap(frequency, rate):
    wire = moved(lambda t: rate, frequency)
    assert_smooth(wire)
    far = np.abs(wire.executed[-1][1] - READY).max()
    assert far > (0.5 if rate > 0.4 else 0.1)
    seconds = wire.graph.now - 1000.0
    assert wire.verdict.messages < 1.2 * 100.0 * seconds  # ticks in simulated time


RATES = {
    'slower': lambda t: 1.0 if t < AT else 0.5,
    'faster': lambda t: 1.0 if t < AT else 1.3,
    'waves': lambda t: 1.0 + 0.2 * np.sin(3.0 * t),
    'shaking': lambda t: 1.0 + 0.3 * np.sin(40.0 * t),
    'paused': lambda t: 0.0 if AT < t < AT + 1.5 else 1.0,
}


@pytest.mark.parametrize(
    ('frequency', 'change'), [*((10.0, change) for change in RATES), (1000.0, 'waves')]
)
def test_changes_of_the_rate_do_no_harm(frequency, change):
    assert_smooth(moved(RATES[change], frequency))


@pytest.mark.parametrize(('frequency', 'before'), [(10.0, 1.0), (1000.0, 0.5)])
def test_a_clock_that_is_twice_as_fast_at_once_is_like_a_late_tick(frequency, before):
    wire = moved(lambda t: before if t < AT else 2.0 * before, frequency)
    verdict = wire.judged()
    assert verdict.refused == 0
    assert verdict.step <= 1.2
    assert verdict.join <= 6e-3


@pytest.mark.parametrize(
    ('interface', 'rate'),
    [
        ('joint_command', 0.3),
        ('position_commands', 2.0),
        ('velocity_commands', 0.3),
        ('velocity_commands', 2.0),
    ],
)
def test_velocity_and_acceleration_count_in_simulated_time(interface, rate):
    wire = moved(lambda t: rate, 100.0, interface)
    ticks = np.diff([time for time, _ in wire.sent])
    assert np.median(ticks) == pytest.approx(0.01, rel=0.1)
    verdict = wire.judged()
    assert verdict.velocity <= 1.15  # by the jitter of the ticks
    assert np.abs(wire.q - READY).max() > 0.1


def test_nothing_is_sent_while_the_clock_stands():
    wire = moved(RATES['paused'], 100.0)
    still = [q for t, q in wire.executed if t > 1000.0 + AT]
    assert np.abs(still[-1] - still[0]).max() > 0.5  # it went on afterwards
    wire = Wire(graph=GraphTime(lambda t: 0.0 if t > 1.0 else 1.0, 100.0))
    wire.run(1.5)
    wire.target(A)
    wire.run(2.0)
    assert wire.verdict.messages == 0


def test_two_publishers_of_the_clock_do_not_fill_the_log():
    wire = Wire(graph=GraphTime(lambda t: 1.0, 100.0)).run(1.0)
    for number in range(20):
        wire.graph.set_back(5.0 + 50.0 * (number % 2))
        wire.run(0.03)
    assert wire.clock.jumps > 5
    assert wire.warnings == ['the simulated clock has jumped: all motion stops']


@pytest.mark.parametrize('interface', ['joint_trajectory', 'velocity_commands'])
def test_two_clocks_that_take_turns_end_the_motion(interface):
    """Every reading is a jump; an arm that is driven by velocities must not go on."""
    wire = Wire(interface, graph=GraphTime(lambda t: 1.0, 100.0))
    wire.run(1.0)
    wire.target(A)
    wire.run(0.2)
    graph, advance = wire.graph, wire.graph.advance

    def two_clocks(real, *passed):
        advance(real, *passed)
        graph.shown = graph.now - graph.now % 0.005 + 5.0 * (int(200.0 * graph.now) % 2)

    graph.advance = two_clocks
    wire.run(0.5)
    there = wire.q
    assert np.abs(wire.run(0.3).q - there).max() < 1e-6
    assert wire.warnings == ['the simulated clock has jumped: all motion stops']
    assert wire.follower.idle


@pytest.mark.parametrize('ahead', [0.5, -0.5, 0.05, -0.05])
@pytest.mark.parametrize('frequency', [10.0, 100.0, 250.0])
def test_a_second_clock_times_nothing(ahead, frequency):
    """The motion ends by the clock that was there before, which is that of the controller."""
    wire = Wire(graph=GraphTime(lambda t: 1.0, 100.0))
    wire.run(1.0)
    wire.target(A)
    wire.run(0.2)
    graph, advance = wire.graph, wire.graph.advance
    other = GraphTime(graph.rate, frequency, now=graph.now, _next=graph.now)

    def two_clocks(*passed):
        advance(*passed)
        before = other.shown
        other.advance(*passed)
        if other.shown != before:
            graph.shown = other.shown + ahead

    graph.advance = two_clocks
    assert_smooth(wire.run(1.0))
    assert wire.follower.idle
    assert wire.warnings == ['the simulated clock has jumped: all motion stops']


def test_a_clock_that_leaps_is_like_a_late_tick_and_not_fast_for_a_while():
    wire = Wire('velocity_commands', graph=GraphTime(lambda t: 1.0, 100.0))
    wire.run(1.0)
    wire.trajectory(A, B, seconds=3.0)
    wire.run(0.4)
    wire.graph.now += 0.9
    since = len(wire.sent)
    wire.run(0.4)
    times, velocities = (np.array(values) for values in zip(*wire.sent[since:], strict=True))
    lasting = times[3:] - times[:-3]
    change = np.abs(velocities[3:] - velocities[:-3]) / (lasting + 0.01)[:, None]
    assert (change / wire.limits.acceleration_now).max() < 1.1


@pytest.mark.parametrize('frequency', [10.0, 100.0])
def test_a_clock_that_is_set_back_ends_the_motion(frequency):
    wire = Wire(graph=GraphTime(lambda t: 1.0, frequency))
    wire.run(1.0)
    wire.target(A)
    wire.run(0.4)
    assert np.abs(wire.velocity).max() > 0.5
    wire.graph.set_back(5.0)
    wire.run(1.5)
    assert any('jumped' in text for text in wire.warnings)
    assert wire.follower.idle
    there = wire.q
    wire.executed = wire.executed[-1:]
    wire.run(0.5)
    assert np.abs(wire.q - there).max() < 1e-6
    wire.verdict = Verdict()
    wire.target(READY)
    wire.run(3.0)
    np.testing.assert_allclose(wire.q, READY, atol=1e-2)
    assert_smooth(wire)


def test_velocities_end_at_once_where_the_clock_begins_anew():
    wire = Wire('velocity_commands', graph=GraphTime(lambda t: 1.0, 100.0))
    wire.run(1.0)
    wire.target(A)
    wire.run(0.25)
    there = wire.q
    wire.graph.set_back(0.0)
    wire.run(0.5)
    assert np.abs(wire.q - there).max() < 0.4  # 0.26 by the ramp
    assert not wire.sent[-1][1].any()


def test_nothing_moves_before_windows_can_begin_after_zero():
    graph = GraphTime(lambda t: 1.0, 100.0)
    graph.now = graph.shown = 0.0
    graph.set_back(0.0)
    wire = Wire(graph=graph)
    wire.run(0.2)
    wire.target(A)
    wire.run(0.25)
    assert wire.verdict.messages == 0
    wire.run(1.0)
    assert wire.verdict.messages > 50
    assert_smooth(wire)


@pytest.mark.parametrize('rate', [0.5, 2.0])
def test_a_trajectory_begins_at_its_stamp_in_simulated_time(rate):
    wire = Wire(graph=GraphTime(lambda t: rate, 100.0))
    wire.run(2.0)
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = list(wire.names)
    start = wire.graph.now + 2.0
    goal.trajectory.header.stamp.sec = int(start)
    goal.trajectory.header.stamp.nanosec = int(1e9 * (start % 1.0))
    for seconds, q in ((0, wire.q), (1, wire.q + 0.2)):
        point = JointTrajectoryPoint(positions=q.tolist())
        point.time_from_start.sec = seconds
        goal.trajectory.points.append(point)
    request = follow_request(goal)
    playback = CommandedPlayback(request, wire.followers.default, lambda: None)
    wire.run(5.0 / rate)
    assert playback.outcome is not None
    moving = [t for t, q in wire.executed if np.abs(q - READY).max() > 1e-4]
    assert moving[0] - start == pytest.approx(0.03, abs=0.04)


def test_after_a_new_description_a_sagging_arm_is_moved_from_where_it_is_held():
    wire = Wire('joint_command')
    wire.lie = lambda q: q - 0.002
    wire.run(0.2).target(READY + 0.1)
    before, (_, last) = wire.run(3.0).followers, wire.sent[-1]
    with before.giving_way():
        wire.restart()
    wire.run(0.1).followers.take_over(before)
    sent = len(wire.sent)
    wire.run(0.5).target(READY)
    wire.run(0.5)
    np.testing.assert_allclose(wire.sent[sent][1], last, atol=1e-9)
