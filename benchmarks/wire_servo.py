"""
Commands of MoveIt Servo, by a model of its loop, on the bench of ``wire.py``.

Made from what the source of moveit_servo does (moveit2, main of August 2026), with its defaults: a
loop by the wall clock every 10 ms, the next state one step of the wanted velocity on from the last
one of its window, smoothed by a first-order low-pass, stamped 0.1 s ahead; a window of the last
0.2 s, without its newest state; no bound of the acceleration, and no way to rest at the end. Here
is no code of it. The client jogs all joints at their velocity limits, there and back. The
controller has ``allow_nonzero_velocity_at_trajectory_end``, which Servo needs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
from sensor_msgs.msg import JointState
from support.motion.wire import GraphTime, Wire
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMessage

from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.trajectory_channel import joint_trajectory

_PERIOD, _LATENCY, _TIMEOUT = 0.01, 0.1, 0.1  # publish_period, max_expected_latency, time-out [s]
_COEFFICIENT = 1.5  # of the low-pass
_STOPPED = 1e-4  # velocity that counts as none [rad/s]


class ServoWire(Wire):
    """
    The same wire, with a model of MoveIt Servo as the node.

    :ivar jog: (n,) velocities that the client wants [rad/s]; None while it sends nothing.
    """

    def __init__(self, graph: GraphTime | None = None, **arguments: object) -> None:
        controller = {'allow_nonzero_velocity_at_trajectory_end': True}
        super().__init__(graph=graph, controller=controller, **arguments)

    def restart(self) -> None:
        """Begin with nothing known, as a node that is started."""
        self.clock = MotionClock(None, lambda: self.real)  # the loop goes by the wall clock
        self.jog: np.ndarray | None = None
        self.measured = self.q.copy()
        self._window: deque[SimpleNamespace] = deque()
        self._filter = self.q.copy(), self.q.copy()  # last input, last output
        self._asked, self._asked_at = np.zeros(len(self.q)), -np.inf
        self._halted = True
        self.followers = SimpleNamespace(on_joint_states=self._on_states, tick=self._loop)
        self.killed, self._moment = False, self.clock.now()

    def _on_states(self, message: JointState) -> None:
        self.measured = np.array(message.position)

    def _loop(self, now: float) -> None:
        there = self.graph.shown
        if self.jog is not None:
            self._asked, self._asked_at, self._halted = self.jog, there, False
        window = self._window
        if window and window[-1].time > there:
            state = window[-1]
        else:
            window.clear()
            state = SimpleNamespace(q=self.measured, v=np.zeros(len(self.q)))
        if self._halted:
            self._slide(self.measured.copy(), np.zeros(len(self.q)), there)
            self._filter = self.measured.copy(), self.measured.copy()
            return
        fresh = there - self._asked_at < _TIMEOUT
        wanted = self._asked if fresh else np.zeros(len(self.q))
        before, last = self._filter
        aim = state.q + wanted * _PERIOD
        q = (aim + before - (1.0 - _COEFFICIENT) * last) / (1.0 + _COEFFICIENT)
        self._filter, v = (aim, q), (q - state.q) / _PERIOD
        self._halted = not fresh and bool((np.abs(v) < _STOPPED).all())
        self._slide(q, v, there)
        if len(window) >= 3:
            self.publish(self.serialize(self._composed()))

    def _slide(self, q: np.ndarray, v: np.ndarray, there: float) -> None:
        """Add a state to the window, and estimate the velocity of the one before."""
        window, time = self._window, there + _LATENCY
        while window and window[0].time < there - _LATENCY:
            window.popleft()
        while window and window[-1].time == time:
            window.pop()
        if len(window) >= 2:
            last, second = window[-1], window[-2]
            one = (q - last.q) / (time - last.time)
            other = (last.q - second.q) / (last.time - second.time)
            turns = np.sign(second.q - last.q) == np.sign(q - last.q)
            smaller = np.where(np.abs(one) < np.abs(other), one, other)
            v = last.v = np.where(turns, 0.0, smaller)
        window.append(SimpleNamespace(time=time, q=q, v=v))

    def _composed(self) -> JointTrajectoryMessage:
        states = list(self._window)[:-1]
        times = np.array([state.time for state in states])
        rows = np.array([s.q for s in states]), np.array([s.v for s in states])
        way = JointTrajectory(self.names, times - times[0], *rows)
        return joint_trajectory(way, round(1e9 * times[0]))


def _to_and_fro(wire: ServoWire) -> None:
    fastest = 0.999 * wire.limits.velocity_now
    way = np.array([1.0, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
    wire.run(0.3)
    wire.jog = fastest * way
    wire.run(0.7)
    wire.jog = -fastest * way
    wire.run(0.7)
    wire.jog = None
    wire.run(1.0)


def _moving(wire: ServoWire) -> None:
    wire.run(0.3)
    wire.jog = 0.999 * wire.limits.velocity_now * np.array([1.0, 0.4, -0.5, 0.3, 0.4, -0.3, 0.5])
    wire.run(0.4)


def disturbed(motion: Callable[[Wire], object], **hooks: object) -> Callable[[Wire], None]:
    """Return a case: a motion while ticks or messages are late, or get lost."""

    def case(wire: Wire) -> None:
        vars(wire).update(hooks)
        motion(wire)

    return case


def every(count: int, late: float) -> Callable[[int], float]:
    """Return the delay of messages or ticks by their number, one in so many [s]."""
    return lambda number: late if number % count == count - 1 else 0.0


def _silent_states(wire: ServoWire) -> None:
    _moving(wire)
    wire.lie = lambda q: None
    wire.run(1.0)
    wire.lie, wire.jog = (lambda q: q), None
    wire.run(1.0)


def _lying_states(wire: ServoWire) -> None:
    _moving(wire)
    wire.lie = lambda q: q + 0.5
    wire.run(0.1)
    wire.lie, wire.jog = (lambda q: q), None
    wire.run(1.0)


def _stalled(wire: ServoWire) -> None:
    _moving(wire)
    wire.pause(0.3)
    wire.run(0.3)
    wire.jog = None
    wire.run(1.0)


def _killed(wire: ServoWire) -> None:
    _moving(wire)
    wire.killed = True
    wire.run(2.0)


def _again(wire: ServoWire) -> None:
    _moving(wire)
    wire.killed = True
    wire.run(0.05)
    wire.restart()
    wire.run(0.05)
    wire.jog = -wire.limits.velocity_now * 0.5
    wire.run(0.5)
    wire.jog = None
    wire.run(1.0)


def disturbances(motion: Callable[[Wire], object]) -> dict[str, Callable[[Wire], None]]:
    """
    Return cases of a motion with messages and ticks that are late or lost, by name.

    :param motion: moves the arm of a wire.
    """
    return {
        'big messages: 40 ms before sending': disturbed(motion, sending=every(25, 0.04)),
        'every 20th tick 30 ms late': disturbed(motion, late_tick=every(20, 0.03)),
        'every tick 4 ms late': disturbed(motion, late_tick=every(1, 0.004)),
        '10 % of the messages lost': disturbed(motion, loss=0.1),
        'every fifth message 30 ms late': disturbed(motion, late=every(5, 0.03)),
        'messages up to 10 ms late': disturbed(motion, jitter=0.01),
    }


SERVO_CASES = {
    'ordinary motion': _to_and_fro,
    'joint states lost for 1 s': _silent_states,
    'joint states that lie for 0.1 s': _lying_states,
    'node stalled for 0.3 s': _stalled,
    'suspended for 0.25 s before sending': disturbed(
        _to_and_fro, sending=lambda number: 0.25 if number == 45 else 0.0
    ),
    **disturbances(_to_and_fro),
    'node killed': _killed,
    'node started again in motion': _again,
}
