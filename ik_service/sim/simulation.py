"""A simulated arm in the course of time, with faults on request; knows no ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
import threading
import time

import numpy as np

from ik_service.common.fault_log import Complaint
from ik_service.exceptions import IkServiceError, SimulationError
from ik_service.sim.faults import FaultSettings, FaultyLine
from ik_service.sim.real_time import RealTime
from ik_service.sim.simulated_arm import SimulatedArm

_LONGEST_STEP = 0.1
"""
What is simulated at once, at most, unless the period is long [s]: after the process was suspended
nothing leaps.
"""

_PAUSE = 0.1
"""Time without commands after which those that come belong to another stream [s]."""

_DEAF = 2.5
"""How long commands of the stream that a reset has interrupted are ignored, at most [s]."""

_NEAR = 0.05
"""Distance to the arm below which a command can do no harm [rad] or [m]."""

Command = tuple[Sequence[str], Sequence[float], Sequence[float]]


@dataclass(frozen=True)
class ArmState:
    """
    The joints of an arm as they are measured.

    :ivar names: all movable joints.
    :ivar positions: (k,) [rad] or [m].
    :ivar velocities: (k,) [rad/s] or [m/s].
    :ivar efforts: (k,) [Nm] or [N]; None with an engine without forces.
    :ivar stamp: when, as the caller counts the time.
    """

    names: tuple[str, ...]
    positions: np.ndarray
    velocities: np.ndarray
    efforts: np.ndarray | None
    stamp: object


class Simulation:
    """
    An arm that obeys commands while the time passes. Safe to share between threads.

    :param faults: what goes wrong.
    :param bad_commands: told of commands that cannot be understood.
    :param break_downs: told when the simulation of the arm has broken down.
    :param period: time between two calls of :meth:`advance`, as it is planned [s].
    :param now: when it begins, on the monotonic clock [s]; the present when left out.
    :ivar paused: whether the time stands still; states are measured all the same.
    :ivar clock: how fast it runs.
    """

    def __init__(
        self,
        faults: FaultSettings,
        bad_commands: Complaint,
        break_downs: Complaint,
        period: float = 0.01,
        now: float | None = None,
    ) -> None:
        self.paused = False
        self._longest_step = max(_LONGEST_STEP, 2.0 * period)
        self._lock = threading.RLock()
        self._bad_commands = bad_commands
        self._break_downs = break_downs
        self._faults = faults
        self._arm: SimulatedArm | None = None
        self._now = time.monotonic() if now is None else now
        self.clock = RealTime(self._now)
        self._commanded_at = self._deaf_until = -math.inf
        self._begin_anew()

    @property
    def arm(self) -> SimulatedArm | None:
        """The arm; None as long as there is none."""
        return self._arm

    @property
    def faults(self) -> FaultSettings:
        """What goes wrong."""
        return self._faults

    def use(self, arm: SimulatedArm) -> None:
        """
        Go on with another arm.

        :raises UnknownJointError: it does not have the joint that shall be stuck.
        """
        with self._lock:
            arm.block(self._faults.stuck_joint)
            self._arm = arm

    def set_faults(self, faults: FaultSettings) -> None:
        """
        Let other things go wrong from now on.

        :raises UnknownJointError: the arm does not have the joint that shall be stuck.
        """
        with self._lock:
            if self._arm is not None:
                self._arm.block(faults.stuck_joint)
            seed, self._faults = self._faults.seed, faults
            if faults.seed != seed:
                self._begin_anew()

    def reset(self, now: float) -> bool:
        """
        Put the arm where it started, at rest; return whether there is one.

        Commands that are still on their way elsewhere are ignored until their stream pauses.

        :param now: on the monotonic clock [s].
        """
        with self._lock:
            if self._arm is None:
                return False
            self._begin_anew()
            self._arm.reset()
            self._deaf_until = now + _DEAF
            return True

    def command(self, command: Command, now: float) -> None:
        """
        Take in a command: names, positions and speeds, see :meth:`SimulatedArm.command`.

        :param now: on the monotonic clock [s].
        """
        with self._lock:
            if self._is_of_the_past(command, now):
                return
            faults = self._faults
            self._commands.put(command, now, faults.lost_commands, faults.command_delay)
            self._obey(now)

    def advance(self, now: float, stamp: object) -> list[ArmState]:
        """
        Let the time pass.

        :param now: on the monotonic clock [s].
        :param stamp: now, for the states.
        :returns: the states that arrive now: none, one or several.
        """
        with self._lock:
            passed, self._now = min(now - self._now, self._longest_step), now
            self._obey(now)
            if self._arm is None:
                return []
            if not self.paused:
                self._step(self._arm, passed)
            faults = self._faults
            state = self._measure(self._arm, stamp)
            self._states.put(state, now, faults.lost_states, faults.state_delay)
            return self._states.due(now)

    def _begin_anew(self) -> None:
        self._random = np.random.default_rng(self._faults.seed)
        self._commands: FaultyLine[Command] = FaultyLine(self._random)
        self._states: FaultyLine[ArmState] = FaultyLine(self._random)

    def _is_of_the_past(self, command: Command, now: float) -> bool:
        """Whether a command belongs to a stream that a reset has interrupted."""
        paused, self._commanded_at = now - self._commanded_at > _PAUSE, now
        if now < self._deaf_until and not paused and self._arm is not None:
            here = dict(zip(self._arm.joint_names, self._arm.positions.tolist(), strict=True))
            names, positions, _ = command
            if any(
                abs(q - here.get(name, q)) > _NEAR
                for name, q in zip(names, positions, strict=False)
            ):
                return True
        self._deaf_until = -math.inf
        return False

    def _obey(self, now: float) -> None:
        for command in self._commands.due(now):
            if self._arm is None:
                continue
            try:
                self._arm.command(*command)
            except IkServiceError as error:
                self._bad_commands.about(f'a command is ignored: {error}')
            else:
                self._bad_commands.settle()

    def _step(self, arm: SimulatedArm, passed: float) -> None:
        began = time.monotonic()
        try:
            arm.step(passed)
        except SimulationError as error:
            self._break_downs.about(str(error))
        else:
            self._break_downs.settle()
        self.clock.add(passed, time.monotonic() - began)

    def _measure(self, arm: SimulatedArm, stamp: object) -> ArmState:
        positions, noise = arm.positions, self._faults.noise
        if noise > 0.0:
            positions = positions + self._random.normal(0.0, noise, len(positions))
        return ArmState(arm.joint_names, positions, arm.velocities, arm.efforts, stamp)
