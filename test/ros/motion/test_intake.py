"""Intake of joint states, what tells something new, and of targets, when they were true."""

import time
from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState

from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.intake import (
    JointStateIntake,
    queue_delay,
    StampConverter,
    TargetIntake,
)
from ik_service.ros.scene.frames import Frames


class Measured:
    """Measured state that remembers what it was given."""

    def __init__(self):
        self.updates = []
        self.arm = SimpleNamespace(postures=SimpleNamespace(names=('a', 'b')))

    def update(self, names, positions, now, velocities=()):
        self.updates.append((list(positions), now))


@pytest.fixture
def intake():
    return JointStateIntake(Measured(), MotionClock(), lambda text: None)


def state(stamp, *positions, names=('a', 'b')):
    message = JointState(name=list(names), position=list(positions))
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


def test_a_second_source_with_the_same_stamps_is_not_overlooked(intake):
    stamp = time.time_ns()
    for number in range(3):
        assert intake.take(state(stamp + number * 10**7, 0.0, 1.4))
        assert intake.take(state(stamp + number * 10**7, 0.0, 1.1))
    times = [now for _, now in intake.measured.updates]
    assert times[0] == times[1] < times[2] == times[3], 'both were measured at the same time'


@pytest.mark.parametrize(
    'message',
    [
        lambda stamp: state(stamp, 0.0, 1.4),
        lambda stamp: state(stamp, 0.001, 1.399),
        lambda stamp: state(stamp),
        lambda stamp: state(stamp, float('nan'), 1.4),
        lambda stamp: state(stamp - 10**6, 0.0, 1.1),
    ],
    ids=['doubled', 'noise', 'without positions', 'not a number', 'older'],
)
def test_a_state_that_is_not_newer_tells_nothing(intake, message):
    stamp = time.time_ns()
    assert intake.take(state(stamp, 0.0, 1.4))
    assert not intake.take(message(stamp))
    assert len(intake.measured.updates) == 1


def test_states_of_other_joints_have_stamps_of_their_own(intake):
    stamp = time.time_ns()
    assert intake.take(state(stamp, 0.0, 1.4))
    assert intake.take(state(stamp, 0.5, names=('gripper',)))


NOW = 1_790_000_000_000_000_000


class Stamped:
    """A watch, and a clock that is set by hand [ns]."""

    def __init__(self, now=NOW):
        self.now = now
        self.converter = StampConverter(lambda: self.now)

    def see(self, stamp, arrival=50.0, names=('a', 'b'), waited=0.0):
        message = JointState(name=names)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        return self.converter.measured_at(message, arrival, waited)


@pytest.fixture
def stamped():
    return Stamped()


def seconds(number):
    return round(number * 1e9)


def test_without_a_stamp_the_time_of_arrival_counts(stamped):
    assert [stamped.see(0, 7.0), stamped.see(0, 8.0)] == [7.0, 8.0]
    assert stamped.converter.fault == ''


def test_the_age_is_subtracted_from_the_arrival(stamped):
    assert stamped.see(NOW - seconds(2.5), 50.0) == pytest.approx(47.5)
    assert stamped.converter.fault == ''


def test_the_delay_in_the_queue_counts(stamped):
    assert stamped.see(0, 50.0, waited=0.3) == pytest.approx(49.7)
    assert stamped.see(NOW - seconds(0.4), 50.0, waited=0.3) == pytest.approx(49.6)
    assert stamped.see(NOW + seconds(60.0), 50.0, waited=0.3) == pytest.approx(49.7)


@pytest.mark.parametrize(
    ('late', 'expected'), [(0.25, 0.25), (-1.0, 0.0), (1e4, 0.0), (None, 0.0)]
)
def test_the_queue_delay_comes_from_the_middleware(late, expected):
    received = 0 if late is None else time.time_ns() - seconds(late)
    assert queue_delay({'received_timestamp': received}) == pytest.approx(expected, abs=0.05)


def test_a_stamp_from_the_future_counts_from_its_arrival(stamped):
    assert stamped.see(NOW + seconds(60.0), 50.0) == 50.0
    assert stamped.converter.fault == (
        'stamped 60.00 s ahead of this clock; the clocks of arm and node must agree'
    )


@pytest.mark.parametrize(('step', 'fault'), [(0.0, 'stands still'), (-0.02, 'run backwards')])
def test_a_state_that_is_not_newer_is_ignored(stamped, step, fault):
    stamped.see(NOW)
    for number in range(1, 4):
        assert stamped.see(NOW + number * seconds(step)) is None
        assert fault in stamped.converter.fault
    stamped.now += seconds(0.1)
    assert stamped.see(NOW + seconds(0.1)) is not None
    assert stamped.converter.fault == ''


def test_each_set_of_joints_has_stamps_of_its_own(stamped):
    stamped.see(NOW)
    assert stamped.see(NOW - seconds(0.01), names=('gripper',)) is not None


def test_after_a_reset_of_the_simulated_time_stamps_may_begin_anew():
    stamped = Stamped(seconds(100.0))
    stamped.see(seconds(100.0))
    stamped.now = seconds(1.0)
    assert stamped.see(seconds(1.0)) is not None


def test_a_clock_that_ran_ahead_may_be_corrected(stamped):
    stamped.see(NOW + seconds(3600.0))
    stamped.now += seconds(0.02)
    assert stamped.see(NOW + seconds(0.01)) is not None


def test_a_clock_that_stays_ahead_may_be_corrected(stamped):
    stamped.see(NOW + seconds(3600.0))
    assert stamped.see(NOW + seconds(10.0), 51.0) == 51.0
    assert stamped.see(NOW + seconds(10.02), 51.02) == 51.02
    assert stamped.see(NOW + seconds(10.01), 51.03) is None


def test_different_time_sources_are_explained(stamped):
    stamped.see(seconds(12.3))
    assert 'use_sim_time' in stamped.converter.fault


def test_a_target_in_simulated_time_was_true_at_its_stamp_however_late_it_arrives():
    step, real, times = 0.05, [0.0], []

    def shown():
        return seconds(100.0 + step * (real[0] // step))

    simulated = SimpleNamespace(
        ros_time_is_active=True, now=lambda: SimpleNamespace(nanoseconds=shown())
    )
    clock = MotionClock(simulated, lambda: real[0])
    follower = SimpleNamespace(set_target=lambda T, at, *_: times.append(at))
    targets = TargetIntake(Measured(), SimpleNamespace(base_link='base'), clock, Frames())
    message = PoseStamped()
    message.header.frame_id, message.pose.orientation.w = 'base', 1.0
    for k in range(2000):
        real[0] = 1e-3 * k + 2e-4
        clock.now()
        if k % 50 == (5, 20, 12)[k // 50 % 3]:
            stamp = message.header.stamp
            stamp.sec, stamp.nanosec = divmod(shown(), 10**9)
            targets.give(message, 0.0, follower, 0.0)
    assert np.diff(times[20:]) == pytest.approx(step, abs=1e-3)
