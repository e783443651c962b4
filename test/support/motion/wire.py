"""
Everything from targets to what a controller executes, in injected time and without DDS.

The followers of an arm, their channels and windows are the real ones, down to the messages. Real
time, the time of the graph (which may be simulated), the process of the node, the way of the
messages, the controller and the arm behind it are played here, and what the controller makes of
the messages is judged from outside, by the limits of the joints alone.
"""

from __future__ import annotations

from collections.abc import Callable
import copy
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace

from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState
from support.chains import arm_path
from support.motion.rigs import READY
from support.motion.trajectory_controller import Trajectory, TrajectoryController, Version

from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import SolverSettings
from ik_service.arm.loader import build_arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.playback import TrajectoryGoal
from ik_service.motion.settings import FollowerSettings
from ik_service.motion.target_follower import OtherCommanders
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.command_channels import (
    CommandChannel,
    CommandedGroup,
    JointCommandChannel,
    PositionChannel,
    VelocityChannel,
)
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.trajectory_channel import TrajectoryChannel
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames

CYCLE = 0.002  # of the controller [s]
_STEP = 0.0005  # of the real time [s]
_POLL = 0.0025  # of the node, for a simulated clock [s]
_REAL, _GRAPH = 500.0, 1000.0  # where the two clocks begin [s]
_MEAN = 5  # cycles over which velocities are taken for accelerations
_REACTION, _NOTHING = 0.13, 0.005  # a motion may go on for so long [s]; a way that is none [rad]
_BLENDED = 0.09  # and so much longer on a controller that executes windows late [s]
_SHORTEST = 0.98  # time between two ticks, in periods

CHANNELS = {
    'joint_command': JointCommandChannel,
    'joint_trajectory': TrajectoryChannel,
    'position_commands': PositionChannel,
    'velocity_commands': VelocityChannel,
}


PANDA = arm_path('panda')


@cache
def _panda():
    return build_arm(PANDA, ArmSettings())


@dataclass
class GraphTime:
    """
    Time of the graph.

    :ivar rate: how fast it runs at a real time since the start [s]; None for the real time.
    :ivar frequency: how often it is published, in its own time [Hz].
    :ivar offset: by how much the node's clock is ahead of that of the controller [s].
    """

    rate: Callable[[float], float] | None = None
    frequency: float = 100.0
    offset: float = 0.0
    now: float = _GRAPH  # the true time
    shown: float = _GRAPH  # what the node's clock shows
    _next: float = _GRAPH
    _way: list[tuple[float, float]] = field(default_factory=list)

    @property
    def simulated(self) -> bool:
        return self.rate is not None

    def advance(self, real: float, dt: float, random: np.random.Generator) -> None:
        """Let real time pass, which is now so long after the start [s]."""
        if self.rate is None:
            self.now += dt
            self.shown = self.now + self.offset
            return
        self.now += self.rate(real) * dt
        while self.now >= self._next:
            self._way.append((real + 0.0005 + 0.003 * random.random(), self._next))
            self._next += 1.0 / self.frequency
        while self._way and self._way[0][0] <= real:
            self.shown = self._way.pop(0)[1]

    def set_back(self, to: float) -> None:
        """Begin anew from a time."""
        self.now = self._next = to
        self._way.clear()


@dataclass
class Verdict:
    """
    What has come out, as shares of what the limits allow; positions in [rad].

    :ivar step: the largest change of a set-point in a cycle.
    :ivar velocity: the highest velocity, over 10 ms; the acceleration is its change in that time.
    :ivar jerk: the largest change of the acceleration in a cycle; 0 where none is limited.
    :ivar join: the largest distance of a new message from what was being executed; of positions
        that are sent one by one, without what the velocity limits allow since the last ones.
    :ivar overrun: how much farther a joint goes after a message, if nothing more comes, than by
        braking within the limits after 0.13 s; inf where it never stops.
    :ivar outside: how far that leads beyond a joint limit.
    :ivar lasts: how long it takes [s].
    :ivar gate: how many messages the gate has not let pass as they were.
    """

    step: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0
    jerk: float = 0.0
    join: float = 0.0
    overrun: float = 0.0
    outside: float = 0.0
    lasts: float = 0.0
    messages: int = 0
    refused: int = 0
    gate: int = 0


