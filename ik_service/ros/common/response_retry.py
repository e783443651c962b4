"""
Answers that reach clients whom the middleware has only half met.

A ROS 2 service is two DDS topics, matched one after the other. A quick client's request can arrive
before the server has found the reader of its answers; the middleware then waits 0.1 s, drops the
answer, and the client waits for ever (https://github.com/ros2/rmw_fastrtps/issues/842). Here such
an answer is sent again until the reader is found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import heapq
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

_WAITING = 1000  # answers that wait to be sent again, at most
_SHARE = 0.1  # of the time that tries in vain may hold the interpreter

_WARNING = 'failed to send response'  # what rclpy warns of when the middleware drops an answer


def answer_insistently(node: Node) -> None:
    """Let the services that a node has now, those of its parameters too, repeat lost answers."""
    warnings.filterwarnings('error', message=_WARNING, category=RuntimeWarning)
    for service in node.services:
        if not isinstance(getattr(service.send_response, '__self__', None), _Insistent):
            service.send_response = _Insistent(service, node.get_logger()).send


class _Insistent:
    """Sends the answers of one service; a dropped one again and again, in another thread."""

    def __init__(self, service: Service, logger: object) -> None:
        self._name = service.service_name
        self._send = service.send_response
        self._logger = logger

    def send(self, response: object, header: object) -> None:
        if not self.sent(response, header) and not _post.take(_Letter(self, response, header)):
            self._logger.warning(
                f'an answer of {self._name} is lost: {_WAITING} others already wait for clients '
                'that are not ready to receive them',
                throttle_duration_sec=10.0,
            )

    def sent(self, response: object, header: object) -> bool:
        """Try once; return whether the answer is on its way."""
        try:
            self._send(response, header)
        except (RuntimeWarning, SystemError) as error:
            # rclpy leaves the warning pending, which Python makes the cause of a SystemError.
            if not any(_WARNING in str(reason) for reason in (error, error.__cause__)):
                raise
            return False
        return True

    def give_up(self, error: Exception | None = None) -> None:
        """Say that an answer never found its reader, or could not be sent for another reason."""
        never = f'its client never became ready to receive it within {sum(_PAUSES):.0f} s'
        self._logger.warning(
            f'an answer of {self._name} is lost: {error or never}', throttle_duration_sec=10.0
        )


@dataclass(order=True)
class _Letter:
    """An answer that was dropped, ordered by when it is to be tried again."""

    sender: _Insistent = field(compare=False)
    response: object = field(compare=False)
    header: object = field(compare=False)
    due: float = 0.0
    tries: int = 0

    def put_off(self) -> bool:
        """Wait for the next try; return False when there were enough."""
        if self.tries == len(_PAUSES):
            return False
        self.due = time.monotonic() + _PAUSES[self.tries]
        self.tries += 1
        return True

    def tried(self) -> bool:
        """Try; return whether the answer is done with, sent or not."""
        try:
            return self.sender.sent(self.response, self.header)
        except InvalidHandle:  # the service has ended
            return True
        except Exception as error:  # the answers of others still have to be sent
            self.sender.give_up(error)
            return True


class _Post:
    """All answers of the process that are sent again, in one thread however many they are."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._letters: list[_Letter] = []
        self._thread: threading.Thread | None = None

    def take(self, letter: _Letter) -> bool:
        """Take an answer that was dropped; return False when too many wait already."""
        with self._news:
            if len(self._letters) >= _WAITING or not letter.put_off():
                return False
            heapq.heappush(self._letters, letter)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name='answers', daemon=True)
                self._thread.start()
            self._news.notify()
        return True

    def _run(self) -> None:
        while True:
            letter = self._next()
            begin = time.monotonic()
            if letter.tried():
                continue
            # Clients that never listen must not keep the interpreter from the commands.
            time.sleep((time.monotonic() - begin) * (1.0 / _SHARE - 1.0))
            if letter.put_off():
                with self._news:
                    heapq.heappush(self._letters, letter)
            else:
                letter.sender.give_up()

    def _next(self) -> _Letter:
        """Wait until an answer is due, and return it."""
        with self._news:
            while True:
                if not self._letters:
                    self._news.wait()
                elif (left := self._letters[0].due - time.monotonic()) > 0.0:
                    self._news.wait(left)
                else:
                    return heapq.heappop(self._letters)


_post = _Post()
