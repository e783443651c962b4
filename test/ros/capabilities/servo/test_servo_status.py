"""Status that the servo topics show while the arm does not rest yet."""

from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from ik_service.motion.servo.servo_goal import NO_WARNING
from ik_service.motion.settings import FollowerState
from ik_service.ros.capabilities.servo import ServoInterface


@pytest.mark.parametrize(
    ('state', 'message'),
    [
        (FollowerState.AWAITING_REST, FollowerState.AWAITING_REST.value),
        (FollowerState.SERVO, NO_WARNING.message),
    ],
)
def test_an_arm_that_is_waited_for_is_told(state, message):
    following = SimpleNamespace(follower=SimpleNamespace(state=state))
    followers = SimpleNamespace(of=lambda group: {'left_arm': following}[group])
    interface = ServoInterface.__new__(ServoInterface)
    interface._paused = False
    interface._followers = lambda: followers
    servo = SimpleNamespace(
        group='left_arm', invalid_until=0.0, goal=SimpleNamespace(end=None, status=NO_WARNING)
    )
    assert interface._status_at(servo, 1.0).message == message
