"""Services ``~/stop`` and ``~/enable``."""

from __future__ import annotations

from collections.abc import Callable
import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ik_service.ros.following.follower_interface import FollowerInterface


class StopServices:
    """
    Services that stop the arm, and switch following off and on.

    :param node: the node that gets the services.
    :param following: returns the follower in use; None as long as there is no arm.
    :ivar group: callback group; for an executor of its own, so that a stop waits for nothing.
    """

    def __init__(self, node: Node, following: Callable[[], FollowerInterface | None]) -> None:
        self.group = MutuallyExclusiveCallbackGroup()
        self._following = following
        self._log = node.get_logger()
        self._lock, self._enabled = threading.Lock(), True
        node.create_service(Trigger, '~/stop', self._on_stop, callback_group=self.group)
        node.create_service(SetBool, '~/enable', self._on_enable, callback_group=self.group)

    def replace(
        self, following: FollowerInterface, use: Callable[[FollowerInterface], None]
    ) -> None:
        """
        Replace the follower; following that was switched off stays so.

        :param following: the new follower.
        :param use: puts it to use in the node.
        """
        with self._lock:
            if not self._enabled:
                following.enable(False)
            use(following)

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        following = self._following()
        answer.success = True
        answer.message = 'nothing moves' if following is None else following.stop()
        self._log.info(f'stop: {answer.message}')
        return answer

    def _on_enable(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._enabled, following = request.data, self._following()
            if following is None:
                answer.success, answer.message = True, 'there is no arm yet'
            else:
                answer.success, answer.message = following.enable(request.data)
        self._log.info(f'enable {request.data}: {answer.message}')
        return answer
