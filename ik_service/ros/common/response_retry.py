"""
Retry of service responses that rmw_fastrtps drops (rmw_fastrtps#842).

A ROS 2 service is two DDS topics, matched one after the other. A quick client's request can arrive
before the server has matched the client's reader of responses; the middleware then waits 0.1 s,
drops the response, and the client waits for ever
(https://github.com/ros2/rmw_fastrtps/issues/842). Here such a response is sent again until the
reader is matched. An action has three services, for goals, cancellations and results.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
import heapq
import re
import threading
import time
from typing import Any
import warnings

from rclpy.exceptions import InvalidHandle
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node
from rclpy.service import Service

_PAUSES = tuple(0.05 * 2**number for number in range(7))
"""
Before each further try [s], 6.35 s in all: a lost discovery message comes again within 3 s.

They grow because a try holds the interpreter for up to 0.1 s.
"""

_MOST_PENDING = 1000  # responses that wait, at most
_SHARE, _BURST = 0.1, 0.1
"""Share of the time that tries in vain may hold the interpreter, and how long at once [s]."""

_WARNING = 'failed to send response'  # rclpy's warning when the middleware drops a response


def retry_dropped_responses(node: Node) -> None:
    """Send dropped responses of a node again: of the services that it has now, and of no other."""
    for service in node.services:
        if not isinstance(getattr(service.send_response, '__self__', None), RetryingSender):
            sender = _service_sender(service, node.get_logger())
            service.send_response = sender.send  # type: ignore[method-assign]  # no other hook


def _service_sender(service: Service, logger: RcutilsLogger) -> RetryingSender:
    handle = service.handle

    def send(header: object, response: object) -> None:  # as Service.send_response does
        if not isinstance(response, service.srv_type.Response):  # type: ignore[attr-defined]  # every one has it
            raise TypeError(f'{service.service_name} has to respond with its own type')
        handle.service_send_response(response, getattr(header, 'request_id', header))

    return RetryingSender(service.service_name, logger, handle, send)


class RetryingSender:
    """
    Sender of the responses of one service, which hands dropped ones to the queue.

    :param handle: of the service or of the action.
    :param send: sends a response, after the header of its request, by the handle: itself a method
        of that, as the warning has to be raised from this module.
    """

    def __init__(
        self,
        name: str,
        logger: RcutilsLogger,
        handle: AbstractContextManager[object],
        send: Callable[[Any, Any], object],
    ) -> None:
        # Makes an exception of the warning where it is raised from this module, and nowhere else.
        warnings.filterwarnings(
            'error', message=_WARNING, category=RuntimeWarning, module=rf'{re.escape(__name__)}\Z'
        )
        self._name, self._logger, self._handle, self._send = name, logger, handle, send

    def send(self, response: object, header: object) -> None:
        """Send a response to the request with a header, now or when its client is ready."""
        if _queue.rest() <= 0.0 and self.try_to_send(response, header):
            return
        if not _queue.add(_PendingResponse(self, response, header)):
            self._logger.warning(
                f'a response of {self._name} is lost: {_MOST_PENDING} others already wait for '
                'clients that are not ready to receive them',
                throttle_duration_sec=10.0,
            )

    def try_to_send(self, response: object, header: object) -> bool:
        """Try once; return whether the middleware took the response."""
        begin = time.monotonic()
        try:
            with self._handle:
                self._send(header, response)
        except (RuntimeWarning, SystemError) as error:
            # rclpy leaves the warning pending, which Python makes the cause of a SystemError.
            if not any(_WARNING in str(reason) for reason in (error, error.__cause__)):
                raise
            _queue.note_in_vain(time.monotonic() - begin)
            return False
        return True

    def report_loss(self, error: Exception | None = None) -> None:
        """Log that a response was never received, or could not be sent for another reason."""
        never = f'its client never became ready to receive it within {sum(_PAUSES):.0f} s'
        self._logger.warning(
            f'a response of {self._name} is lost: {error or never}', throttle_duration_sec=10.0
        )


@dataclass(order=True)
class _PendingResponse:
    """A dropped response, ordered by when it is to be tried again."""

    sender: RetryingSender = field(compare=False)
    response: object = field(compare=False)
    header: object = field(compare=False)
    due: float = 0.0
    tries: int = 0

    def schedule(self) -> bool:
        """Schedule the next try; return False when there were enough."""
        if self.tries == len(_PAUSES):
            return False
        self.due = time.monotonic() + _PAUSES[self.tries]
        self.tries += 1
        return True

    def retry(self) -> bool:
        """Try again; return whether the response is done with, sent or not."""
        try:
            return self.sender.try_to_send(self.response, self.header)
        except InvalidHandle:  # the service has ended
            return True
        except Exception as error:  # the responses of others still have to be sent
            self.sender.report_loss(error)
            return True


class _RetryQueue:
    """Queue of the dropped responses of this process, with one thread while there are any."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._pending: list[_PendingResponse] = []
        self._balanced_at = 0.0  # when tries in vain have had no more than their share [s]
        self._thread: threading.Thread | None = None

    def rest(self) -> float:
        """
        Return how long nothing may be tried [s], so that the interpreter has time for commands.

        rclpy does not say which client a request is from: others than those that never listen
        wait, too, where there are many in vain.
        """
        return self._balanced_at - time.monotonic() - _BURST / _SHARE

    def note_in_vain(self, seconds: float) -> None:
        """Note for how long a try in vain has held the interpreter [s]."""
        self._balanced_at = max(self._balanced_at, time.monotonic()) + seconds / _SHARE

    def add(self, pending: _PendingResponse) -> bool:
        """Add a response that was dropped; return False when too many wait already."""
        with self._news:
            if len(self._pending) >= _MOST_PENDING or not pending.schedule():
                return False
            heapq.heappush(self._pending, pending)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name='response retry', daemon=True
                )
                self._thread.start()
            self._news.notify()
        return True

    def _run(self) -> None:
        while (pending := self._next()) is not None:
            time.sleep(max(self.rest(), 0.0))
            if pending.retry():
                continue
            if pending.schedule():
                with self._news:
                    heapq.heappush(self._pending, pending)
            else:
                pending.sender.report_loss()

    def _next(self) -> _PendingResponse | None:
        """Wait until a response is due, and return it; None ends the thread, as none is left."""
        with self._news:
            while self._pending:
                left = self._pending[0].due - time.monotonic()
                if left <= 0.0:
                    return heapq.heappop(self._pending)
                self._news.wait(left)
            self._thread = None
            return None


_queue = _RetryQueue()
