"""
Answers that reach clients whom the middleware has only half met.

A ROS 2 service is two DDS topics, matched one after the other. A quick client's request can arrive
before the server has found the reader of its answers; the middleware then waits 0.1 s, drops the
answer, and the client waits for ever (https://github.com/ros2/rmw_fastrtps/issues/842). Here such
an answer is sent again until the reader is found.
"""

from __future__ import annotations

import threading
import time
import warnings

from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.service import Service

_PAUSES = tuple(0.05 * 2**number for number in range(7))
"""
Before each further try [s], 6.35 s in all: a lost discovery message comes again within 3 s.

They grow because a try holds the interpreter for up to 0.1 s.
"""

_WARNING = 'failed to send response'  # what rclpy warns of when the middleware drops an answer


def answer_insistently(node: Node) -> None:
    """Let the services that a node has now, those of its parameters too, repeat lost answers."""
    warnings.filterwarnings('error', message=_WARNING, category=RuntimeWarning)
    for service in node.services:
        if not isinstance(getattr(service.send_response, '__self__', None), _Insistent):
            service.send_response = _Insistent(service, node.get_logger()).send


class _Insistent:
    """Sends the answers of one service; a dropped one again and again, in a thread of its own."""

    def __init__(self, service: Service, logger: object) -> None:
        self._name = service.service_name
        self._send = service.send_response
        self._logger = logger

    def send(self, response: object, header: object) -> None:
        if not self._sent(response, header):
            threading.Thread(target=self._insist, args=(response, header), daemon=True).start()

    def _insist(self, response: object, header: object) -> None:
        for pause in _PAUSES:
            time.sleep(pause)
            try:
                if self._sent(response, header):
                    return
            except InvalidHandle:  # the service has ended
                return
        self._logger.warning(
            f'an answer of {self._name} is lost: its client never became ready to receive it '
            f'within {sum(_PAUSES):.0f} s'
        )

    def _sent(self, response: object, header: object) -> bool:
        try:
            self._send(response, header)
        except (RuntimeWarning, SystemError) as error:
            # rclpy leaves the warning pending, which Python makes the cause of a SystemError.
            if not any(_WARNING in str(reason) for reason in (error, error.__cause__)):
                raise
            return False
        return True
