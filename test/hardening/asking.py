"""Concurrent requests to services, each with its answer and its time."""

from __future__ import annotations

from dataclasses import dataclass
import threading
import time

from rclpy.qos import QoSProfile

DEEP = QoSProfile(depth=2000)
"""Queues deep enough that this client loses no answer, however many come at once."""


@dataclass
class Asked:
    """A request, its answer (None: it was never answered) and how long that took [s]."""

    request: object
    answer: object = None
    took: float = 0.0


class Client:
    """Client of a service; other threads have to spin."""

    def __init__(self, bench, kind, name):
        self._client = bench.node.create_client(kind, name, qos_profile=DEEP)
        self._node = bench.node
        if not self._client.wait_for_service(10.0):
            raise AssertionError(f'there is no service {name}')

    def close(self):
        self._node.destroy_client(self._client)

    def send(self, request, done=lambda: None):
        """Send a request; ``done`` is called when its answer has come."""
        asked, began = Asked(request), time.monotonic()
        future = self._client.call_async(request)

        def answered(future):
            asked.took = time.monotonic() - began
            asked.answer = future.result()
            done()

        future.add_done_callback(answered)
        return asked


GIVE_UP = 3
"""Number of missing answers after which no more requests are sent."""


def ask_all(jobs, window, patience=15.0):
    """
    Send requests, a number of them under way at a time; return all that was asked.

    :param jobs: pairs of a :class:`Client` and a request.
    :param window: how many may be under way at once.
    :param patience: how long to wait for an answer when none comes any more [s].
    """
    free = threading.Semaphore(window)
    all_asked, lost = [], 0
    for client, request in jobs:
        while not free.acquire(timeout=patience):
            lost += 1
            if lost >= GIVE_UP:
                return all_asked
            free.release()  # its place is given to another one
        all_asked.append(client.send(request, free.release))
    deadline = time.monotonic() + patience
    while any(asked.answer is None for asked in all_asked) and time.monotonic() < deadline:
        time.sleep(0.02)
    return all_asked
