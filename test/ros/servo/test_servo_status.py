"""Status that the servo topics show while the arm does not rest yet."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.following.servo.status import NO_WARNING
from ik_service.following.settings import FollowerState
from ik_service.ros.servo.servo_interface import ServoInterface


@pytest.mark.parametrize(
    ('state', 'message'),
    [
        (FollowerState.AWAITING_REST, FollowerState.AWAITING_REST.value),
        (FollowerState.SERVO, NO_WARNING.message),
    ],
)
def test_an_arm_that_is_waited_for_is_told(state, message):
    followers = SimpleNamespace(default=SimpleNamespace(follower=SimpleNamespace(state=state)))
    servo = ServoInterface.__new__(ServoInterface)
    servo._invalid_until, servo._paused = 0.0, False
    servo._aim = SimpleNamespace(end=None, status=NO_WARNING)
    servo._followers = lambda: followers
    assert servo._status_at(1.0).message == message
