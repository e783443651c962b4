"""Intake of joint states: what tells something new."""

import time
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from ik_service.ros.motion.following.intake import JointStateIntake


class Measured:
    """Measured state that remembers what it was given."""

    def __init__(self):
        self.updates = []
        self.arm = SimpleNamespace(postures=SimpleNamespace(names=('a', 'b')))

    def update(self, names, positions, now, velocities=()):
        self.updates.append((list(positions), now))


@pytest.fixture
def intake():
    return JointStateIntake(Measured(), time.time_ns, lambda text: None)


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
