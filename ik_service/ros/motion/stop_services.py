"""Stops: services ``~/stop`` and ``~/enable``, and MoveIt's topic of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ik_service.common.fault_logger import FaultLogger
from ik_service.common.quoting import quote
from ik_service.ros.common.input_topics import InputTopic
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.motion.followers import Followers

EVENT_TOPIC = 'trajectory_execution_event'
"""Topic on which MoveGroupInterface::stop, RViz's button and pymoveit2's cancel publish."""

_STOP_EVENT = 'stop'
_WAITING_EVENTS = 10


class StopServices:
    """
    Services and a topic that stop the arm, and switch following off and on.

    :param followers: returns the followers in use; None as long as there is no arm.
    :param preempt: called with the reason of a stop; stops the goals of actions.
    :ivar count: number of stops so far.
    :ivar group: callback group; for an executor of its own, so that a stop waits for nothing.
    """

    def __init__(
        self,
        node: Node,
        followers: Callable[[], Followers | None],
        preempt: Callable[[str], object],
    ) -> None:
        self.group = MutuallyExclusiveCallbackGroup()
        self._followers, self._preempt = followers, preempt
        self.count = 0
        self._events, self._ignored = 0, FaultLogger(node.get_logger().warning)
        self._log = node.get_logger()
        self._lock, self._enabled = threading.Lock(), True
        deep, group = SERVICE_QOS, self.group
        node.create_service(
            Trigger, '~/stop', self._on_stop, qos_profile=deep, callback_group=group
        )
        node.create_service(
            SetBool, '~/enable', self._on_enable, qos_profile=deep, callback_group=group
        )
        InputTopic(node, String, EVENT_TOPIC, self._on_event, _WAITING_EVENTS, self.group)

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {
            'stops': str(self.count),
            f'stops by {EVENT_TOPIC}': str(self._events),
            f'last ignored {EVENT_TOPIC}': self._ignored.last or 'none',
        }

    def replace(self, followers: Followers, use: Callable[[Followers], None]) -> None:
        """Replace the followers; following that was switched off stays so."""
        with self._lock:
            if not self._enabled:
                followers.enable(False)
            use(followers)

    def _on_stop(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        self.count += 1
        followers = self._followers()
        answer.success = True
        answer.message = 'nothing moves' if followers is None else followers.stop()
        self._log.info(f'stop: {answer.message}')
        return answer

    def _on_event(self, message: String, _: Mapping[str, int]) -> None:
        """Let everything that moves come to rest; events besides that are ignored."""
        if message.data != _STOP_EVENT:
            self._ignored.report(
                f'{EVENT_TOPIC} {quote(message.data)} ignored; {_STOP_EVENT} is known'
            )
            return
        self._events += 1
        self.count += 1
        followers = self._followers()
        reason = f'stopped by {_STOP_EVENT!r} on {EVENT_TOPIC}'
        self._preempt(reason)
        answer = 'nothing moves'
        if followers is not None:
            answer = followers.stop(trajectories=False, reason=reason)
        self._log.info(f'{EVENT_TOPIC}: {_STOP_EVENT}: {answer}')

    def _on_enable(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._enabled, followers = request.data, self._followers()
            self.count += not request.data
            if followers is None:
                answer.success, answer.message = True, 'there is no arm yet'
            else:
                answer.success, answer.message = followers.enable(request.data)
        self._log.info(f'enable {request.data}: {answer.message}')
        return answer
