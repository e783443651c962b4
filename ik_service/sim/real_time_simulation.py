"""Real-time simulation of an arm that takes commands and is measured, with injected faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
import math
import threading
import time
from typing import Generic, TypeVar

import numpy as np

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError, OptionError, SimulationError
from ik_service.sim.simulated_arm import SimulatedArm

T = TypeVar('T')


@dataclass(frozen=True)
class FaultSettings:
    """
    Faults to inject; none by default.

    :ivar lost_commands: share of the commands that never arrive, 0 to 1.
    :ivar lost_states: share of the joint states that are never sent, 0 to 1.
    :ivar command_delay: delay of the commands [s].
    :ivar state_delay: delay of the joint states [s].
    :ivar stuck_joint: a joint that does not move; empty for none.
    :ivar noise: standard deviation of the error of measured positions [rad] or [m].
    :ivar seed: seed of the random numbers; the same seed makes the same faults.
    :raises OptionError: naming the setting whose value cannot be.
    """

    lost_commands: float = 0.0
    lost_states: float = 0.0
    command_delay: float = 0.0
    state_delay: float = 0.0
    stuck_joint: str = ''
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ('lost_commands', 'lost_states'):
            self._check(name, 0.0 <= getattr(self, name) <= 1.0, 'from 0 to 1')
        for name in ('command_delay', 'state_delay', 'noise', 'seed'):
            self._check(name, 0.0 <= getattr(self, name) < math.inf, 'at least 0')

    def _check(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise OptionError(name, f'has to be {wanted}, not {getattr(self, name)!r}')

    def __str__(self) -> str:
        """Return the faults that are present, or ``none``."""
        present = {
            name: value
            for name, value in vars(self).items()
            if name != 'seed' and value != getattr(FaultSettings, name)
        }
        return ', '.join(f'{name} {value}' for name, value in present.items()) or 'none'


class FaultyChannel(Generic[T]):
    """Channel that loses and delays messages, but keeps their order."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._waiting: deque[tuple[float, T]] = deque()

    def send(self, message: T, now: float, lost: float, delay: float) -> None:
        """
        Send a message.

        :param now: on any clock [s].
        :param lost: probability that it never arrives, 0 to 1.
        :param delay: time after which it arrives [s].
        """
        if lost > 0.0 and self._random.random() < lost:
            return
        self._waiting.append((now + delay, message))

    def receive(self, now: float) -> list[T]:
        """Take the messages that have arrived, the oldest first."""
        arrived = []
        while self._waiting and self._waiting[0][0] <= now:
            arrived.append(self._waiting.popleft()[1])
        return arrived


class RealTimeFactor:
    """
    Meter of how fast simulated time runs.

    :ivar simulated: total simulated time [s].
    """

    def __init__(self, now: float) -> None:
        self.simulated = 0.0
        self._since = now
        self._before = 0.0
        self._busy = 0.0

    def add(self, simulated: float, busy: float) -> None:
        """Add a step of the simulation of some length [s], and the time that it took [s]."""
        self.simulated += simulated
        self._busy += busy

    def measure(self, now: float) -> tuple[float, float]:
        """
        Return the real-time factor and the load since the last call.

        :param now: later than at the last call [s].
        :returns: the real-time factor, 1 when simulated time keeps up with the clock; and the
            share of the time that was spent computing.
        """
        passed = now - self._since
        factor, load = (self.simulated - self._before) / passed, self._busy / passed
        self._since, self._before, self._busy = now, self.simulated, 0.0
        return factor, load


_LONGEST_STEP = 0.1
"""
Longest time that one step simulates, unless the period is long [s]: nothing leaps after the
process was suspended.
"""

_GAP = 0.5  # time without commands that separates two streams: longer than one stalls for [s]

_LONGEST_IGNORED = 2.5
"""Longest time for which the stream of commands that a reset interrupted is ignored [s]."""

_NEAR = 0.05  # distance to the arm below which a command is harmless [rad] or [m]

