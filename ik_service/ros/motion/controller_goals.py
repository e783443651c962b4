"""Goals that other clients have at the action of a trajectory controller."""

from __future__ import annotations

from collections import deque
from collections.abc import Set
from dataclasses import dataclass
import itertools
import math
import threading
import time

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.callback_groups import CallbackGroup
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from ik_service.ros.common.input_topics import polled
from ik_service.ros.common.publishers import publisher_ids

_QOS = QoSProfile(
    depth=10,  # rcl_action's is 1, which would lose the goals of one server of several
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
_ACTIVE = range(GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_CANCELING + 1)
_REMEMBERED = 200  # goals of this node, and of others; servers name all of theirs again and again
_SERVERS = 10  # servers of one name, or messages without a common goal, that are remembered
_LOSSY = 0.5  # time of a stall in which queues overflow, and states are lost [s]
_REPEATED = 3.0  # time after which the middleware sends what was lost again, in Fast DDS [s]
_COME = 0.5  # time in which the goals of a server that was just discovered become known [s]
_LINGERS = 0.1  # time for which a goal counts after its end: no tick misses a short one [s]


@dataclass(slots=True)
class _Goal:
    """
    Goal of another client.

    :ivar servers: identifiers of the servers that were there when it was noticed.
    :ivar until: when it no longer counts, on the monotonic clock [s].
    """

    servers: frozenset[bytes]
    until: float = math.inf


class ControllerGoals:
    """
    Monitor of an action for goals of other clients. Safe to share between threads.

    A server publishes the states of its goals whenever one changes. A goal is over when a server
    says so, or when others have taken the place of those that were there when it was noticed.
    While there is none it does not count: one that DDS has lost for a time goes on with its goals.

    :param action: full name of the action.
    :param group: callback group of the states; needs no thread where :meth:`foreign` is called.
    """

    def __init__(self, node: Node, action: str, group: CallbackGroup) -> None:
        self._node, self._action = node, action
        self._lock = threading.Lock()
        self._own: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._lost: deque[bytes] = deque(maxlen=_REMEMBERED)
        self._goals: dict[bytes, _Goal] = {}
        self._told: deque[Set[bytes]] = deque(maxlen=_SERVERS)  # goals of the last messages
        self._gap, self._gap_ends = '', -math.inf
        self._count, self._known_from = 0, -math.inf  # servers, and when their goals are known [s]
        self._states = node.create_subscription(
            GoalStatusArray,
            f'{action}/_action/status',
            self._note,
            _QOS,
            callback_group=group,
            event_callbacks=SubscriptionEventCallbacks(use_default_callbacks=False),
            raw=True,
        )

    @property
    def served(self) -> bool:
        """Whether there is a server of the action."""
        return self._states.get_publisher_count() > 0

    def awaited(self) -> bool:
        """Return whether the goals of a server that has just come may not be known yet."""
        count, now = self._states.get_publisher_count(), time.monotonic()
        if count != self._count:
            self._count, self._known_from = count, now + _COME
        return now < self._known_from

    def note_own(self, goal: bytes, own: bool = True) -> None:
        """Note a goal that this node is going to send, or does not attend to any more."""
        with self._lock:
            if own:
                self._own.append(goal)
            elif goal in self._own:
                self._own.remove(goal)
                self._lost.append(goal)

    def note_stall(self, seconds: float) -> None:
        """Note that this process was suspended, so that states of goals may have been lost."""
        if _LOSSY <= seconds < math.inf and self.served:
            self._gap = f'perhaps a goal at {self._action} (of a stall of {seconds:.1f} s)'
            self._gap_ends = time.monotonic() + _REPEATED

    def foreign(self) -> str:
        """Return a goal of another client, or a lost one, that is not over; empty for none."""
        for data, _ in polled(self._states, _QOS.depth):
            self._note(data)
        servers, now = self._servers() if self._goals else frozenset(), time.monotonic()
        with self._lock:
            if servers:
                self._goals = {
                    name: goal
                    for name, goal in self._goals.items()
                    if goal.until > now and (goal.servers or servers) & servers
                }
            name = next((name for name in self._goals if name not in self._own), b'')
            whose = 'that was taken for lost' if name in self._lost else 'of another client'
        if name and servers:
            return f'a goal {whose} at {self._action} ({name.hex()[:8]})'
        return self._gap if now < self._gap_ends else ''

    def _servers(self) -> frozenset[bytes]:
        return publisher_ids(self._node, self._states.topic_name)

    def _note(self, data: bytes) -> None:
        """Note the states of a server's goals, from a serialised message."""
        states, ends = _states(data), time.monotonic() + _LINGERS
        active = {name for name, state in states.items() if state in _ACTIVE}
        with self._lock:
            for name, goal in self._goals.items():
                if name in states and name not in active:
                    goal.until = min(goal.until, ends)
            # Of a goal that was short, or came during a stall, perhaps only the end is told.
            ended = states.keys() - set().union(self._own, *self._told)
            new = (active | ended).difference(self._goals)
            # A server names all of its goals: messages without a common one are of several.
            others = [told for told in self._told if told and told.isdisjoint(states)]
            self._told.clear()
            self._told.extend([*others, states.keys()])
            if new and len(self._goals) < _REMEMBERED:
                servers = self._servers()
                for name in itertools.islice(new, _REMEMBERED):
                    self._goals[name] = _Goal(servers, math.inf if name in active else ends)


def _states(data: bytes) -> dict[bytes, int]:
    """
    Return the states of goals by the identifiers of these.

    rclpy takes 30 µs for each goal of a message, and there may be thousands: servers name goals
    for a quarter of an hour after their end. In the middleware's encoding (OMG's CDR) the
    states are 28 bytes apart. The identifier of the next goal, of 16 bytes, follows each state.

    :param data: a serialised ``action_msgs/GoalStatusArray``.
    """
    begins = (28 * k + 5 if k else 8 for k in itertools.count())
    return {data[k : k + 16]: state for k, state in zip(begins, data[32::28], strict=False)}
