"""Joints of a controller, of which one or more groups move some and the others are held."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from ik_service.motion.command.blended_windows import BlendedWindows
from ik_service.motion.command.command_window import CommandWindow, PlannedMotion
from ik_service.motion.command.gate import CubicMotion, PositionGate, TrajectoryGate
from ik_service.motion.command.jerk_limited_motion import averaged
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.settings import FollowerCommand

GroupLimits = tuple[np.ndarray, MotionLimits]
"""Places (n,) of a group's joints among those of a controller, and the limits of their motion."""


class CommandedJoints:
    """
    What a controller's m joints are commanded to do.

    :param names: the joints in the controller's order.
    :ivar names: the same.
    :ivar q: (m,) positions [rad] or [m]; of a joint that no group moves, where it was measured
        when the commands began.
    :ivar velocity: (m,) velocities [rad/s] or [m/s]; 0 for a joint that no group moves.
    :ivar spans: (m,) times over which the window of each joint is averaged [s]; 0 for those whose
        jerk is not limited.
    :ivar window: window around these commands, before it is averaged.
    :ivar gate: gate of the windows.
    :ivar blended: the choice of windows for a controller that blends them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.q = np.zeros(len(self.names))
        self.velocity = np.zeros(len(self.names))
        self.spans = np.zeros(len(self.names))
        self.window = CommandWindow(self.names)
        self.gate = TrajectoryGate()
        self.blended = BlendedWindows()
        self._gates_sent = self.gate, self.gate  # after the last two windows that were sent
        self._users: set[int] = set()
        self._bounds: dict[int, GroupLimits] = {}
        self._limits: MotionLimits | None = None

    @cached_property
    def positions(self) -> PositionGate:
        """Gate of positions that are sent one by one."""
        return PositionGate(len(self.names))

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """
        Return the places of a group's joints (n,).

        :param names: its joints, all of them among those of the controller.
        """
        return np.array([self.names.index(name) for name in names], dtype=np.intp)

    def begin(self, user: int, measured: np.ndarray) -> bool:
        """
        Begin commands of a group.

        :param user: number of the group.
        :param measured: (m,) where the joints are [rad] or [m], which holds for those that no
            group moves, unless others are on their way already.
        :returns: whether no others are.
        """
        alone = not self._users
        if alone:
            self.q, self.velocity = measured.copy(), np.zeros_like(measured)
            self.window.end()
        self._users.add(user)
        return alone

    def put(self, indices: np.ndarray, q: np.ndarray, velocity: np.ndarray) -> None:
        """
        Put in a group's command.

        :param indices: (n,) places of its joints.
        :param q: (n,) positions [rad] or [m].
        :param velocity: (n,) velocities [rad/s] or [m/s].
        """
        self.q, self.velocity = self.q.copy(), self.velocity.copy()
        self.q[indices], self.velocity[indices] = q, velocity

    def plan(
        self,
        indices: np.ndarray,
        command: FollowerCommand,
        limits: MotionLimits,
        now: float,
        period: float,
        coast: bool,
        history: float,
    ) -> PlannedMotion:
        """
        Return the window around the commands of all joints, of which a group's are new.

        :param indices: (n,) places of the group's joints.
        :param command: its command.
        :param limits: bounds on the motion of all joints.
        :param now: on a monotonic clock [s].
        :param period: time between two commands [s].
        :param coast: whether the motion goes on for a while when nothing more comes.
        :param history: how far the window reaches into the past [s].
        """
        leads = command.q if command.leading is None else command.leading
        self.put(indices, leads, command.velocity)
        rested = indices[self.window.rested(indices)]
        if len(rested):  # what moves yet goes on being averaged as it is
            self.spans = self.spans.copy()
            self.spans[rested] = command.window
        longest = float(self.spans.max())
        planned = self.window.add(self.q, limits, now, period, coast, history, longest)
        return averaged(planned, self.spans)

    def limits(self, user: int, indices: np.ndarray, limits: MotionLimits) -> MotionLimits:
        """
        Return bounds on the motion of all joints, of which those of a group are given.

        :param user: number of the group.
        :param indices: (n,) places of its joints.
        :param limits: bounds on their motion, from now on.
        """
        known = self._bounds.get(user)
        if self._limits is None or known is None or known[1] is not limits:
            self._bounds.pop(user, None)
            self._bounds[user] = indices, limits  # the newest one counts for joints of several
            self._limits = limits_among(tuple(self._bounds.values()), len(self.names))
        return self._limits

    def admit(self, planned: PlannedMotion, limits: MotionLimits, now: float) -> bool:
        """
        Return whether the gate lets a window pass.

        :param planned: the window.
        :param limits: bounds on the motion of all joints.
        :param now: on the clock of the commands [s].
        """
        points = planned.trajectory
        assert points.velocities is not None
        if planned.fresh:
            self.gate.begin(points.positions[0], now)
        motion = CubicMotion.of(planned.start + points.times, points.positions, points.velocities)
        return self.gate.admit(motion, limits.joint_bounds, now)

    def mark_sent(self) -> None:
        """Take note that the last window was sent, where not all of them are."""
        self.window.mark_sent()
        self._gates_sent = self._gates_sent[-1], replace(self.gate)

    def unmark_sent(self) -> None:
        """Take note that it was not sent after all."""
        self.window.unmark_sent()
        self._gates_sent = self._gates_sent[0], self._gates_sent[0]

    def back_to_sent(self) -> None:
        """Forget what came after the last window that was sent: the controller plays that one."""
        self.window.back_to_sent()
        gate, sent = self.gate, self._gates_sent[-1]
        self.gate = replace(sent, refused=gate.refused, reason=gate.reason)

    def end(self, user: int, indices: np.ndarray) -> None:
        """
        End the commands of a group; its joints are held as long as others move.

        :param user: number of the group.
        :param indices: (n,) places of its joints.
        """
        self._users.discard(user)
        self._bounds.pop(user, None)
        self.put(indices, self.q[indices], np.zeros(len(indices)))


def limits_among(groups: Sequence[GroupLimits], count: int) -> MotionLimits:
    """
    Return the limits of groups' joints in the places that they have among those of a controller.

    :param groups: places (n,) of the joints of each group, and the limits of their motion.
    :param count: number of the controller's joints; those of no group have no limits of their
        positions. The largest scaling counts for all.
    """
    indices, limits = groups[-1]
    if len(indices) == count and (indices == np.arange(count)).all():
        return limits
    fastest = max(limits.acceleration.max() for _, limits in groups)
    others = -np.inf, np.inf, 1.0, fastest, np.inf
    rows = np.repeat(np.array(others)[:, None], count, axis=1)
    for places, its in groups:
        jerk = np.full(len(places), np.inf) if its.jerk is None else its.jerk
        rows[:, places] = its.lower, its.upper, its.velocity, its.acceleration, jerk
    lower, upper, velocity, acceleration, jerk = rows
    scaling = max(limits.scaling for _, limits in groups)
    return MotionLimits(lower, upper, velocity, scaling, acceleration, jerk)
