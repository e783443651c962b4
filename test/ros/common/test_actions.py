"""Client of an action whose answers arrive before the request is noted."""

import time

from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.action import ActionServer
from support.harness import until

from ik_service.ros.common.actions import ThreadSafeActionClient

pytestmark = pytest.mark.dds


def test_answers_that_arrive_before_the_request_is_noted_are_not_lost(bench, monkeypatch):
    from rclpy.impl.implementation_singleton import rclpy_implementation

    def execute(handle):
        handle.succeed()
        return FollowJointTrajectory.Result(error_string='done')

    server = ActionServer(bench.node, FollowJointTrajectory, 'play', execute)
    client = ThreadSafeActionClient(bench.node, FollowJointTrajectory, 'play')
    until(client.server_is_ready, what='the action')
    for request in ('send_goal_request', 'send_result_request'):
        send = getattr(rclpy_implementation.ActionClient, request)

        def late(handle, message, send=send):
            number = send(handle, message)
            time.sleep(0.3)  # while the answer arrives
            return number

        monkeypatch.setattr(rclpy_implementation.ActionClient, request, late)
    accepted = client.send_goal_async(FollowJointTrajectory.Goal())
    until(accepted.done, what='the answer')
    result = accepted.result().get_result_async()
    until(result.done, what='the result')
    assert result.result().result.error_string == 'done'
    client.destroy()
    server.destroy()