JointCommand = tuple[Sequence[str], Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class ArmState:
    """
    Measured joints of an arm.

    :ivar names: all movable joints.
    :ivar positions: (k,) [rad] or [m].
    :ivar velocities: (k,) [rad/s] or [m/s].
    :ivar efforts: (k,) [Nm] or [N]; None with an engine without forces.
    :ivar stamp: time of the measurement, in the form that the caller gave.
    """

    names: tuple[str, ...]
    positions: np.ndarray
    velocities: np.ndarray
    efforts: np.ndarray | None
    stamp: object


class RealTimeSimulation:
    """
    Simulated arm in real time, behind channels with faults. Safe to share between threads.

    :param period: planned time between two calls of :meth:`advance` [s].
    :param now: when it begins, on the monotonic clock [s]; the present when left out.
    :ivar arm: the arm, of :meth:`set_arm`; None as long as there is none.
    :ivar faults: faults that are injected, of :meth:`set_faults`.
    :ivar paused: whether the simulated time stands still; states are measured all the same.
    :ivar real_time: how fast the simulated time runs.
    """

    def __init__(
        self,
        faults: FaultSettings,
        bad_commands: FaultLogger,
        break_downs: FaultLogger,
        period: float = 0.01,
        now: float | None = None,
    ) -> None:
        self.paused = False
        self._longest_step = max(_LONGEST_STEP, 2.0 * period)
        self._lock = threading.RLock()
        self._bad_commands = bad_commands
        self._break_downs = break_downs
        self.faults = faults
        self.arm: SimulatedArm | None = None
        self._now = time.monotonic() if now is None else now
        self.real_time = RealTimeFactor(self._now)
        self._commanded_at = self._ignored_until = -math.inf
        self._restart_channels()

    def set_arm(self, arm: SimulatedArm) -> None:
        """Replace the arm; raises UnknownJointError where the stuck joint is not of it."""
        with self._lock:
            arm.block(self.faults.stuck_joint)
            self.arm = arm

    def set_faults(self, faults: FaultSettings) -> None:
        """Replace the injected faults; raises UnknownJointError for a stuck joint."""
        with self._lock:
            if self.arm is not None:
                self.arm.block(faults.stuck_joint)
            seed, self.faults = self.faults.seed, faults
            if faults.seed != seed:
                self._restart_channels()

    def reset(self, now: float) -> bool:
        """
        Put the arm where it started, at rest; return whether there is one.

        Commands still heading elsewhere are ignored until their stream pauses.
        """
        with self._lock:
            if self.arm is None:
                return False
            self._restart_channels()
            self.arm.reset()
            self._ignored_until = now + _LONGEST_IGNORED
            return True

    def command(self, command: JointCommand, now: float, streamed: bool = True) -> None:
        """
        Send a command to the arm, as :meth:`.SimulatedArm.command` takes it.

        :param streamed: whether it may belong to a stream that a reset has interrupted.
        """
        with self._lock:
            if streamed and self._is_interrupted(command, now):
                return
            self._run_until(now)  # up to now, the one before has counted
            faults = self.faults
            self._commands.send(command, now, faults.lost_commands, faults.command_delay)
            self._obey(now)

    def advance(self, now: float, stamp: object) -> list[ArmState]:
        """Advance to a time; return the states that arrive now: none, one or several."""
        with self._lock:
            self._obey(now)
            self._run_until(now)
            if self.arm is None:
                return []
            faults = self.faults
            state = self._measure(self.arm, stamp)
            self._states.send(state, now, faults.lost_states, faults.state_delay)
            return self._states.receive(now)

    def _restart_channels(self) -> None:
        """Empty both channels, and begin the random numbers again."""
        self._random = np.random.default_rng(self.faults.seed)
        self._commands: FaultyChannel[JointCommand] = FaultyChannel(self._random)
        self._states: FaultyChannel[ArmState] = FaultyChannel(self._random)

    def _is_interrupted(self, command: JointCommand, now: float) -> bool:
        """Whether a command belongs to a stream that a reset has interrupted."""
        paused, self._commanded_at = now - self._commanded_at > _GAP, now
        if now < self._ignored_until and not paused and self.arm is not None:
            here = dict(zip(self.arm.joint_names, self.arm.positions.tolist(), strict=True))
            names, positions, _ = command
            if any(
                abs(q - here.get(name, q)) > _NEAR
                for name, q in zip(names, positions, strict=False)
            ):
                return True
        self._ignored_until = -math.inf
        return False

    def _obey(self, now: float) -> None:
        """Give the arm the commands that have arrived."""
        for command in self._commands.receive(now):
            if self.arm is None:
                continue
            try:
                self.arm.command(*command)
            except IkServiceError as error:
                self._bad_commands.report(f'a command is ignored: {error}')
            else:
                self._bad_commands.clear()

    def _run_until(self, now: float) -> None:
        """Let the arm move on to a time."""
        passed, self._now = min(now - self._now, self._longest_step), max(now, self._now)
        if self.arm is not None and not self.paused and passed > 0.0:
            self._step(self.arm, passed)

    def _step(self, arm: SimulatedArm, passed: float) -> None:
        began = time.monotonic()
        try:
            arm.step(passed)
        except SimulationError as error:
            self._break_downs.report(str(error))
        else:
            self._break_downs.clear()
        self.real_time.add(passed, time.monotonic() - began)

    def _measure(self, arm: SimulatedArm, stamp: object) -> ArmState:
        positions, noise = arm.positions, self.faults.noise
        if noise > 0.0:
            positions = positions + self._random.normal(0.0, noise, len(positions))
        return ArmState(arm.joint_names, positions, arm.velocities, arm.efforts, stamp)
