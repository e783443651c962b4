"""Clients and servers of actions."""

import time

from control_msgs.action import FollowJointTrajectory
import pytest
from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from support.harness import until

from ik_service.ros.common.actions import DeferredActionServer, ThreadSafeActionClient

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


def test_a_result_is_sent_although_the_servers_executor_spins_no_more(bench):
    goals, asked = [], []

    class Server(DeferredActionServer):
        async def _execute_get_result_request(self, request):
            await super()._execute_get_result_request(request)
            asked.append(request)

    node = Node('serving', namespace=bench.namespace, context=bench.node.context)
    executor = SingleThreadedExecutor(context=bench.node.context)
    executor.add_node(node)
    server = Server(node, FollowJointTrajectory, 'play', goals.append, lambda _: True, None)
    client = ThreadSafeActionClient(bench.node, FollowJointTrajectory, 'play')
    until(client.server_is_ready, what='the action')
    accepted = client.send_goal_async(FollowJointTrajectory.Goal())
    until(lambda: executor.spin_once(0.02) or (goals and accepted.done()), what='the goal')
    result = accepted.result().get_result_async()
    until(lambda: executor.spin_once(0.02) or asked, what='the request for the result')
    executor.spin_once(0.1)  # as it waits it takes charge of what rclpy leaves to it
    server.finish(goals[0], goals[0].abort, FollowJointTrajectory.Result(error_string='the end'))
    until(result.done, what='the result')
    assert result.result().result.error_string == 'the end'
    client.destroy()
    server.destroy()
    node.destroy_node()
    executor.shutdown()
