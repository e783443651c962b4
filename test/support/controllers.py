"""Arms behind controllers of ros2_control, as nodes: stand-ins for what a driver starts."""

from __future__ import annotations

from contextlib import ExitStack
import threading
import time

from builtin_interfaces.msg import Time
import numpy as np
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ik_service.common.periodic_calls import PeriodicThread
from support.trajectory_controller import Point, Trajectory, TrajectoryController

RATE = 100.0  # cycles of the arm's control loop a second [Hz]
_SERVO = 0.02  # time constant of the servos [s]


def _stamp(seconds):
    return Time(sec=int(seconds), nanosec=int(1e9 * (seconds % 1.0)))


class ControlledArm:
    """
    Arm that a controller moves, for a ``with`` block; it publishes ``joint_states``.

    :ivar names: the controller's joints.
    :ivar q: where they are.
    """

    def __init__(self, bench, names, q, kind, topic):
        self.bench, self.names, self.q = bench, tuple(names), np.array(q, dtype=float)
        self.velocity = np.zeros(len(self.q))
        self.silent = False
        self._lock, self._stack, self._last = threading.Lock(), ExitStack(), None
        self._states = bench.node.create_publisher(JointState, 'joint_states', 10)
        bench.node.create_subscription(kind, topic, self._on_command, 100)

    def __enter__(self):
        self._stack.enter_context(PeriodicThread(self._on_cycle, RATE, self._on_error))
        return self

    def __exit__(self, *_):
        self._stack.close()

    @property
    def time(self):
        """The clock of the graph [s]."""
        return 1e-9 * self.bench.node.get_clock().now().nanoseconds

    def _on_command(self, message):
        with self._lock:
            self.obey(message)

    def _on_cycle(self, now):
        dt = 1.0 / RATE if self._last is None else min(now - self._last, 0.05)
        self._last = now
        with self._lock:
            before = self.q
            self.q = self.moved(dt)
            self.velocity = (self.q - before) / dt
        if not self.silent:
            state = JointState(name=list(self.names), position=self.q.tolist())
            state.header.stamp = _stamp(self.time)
            self._states.publish(state)

    def _on_error(self, error):
        raise error


class TrajectoryArm(ControlledArm):
    """Arm behind the stand-in for a joint_trajectory_controller, with servos that lag."""

    def __init__(self, bench, names, q, **settings):
        self.controller = TrajectoryController(tuple(names), RATE, **settings)
        super().__init__(bench, names, q, JointTrajectory, 'joint_trajectory')

    def obey(self, message):
        stamp = message.header.stamp
        points = tuple(
            Point(
                point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec,
                tuple(point.positions),
                tuple(point.velocities),
                tuple(point.accelerations),
                tuple(point.effort),
            )
            for point in message.points
        )
        stamped = stamp.sec + 1e-9 * stamp.nanosec
        self.controller.receive(Trajectory(tuple(message.joint_names), stamped, points), self.time)

    def moved(self, dt):
        output = self.controller.update(self.time, self.q, self.velocity)
        return self.q + (output - self.q) * -np.expm1(-dt / _SERVO)


class SimulatedTrajectoryArm(TrajectoryArm):
    """
    The same in a simulation that publishes ``/clock``, and runs in its own time.

    :param frequency: how often the clock is published, in its own time [Hz].
    :ivar rate: how fast it runs against the real time.
    :ivar executed: (time, set-points) of each cycle.
    """

    def __init__(self, bench, names, q, frequency, rate, **settings):
        self.rate, self.frequency, self.executed = rate, frequency, []
        self._since, self._then, self._published = time.monotonic(), 100.0, 0.0
        self._clock = bench.node.create_publisher(Clock, '/clock', 10)
        super().__init__(bench, names, q, **settings)

    @property
    def time(self):
        return self._then + self.rate * (time.monotonic() - self._since)

    def run_at(self, rate):
        """Go on at another rate."""
        self._then, self._since, self.rate = self.time, time.monotonic(), rate

    def _on_cycle(self, now):
        there = self.time
        if there - self._published >= 1.0 / self.frequency:
            self._published = there - there % (1.0 / self.frequency)
            self._clock.publish(Clock(clock=_stamp(self._published)))
        if self.rate > 0.0:
            super()._on_cycle(self.rate * now)

    def moved(self, dt):
        there = self.time
        output = self.controller.update(there, self.q, self.velocity)
        self.executed.append((there, output))
        return self.q + (output - self.q) * -np.expm1(-dt / _SERVO)


class PositionArm(ControlledArm):
    """Arm behind a forward_position_controller."""

    def __init__(self, bench, names, q):
        self.target = np.array(q, dtype=float)
        super().__init__(bench, names, q, Float64MultiArray, 'position_commands')

    def obey(self, message):
        self.target = np.array(message.data)

    def moved(self, dt):
        return self.q + (self.target - self.q) * -np.expm1(-dt / _SERVO)


class VelocityArm(ControlledArm):
    """Arm behind a forward_velocity_controller: it goes on with its last velocity for ever."""

    def __init__(self, bench, names, q, factor=0.95):
        self.commanded, self.factor = np.zeros(len(q)), factor
        super().__init__(bench, names, q, Float64MultiArray, 'velocity_commands')

    def obey(self, message):
        self.commanded = np.array(message.data)

    def moved(self, dt):
        return self.q + dt * self.factor * self.commanded
