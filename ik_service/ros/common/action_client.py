"""Client of an action that any thread may use."""

from __future__ import annotations

from collections.abc import Callable
import threading
from typing import Any

from rclpy.action import ActionClient
from rclpy.action.client import ClientGoalHandle
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.task import Future


class ThreadSafeActionClient(ActionClient):
    """
    Client of an action that any thread may use.

    rclpy's own one sends a request and notes it afterwards: an answer that the executor's thread
    takes in between is dropped as unexpected, and nobody hears of it again.

    :param node: the node.
    :param kind: type of the action.
    :param name: name of the action.
    :param group: the callbacks' group; None for the node's.
    :ivar name: name of the action.
    """

    def __init__(
        self, node: Node, kind: type, name: str, group: CallbackGroup | None = None
    ) -> None:
        self.name, self._noting = name, threading.RLock()
        super().__init__(node, kind, name, callback_group=group)

    def send_goal_async(
        self,
        goal: Any,  # noqa: ANN401 - of any action
        feedback_callback: Callable[[Any], object] | None = None,
        goal_uuid: Any = None,  # noqa: ANN401
    ) -> Future:
        """
        Send a goal.

        :param goal: the goal, of the action's type.
        :param feedback_callback: called with each message of feedback.
        :param goal_uuid: identifier of the goal; None for a random one.
        :returns: future handle of the goal.
        """
        with self._noting:
            return super().send_goal_async(goal, feedback_callback, goal_uuid)

    def _cancel_goal_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._noting:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle: ClientGoalHandle) -> Future:
        with self._noting:
            return super()._get_result_async(goal_handle)

    async def execute(self, taken_data: Any) -> None:  # noqa: ANN401 - rclpy has no type for it
        """
        Take answers, results and feedback.

        :param taken_data: what has come.
        """
        with self._noting:
            await super().execute(taken_data)

    def servers(self) -> frozenset[bytes]:
        """
        Return what tells the servers of the action from each other, of all that are known.

        One that was killed is among them until DDS gives it up, after up to 20 s.
        """
        infos = self._node.get_publishers_info_by_topic(f'{self.name}/_action/status')
        return frozenset(bytes(info.endpoint_gid) for info in infos)
