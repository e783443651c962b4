"""Client of the action of a real controller."""

from __future__ import annotations

import threading
from typing import Any

from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionClient
from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node


class ControllerClient(ActionClient):
    """
    Client of a controller's action that any thread may use.

    rclpy's own one drops an answer that another thread takes before the request is noted.

    :param node: the node.
    :param name: name of the action.
    :param group: the callbacks' group.
    :ivar name: name of the action.
    :ivar lock: to be held while something is sent.
    """

    def __init__(self, node: Node, name: str, group: CallbackGroup | None) -> None:
        self.name, self.lock = name, threading.RLock()
        super().__init__(node, FollowJointTrajectory, name, callback_group=group)

    async def execute(self, taken_data: Any) -> None:  # noqa: ANN401 - rclpy has no type for it
        """
        Take answers, results and feedback.

        :param taken_data: what has come.
        """
        with self.lock:
            await super().execute(taken_data)

    def servers(self) -> frozenset[bytes]:
        """
        Return what tells the servers of the action from each other, of all that are known.

        One that was killed is among them until DDS gives it up, after up to 20 s.
        """
        infos = self._node.get_publishers_info_by_topic(f'{self.name}/_action/status')
        return frozenset(bytes(info.endpoint_gid) for info in infos)
