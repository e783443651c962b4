"""Services ``~/stop`` and ``~/enable``."""

from __future__ import annotations

from collections.abc import Callable
import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ik_service.ros.following.followers import Followers


class StopServices:
    """
    Services that stop the arm, and switch following off and on.

    :param node: the node that gets the services.
    :param followers: returns the followers in use; None as long as there is no arm.
    :ivar group: callback group; for an executor of its own, so that a stop waits for nothing.
    """

    def __init__(self, node: Node, followers: Callable[[], Followers | None]) -> None:
        self.group = MutuallyExclusiveCallbackGroup()
        self._followers = followers
        self._log = node.get_logger()
        self._lock, self._enabled = threading.Lock(), True
        node.create_service(Trigger, '~/stop', self._on_stop, callback_group=self.group)
        node.create_service(SetBool, '~/enable', self._on_enable, callback_group=self.group)

    def replace(self, followers: Followers, use: Callable[[Followers], None]) -> None:
        """
        Replace the followers; following that was switched off stays so.

        :param followers: the new followers.
        :param use: puts them to use in the node.
        """
        with self._lock:
            if not self._enabled:
                followers.enable(False)
            use(followers)

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        followers = self._followers()
        answer.success = True
        answer.message = 'nothing moves' if followers is None else followers.stop()
        self._log.info(f'stop: {answer.message}')
        return answer

    def _on_enable(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._enabled, followers = request.data, self._followers()
            if followers is None:
                answer.success, answer.message = True, 'there is no arm yet'
            else:
                answer.success, answer.message = followers.enable(request.data)
        self._log.info(f'enable {request.data}: {answer.message}')
        return answer
