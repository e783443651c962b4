"""Simulated arm inside this process whose joint states can be falsified."""

from __future__ import annotations

from collections import deque
import threading
import time

import numpy as np
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from hardening.stream import Sample

RATE = 100.0
FOREIGN = 'another commander'
"""Frame of the commands that are not the node's; they are not recorded, and not obeyed."""


class LyingArm:
    """
    Arm that obeys ``joint_command`` within its speeds, and publishes ``joint_states``.

    :param q: (n,) where it stands at first [rad].
    :param speed: (n,) largest speeds [rad/s].
    :ivar samples: the commands, as :class:`stream.Sample`.
    :ivar lies: what is done to the states to come, one entry each: a function of the state's
        positions that returns others, or None for a state that is not sent.
    :ivar lie: such a function for all further states, when there are no more ``lies``.
    :ivar stamp: a function from the time now [ns] to the stamp [ns]; 0 is unstamped.
    :ivar held: whether it ignores commands.
    """

    def __init__(self, bench, names, q, speed, rate=RATE):
        self.names, self.speed = list(names), np.array(speed)
        self.held = False
        self.lies, self.lie, self.stamp = deque(), None, lambda now: now
        self.samples: list[Sample] = []
        self._lock = threading.Lock()
        self._q, self._goal = np.array(q, dtype=float), np.array(q, dtype=float)
        self._places: deque = deque(maxlen=100_000)
        self._moved = time.monotonic()
        self._node = bench.node
        self._states = bench.publisher(JointState, 'joint_states', subscribers=0)
        self._timer = None
        self.set_rate(rate)
        # Deep enough that none is lost while this process is busy.
        bench.node.create_subscription(
            JointState, 'joint_command', self._obey, QoSProfile(depth=2000)
        )

    @property
    def q(self):
        with self._lock:
            return self._q.copy()

    def set_rate(self, rate):
        if self._timer is not None:
            self._node.destroy_timer(self._timer)
        self._timer = self._node.create_timer(1.0 / rate, self._publish)

    def teleport(self, q):
        """Put the arm elsewhere at once."""
        with self._lock:
            self._q, self._goal = np.array(q, dtype=float), np.array(q, dtype=float)

    def place(self, when):
        """True position at a time (n,) [rad]; None when it is not known."""
        with self._lock:
            for moment, q in reversed(self._places):
                if moment <= when:
                    return q
        return None

    def forget(self):
        with self._lock:
            self.samples = []

    def recorded(self):
        with self._lock:
            return list(self.samples)

    def _obey(self, message, info):
        if message.header.frame_id == FOREIGN:
            return
        found = dict(zip(message.name, message.position, strict=True))
        q = np.array([found[name] for name in self.names])
        speeds = dict(zip(message.name, message.velocity, strict=True))
        v = np.array([speeds[name] for name in self.names])
        sent, number = 1e-9 * info['source_timestamp'], info['publication_sequence_number']
        with self._lock:
            self.samples.append(Sample(sent, number, q, v))
            if not self.held:
                self._goal = q

    def _publish(self):
        with self._lock:
            now = time.monotonic()
            reach = self.speed * min(now - self._moved, 0.1)
            self._moved = now
            self._q = self._q + np.clip(self._goal - self._q, -reach, reach)
            q = self._q.copy()
            self._places.append((time.time(), q))
        lie = self.lies.popleft() if self.lies else self.lie
        told = lie(q.copy()) if lie else q
        if told is not None:
            self._states.publish(self._message(told))

    def _message(self, positions):
        stamp = self.stamp(time.time_ns())
        message = JointState(name=self.names, position=[float(value) for value in positions])
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(int(stamp), 10**9)
        return message