class Rivals(OtherCommanders):
    """Stand-in for the monitor of commands: another node commands the arm from a time on [s]."""

    goes_on = overtaken = True

    def __init__(self, wire: Wire, since: float = np.inf) -> None:
        self._wire, self._since = wire, since

    def rival(self) -> str:
        return '/other' if self._wire.real > self._since else ''

    def awaited(self) -> bool:
        return self._wire.awaited


class Wire:
    """
    A node's following with its settings, the wire, a controller and an arm.

    :param version: of the trajectory controller, which ``controller`` has the parameters of.
    :param servo: time by which the arm lags behind its set-points [s].
    :param bounds: limits of the joints beyond those of the URDF.
    :ivar loss: share of the messages that are lost.
    :ivar late: returns by how much a message is late [s], by its number; so for ticks.
    :ivar sending: returns how long the process is held up between computing and sending [s].
    :ivar monitor: stand-in for that of the commands; for followers that are begun from then on.
    :ivar gain: speed of an arm that takes velocities, as a share of them.
    :ivar lie: changes the measured positions (n,), None to lose the joint state.
    """

    def __init__(
        self,
        interface: str = 'joint_trajectory',
        version: Version = Version.REPLACES,
        graph: GraphTime | None = None,
        seed: int = 0,
        controller: dict | None = None,
        servo: float = 0.02,
        bounds: MotionBounds | None = None,
        **settings: float,
    ) -> None:
        self.interface, self.graph = interface, graph or GraphTime()
        self.random = np.random.default_rng(seed)
        self.settings = FollowerSettings().changed(settings)
        self.arm = _panda() if bounds is None else build_arm(PANDA, ArmSettings(bounds=bounds))
        self.chain = self.arm.chain
        self.names = self.chain.joint_names
        self.q, self.velocity = READY.copy(), np.zeros(len(READY))
        self.limits = self.settings.motion_limits(self.chain, self.arm.bounds)
        self.controller = TrajectoryController(
            tuple(self.names), 1.0 / CYCLE, version=version, **controller or {}
        )
        self.blends = version is Version.BLENDS  # as the node finds out
        self.awaited = False  # until it does
        self.monitor = Rivals(self)
        self.real, self._servo = 0.0, servo
        clock = SimpleNamespace(
            ros_time_is_active=self.graph.simulated,
            now=lambda: SimpleNamespace(nanoseconds=round(1e9 * self.graph.shown)),
        )
        self.clock = MotionClock(
            clock, lambda: _REAL + self.real, lambda: round(1e9 * self.graph.shown)
        )
        self.loss, self.killed, self.jitter, self.gain = 0.0, False, 0.002, 0.95
        self.late: Callable[[int], float] = lambda number: 0.0
        self.late_tick: Callable[[int], float] = lambda number: 0.0
        self.sending: Callable[[int], float] = lambda number: 0.0
        self.lie: Callable[[np.ndarray], np.ndarray | None] = lambda q: q
        self.executed: list[tuple[float, np.ndarray]] = []
        self.sent: list[tuple[float, np.ndarray]] = []
        self.verdict = Verdict()
        self.warnings: list[str] = []
        self._way: list[tuple[float, object]] = []
        self._forward = READY.copy()  # position or velocity that is forwarded
        if interface == 'velocity_commands':
            self._forward = np.zeros(len(READY))
        self._cycle = self._ticks = self._numbers = 0
        self._moment, self._poll, self._arrived, self._states_at = -np.inf, 0.0, 0.0, 0.0
        self._channels: list[CommandChannel] = []
        self.restart()

    # The node

    def restart(self) -> None:
        """Begin with new followers, as a node that is started or gets another description."""
        self.followers = Followers(
            MeasuredState(self.arm),
            SolverSettings(),
            self.settings,
            self,  # type: ignore[arg-type]
            Frames(),
            CollisionWorld(Frames()),
            self.warnings.append,
        )
        self._moment, self.killed = -np.inf, False

    @property
    def follower(self):
        return self.followers.default.follower

    def configure(self, **settings: float) -> None:
        """Change settings while it runs."""
        self.settings = self.settings.changed(settings)
        self.followers.configure(SolverSettings(), self.settings)

    def target(self, q: np.ndarray) -> None:
        """Send a target: where the tip is with joints at q (n,)."""
        message = PoseStamped(pose=pose_from_matrix(self.chain.forward(np.asarray(q, float))))
        message.header.frame_id = self.chain.base_link
        self.followers.on_target('', message)

    def trajectory(self, *points: np.ndarray, seconds: float = 1.0) -> TrajectoryGoal:
        """Play a trajectory from where the arm is through positions, evenly in time."""
        start = self.follower.commanded
        rows = np.vstack([self.q if start is None else start, *points])
        times = np.linspace(0.0, seconds, len(rows))
        velocities = np.zeros_like(rows)
        velocities[1:-1] = (rows[2:] - rows[:-2]) / (times[2:] - times[:-2])[:, None]
        way = JointTrajectory(self.names, times, rows, velocities)
        goal = TrajectoryGoal(way, self.follower.limits, 1.0 / self.settings.rate)
        self.followers.default.follow_goal(goal)
        return goal

    # The publisher of commands, for the followers

    def channel(self, names, measured):
        kind = CHANNELS[self.interface]
        group = CommandedGroup(names, kind.joints(names), measured, self.clock)
        blending = kind is TrajectoryChannel
        self._channels.append(kind(group, self) if blending else kind(group))
        return self._channels[-1]

    def unfit(self, names, arm):
        return ''

    def report(self):
        return {}

    def serialize(self, message):
        self._numbers += 1
        self._pass(self.sending(self._numbers))
        # What the message says now: the node fills it again and again.
        if self.interface == 'joint_trajectory':
            return Trajectory.of(message)
        return np.array(message.position if self.interface == 'joint_command' else message.data)

    def publish(self, message):
        late = self.late(self._numbers)
        if self.random.random() >= self.loss:
            way = 0.001 + self.jitter * self.random.random() + late
            self._arrived = max(self._arrived, self.real + way)
            self._way.append((self._arrived, message))
        if self.interface != 'joint_trajectory':
            self.sent.append((self.graph.now, message))

    # Time

    def run(self, seconds: float) -> Wire:
        """Let real time pass; return itself."""
        end = self.real + seconds
        while self.real < end - 1e-9:
            self._pass(_STEP)
            if not self.killed and self.real >= self._poll:
                self._tick()
        return self

    def pause(self, seconds: float) -> None:
        """Let real time pass while the node does nothing."""
        self._pass(seconds)

    def _tick(self) -> None:
        now = self.clock.now()
        wait = max(self.clock.wait(self._moment), 0.0)
        self._poll = self.real + (min(wait, _POLL) if self.graph.simulated else wait)
        if now < self._moment:
            return
        self._ticks += 1
        late = self.late_tick(self._ticks)
        if late > 0.0:
            self._pass(late)
            now = self.clock.now()
        self.followers.tick(now)
        period = 1.0 / self.settings.rate
        self._moment = max(self._moment + period, now + _SHORTEST * period)

    def _pass(self, seconds: float) -> None:
        """Let real time pass for all but the node."""
        for _ in range(round(seconds / _STEP)):
            self.real += _STEP
            self.graph.advance(self.real, _STEP, self.random)
            while self._way and self._way[0][0] <= self.real:
                self._receive(self._way.pop(0)[1])
            cycle = int(self.graph.now / CYCLE)
            if cycle != self._cycle:
                self._cycle = cycle
                self._control(cycle * CYCLE)
            if self.real - self._states_at >= 0.01:
                self._states_at = self.real
                self._measure()

    # The controller and the arm

    def _control(self, now: float) -> None:
        if self.interface == 'joint_trajectory':
            self._judge_join(now)
            out = self.controller.update(now, self.q, self.velocity)
        elif self.interface == 'velocity_commands':
            out = self.q + CYCLE * self._forward
        else:
            out = self._forward
        self.executed.append((now, np.array(out)))
        moved = (out - self.q) * -np.expm1(-CYCLE / self._servo)
        if self.interface == 'velocity_commands':
            moved = self.gain * CYCLE * self._forward
        self.q, self.velocity = self.q + moved, moved / CYCLE

    def _measure(self) -> None:
        q = self.lie(self.q.copy())
        if q is not None and not self.killed:
            state = JointState(name=list(self.names), position=q.tolist())
            seconds, rest = divmod(round(1e9 * self.graph.now), 10**9)
            state.header.stamp.sec, state.header.stamp.nanosec = seconds, rest
            self.followers.on_joint_states(state)

    def _receive(self, message: Trajectory | np.ndarray) -> None:
        self.verdict.messages += 1
        if self.interface != 'joint_trajectory':
            self._forward = message
            if self.interface == 'velocity_commands' and self._forward.any():
                self.verdict.overrun = np.inf
            return
        reason = self.controller.receive(message, self.graph.now)
        self.verdict.refused += bool(reason)
        self._judge_rest(message)

    # Verdicts

    def _judge_join(self, now: float) -> None:
        """Compare a new trajectory with what the controller would go on with."""
        if self.controller._new is None or not self.executed:
            return
        without, taken = copy.copy(self.controller), copy.copy(self.controller)
        without._new = None
        without._active = copy.copy(without._active)
        taken._active = copy.copy(taken._active)
        away = taken.update(now, self.q, self.velocity) - without.update(
            now, self.q, self.velocity
        )
        self.verdict.join = max(self.verdict.join, float(np.abs(away).max()))

    def _judge_rest(self, message: Trajectory) -> None:
        end = np.array(message.points[-1].positions)
        here = self.executed[-1][1] if self.executed else self.q
        speed = np.abs([point.velocities for point in message.points]).max(axis=0)
        chain, verdict = self.chain, self.verdict
        braking = speed**2 / (2.0 * self.limits.acceleration_now)
        reaction = _REACTION + (_BLENDED if self.blends else 0.0) + 0.5 * self.limits.window
        over = np.abs(end - here) - braking - reaction * speed - _NOTHING
        verdict.overrun = max(verdict.overrun, float(over.max()))
        outside = np.maximum(chain.lower - end, end - chain.upper)
        verdict.outside = max(verdict.outside, float(outside.max()))
        lasts = message.stamp + message.points[-1].time - self.graph.now
        verdict.lasts = max(verdict.lasts, lasts)

    def judged(self, scaling: float | None = None) -> Verdict:
        """
        Return the verdict.

        :param scaling: the largest share of the speed that was in force; None for that now.
        """
        share = self.settings.velocity_scaling if scaling is None else scaling
        limits = self.settings.changed({'velocity_scaling': share})
        bounds = limits.motion_limits(self.chain, self.arm.bounds)
        fastest, most = bounds.velocity_now, bounds.acceleration_now
        verdict = self.verdict
        verdict.gate = sum(channel.refusals for channel in self._channels)
        if self.interface == 'joint_trajectory' or not self.sent:
            times, rows = map(np.array, zip(*self.executed, strict=True))
            steps = np.diff(rows, axis=0)
            long = rows[_MEAN:] - rows[:-_MEAN]
            speeds = long[::1] / (_MEAN * CYCLE)
            change = np.abs(speeds[_MEAN:] - speeds[:-_MEAN]) / (_MEAN * CYCLE)
            verdict.step = float((np.abs(steps) / (fastest * CYCLE)).max())
            if bounds.jerk is not None:
                jerks = np.abs(np.diff(steps, n=2, axis=0)) / CYCLE**3
                verdict.jerk = float((jerks / (bounds.jerk * bounds.unit)).max())
        else:
            times, rows = map(np.array, zip(*self.sent, strict=True))
            passed = np.maximum(np.diff(times), 1e-3)[:, None]
            if self.interface == 'velocity_commands':
                speeds, change = rows, np.abs(np.diff(rows, axis=0)) / passed
            else:
                speeds = np.diff(rows, axis=0) / passed
                beyond = (np.abs(speeds) - fastest) * passed
                verdict.join = max(verdict.join, float(beyond.max()))
                change = np.abs(np.diff(speeds, axis=0)) / passed[1:]
            verdict.step = float((np.abs(speeds) / fastest).max())
        verdict.velocity = float((np.abs(speeds) / fastest).max())
        verdict.acceleration = float((change / most).max()) if len(change) else 0.0
        return verdict
