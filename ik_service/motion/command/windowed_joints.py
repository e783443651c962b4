"""Joints of a controller that plays trajectories, and the windows of motion that it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ik_service.motion.command.command_stream import FollowerCommand
from ik_service.motion.command.command_window import CommandWindow, DELAY, MARGIN, PlannedMotion
from ik_service.motion.command.gate import CommandedJoints
from ik_service.motion.command.motion_limits import largest, MotionLimits
from ik_service.motion.command.trajectory_gate import CubicMotion, TAKEN_UP, TrajectoryGate
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory, segment_coefficients

LAG, BRIDGE = 0.06, 0.04
"""
How late the motion is executed [s]: to the next window, and one that comes a little late. Time
from the beginning of a window to its first point [s]: the longer, the less changes a late window.
"""

INTERVAL = 0.05  # time between two windows [s], a period of the commands at least
BLENDED_HISTORY = LAG + 0.01  # length of a window's past [s]


class BlendedWindows:
    """
    Choice of the windows that are sent to a controller that blends them.

    :ivar newest: the newest window, which was not sent yet; None without one.
    """

    def __init__(self) -> None:
        self.newest: PlannedMotion | None = None
        self._sent_at = self._before = -np.inf

    @property
    def busy(self) -> bool:
        """Whether the newest window is still to be sent."""
        return self.newest is not None

    def has_stalled(self, now: float, period: float) -> bool:
        """Return whether the controller plays the last window to its rest."""
        known = LAG + (DELAY - 0.5) * period + MARGIN - TAKEN_UP
        return self._sent_at > -np.inf and now - self._sent_at > known

    def is_due(self, planned: PlannedMotion, now: float, period: float) -> bool:
        """Return whether a window is to be sent."""
        self.newest = planned
        return now - self._sent_at >= max(INTERVAL, period) - 0.5 * period

    def sent(self, now: float) -> PlannedMotion:
        """Take note that the newest window is sent; return it in the form for such controllers."""
        planned = self.newest
        assert planned is not None
        self.newest, self._before, self._sent_at = None, self._sent_at, now
        return delayed(planned, now)

    def discard(self) -> None:
        """Take note that the last window was not sent after all."""
        self._sent_at = self._before


def delayed(planned: PlannedMotion, now: float) -> PlannedMotion:
    """
    Return a window in the form for controllers that blend.

    By its stamp it is the same motion, so that others execute it as it is.

    :param planned: the window, which covers at least the last :data:`LAG` − :data:`BRIDGE`.
    """
    motion, start = planned.trajectory, now - LAG
    assert motion.velocities is not None
    first = start + BRIDGE
    q, velocity = planned.at(first)
    later = planned.start + motion.times > first + 1e-4
    return PlannedMotion(
        start,
        JointTrajectory(
            motion.joint_names,
            np.concatenate([[BRIDGE], planned.start + motion.times[later] - start]),
            np.vstack([q, motion.positions[later]]),
            np.vstack([velocity, motion.velocities[later]]),
        ),
    )


GroupLimits = tuple[np.ndarray, MotionLimits]
"""Indices (n,) of a group's joints among those of a controller, and the limits of their motion."""


class WindowedJoints(CommandedJoints):
    """
    Commands of the m joints of a controller that plays trajectories.

    :ivar spans: (m,) times over which the window of each joint is averaged [s]; 0 for those whose
        jerk is not limited.
    :ivar window: window around these commands, before it is averaged.
    :ivar gate: gate of the windows.
    :ivar blended: the choice of windows for a controller that blends them.
    """

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(names)
        self.spans = np.zeros(len(self.names))
        self.window = CommandWindow(self.names)
        self.gate = TrajectoryGate()
        self.blended = BlendedWindows()
        self._gates_sent = self.gate, self.gate  # after the last two windows that were sent
        self._bounds: dict[int, GroupLimits] = {}
        self._limits: MotionLimits | None = None

    def begin(self, user: int, held: np.ndarray) -> bool:
        """Begin commands of a group."""
        alone = super().begin(user, held)
        if alone:
            self.window.end()
        return alone

    def end(self, user: int, indices: np.ndarray) -> None:
        """End the commands of a group; after a stall the last window ends beside them."""
        super().end(user, indices)
        self._bounds.pop(user, None)
        final = self.window.final
        if final is not None and not self.users:
            self.q = final

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

        :param indices: (n,) indices of the group's joints.
        :param coast: whether the motion goes on for a while when nothing more comes.
        :param history: how far the window reaches into the past [s].
        """
        leads = command.q if command.leading is None else command.leading
        self.put(indices, leads, command.velocity)
        rested = indices[self.window.rested(indices)]
        if len(rested):  # joints still in motion go on being averaged as they are
            self.spans = self.spans.copy()
            self.spans[rested] = command.window
        longest = float(self.spans.max())
        planned = self.window.add(self.q, limits, now, period, coast, history, longest)
        return averaged(planned, self.spans)

    def limits(
        self, user: int, indices: np.ndarray, limits: MotionLimits, others: MotionLimits
    ) -> MotionLimits:
        """
        Return bounds on the motion of all joints.

        :param indices: (n,) indices of a group's joints.
        :param limits: bounds on their motion.
        :param others: those of all m joints, which count for joints that no group moves: they may
            come to rest yet, or be measured beside their last command.
        """
        known = self._bounds.get(user)
        if self._limits is None or known is None or known[1] is not limits:
            self._bounds.pop(user, None)
            self._bounds[user] = indices, limits  # the newest one counts for joints of several
            self._limits = limits_among(tuple(self._bounds.values()), others)
        return self._limits

    def admit(self, planned: PlannedMotion, limits: MotionLimits, now: float) -> bool:
        """Return whether the gate lets a window pass."""
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
        """Drop the commands after the last window that was sent: the controller plays that one."""
        self.window.back_to_sent()
        gate, sent = self.gate, self._gates_sent[-1]
        self.gate = replace(sent, refused=gate.refused, reason=gate.reason)


def limits_among(groups: Sequence[GroupLimits], others: MotionLimits) -> MotionLimits:
    """
    Return the limits of groups' joints at their indices among those of a controller.

    :param groups: indices (n,) of the joints of each group, and the limits of their motion.
    :param others: limits of all joints, which count for those of no group; jerks of these are not
        limited. The largest scaling counts for all.
    """
    indices, limits = groups[-1]
    count = len(others.velocity)
    if len(indices) == count and (indices == np.arange(count)).all():
        return limits
    free = np.full(count, np.inf)
    rows = np.array([others.lower, others.upper, others.velocity, others.acceleration, free])
    for places, its in groups:
        jerk = np.full(len(places), np.inf) if its.jerk is None else its.jerk
        rows[:, places] = its.lower, its.upper, its.velocity, its.acceleration, jerk
    lower, upper, velocity, acceleration, jerk = rows
    scaling = max(limits.scaling for _, limits in groups)
    return MotionLimits(lower, upper, velocity, scaling, acceleration, jerk)


_NEAR, _FAR = 1e-4, 0.01
"""
Time between two points of a window that is so short that one of them is enough [s], and so long
that there is another one between, as steps of uneven lengths have no constant acceleration.
"""


def averaged(planned: PlannedMotion, spans: np.ndarray) -> PlannedMotion:
    """
    Return the moving average of a window of motion, whose jerk is bounded at every instant.

    The acceleration of the window is constant between its points. So the average is a cubic
    between these times and the same times a span later; its acceleration is continuous, and its
    jerk is the difference of two accelerations of the window, divided by the span (see
    :class:`.averaged_motion.MovingAverage`). Where two windows agree, their averages agree from a
    span later on.

    :param planned: the window; it begins a span before the average does, and ends at rest.
    :param spans: (n,) times over which is averaged [s]; 0 for a joint that is taken as it is.
    """
    motion, longest = planned.trajectory, largest(spans)
    if longest == 0.0:
        return planned
    assert motion.velocities is not None
    times, rest, lags = motion.times, motion.positions[-1], np.unique([0.0, *spans])
    cubics = segment_coefficients(times, motion.positions - rest, motion.velocities, None)
    moments = _apart(np.add.outer(lags, times).ravel(), times[0] + longest)
    now, velocity, area = _along(times, cubics, moments)
    q = now.copy()
    for lag in lags[lags > 0.0]:
        joints = spans == lag
        before, _, area_before = _along(times, cubics[:, :, joints], moments - lag)
        q[:, joints] = (area[:, joints] - area_before) / lag
        velocity[:, joints] = (now[:, joints] - before) / lag
    q[-1], velocity[-1] = 0.0, 0.0  # without rounding
    trajectory = JointTrajectory(motion.joint_names, moments - moments[0], rest + q, velocity)
    return PlannedMotion(planned.start + moments[0], trajectory, planned.fresh)


def _along(
    times: np.ndarray, cubics: np.ndarray, moments: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """
    Return positions, velocities and integrals of the positions along a path (m, n).

    :param times: (k,) times of its points [s].
    :param cubics: (k−1, 6, n) of :func:`.joint_trajectory.segment_coefficients`.
    :param moments: (m,) the times at which [s]; after the last point it rests there.
    """
    moments = np.minimum(moments, times[-1])
    i = np.clip(times.searchsorted(moments, 'right') - 1, 0, len(cubics) - 1)
    q, v, a, b = cubics[:, :4].swapaxes(0, 1)
    h = np.diff(times)[:, None]
    whole = np.cumsum(h * (q + h * (v / 2.0 + h * (a / 3.0 + h * b / 4.0))), axis=0)
    areas = np.vstack([np.zeros_like(whole[:1]), whole])[i]
    q, v, a, b, t = q[i], v[i], a[i], b[i], (moments - times[i])[:, None]
    positions, velocities = q + t * (v + t * (a + t * b)), v + t * (2.0 * a + 3.0 * t * b)
    return positions, velocities, areas + t * (q + t * (v / 2.0 + t * (a / 3.0 + t * b / 4.0)))


def _apart(times: np.ndarray, first: float) -> np.ndarray:
    """Return times from a first to the last one, neither near each other nor far apart."""
    kept = [first]
    for time in np.sort(times[times > first]).tolist():
        if time - kept[-1] >= _NEAR:
            between = np.linspace(kept[-1], time, 2 + int((time - kept[-1]) // _FAR))
            kept.extend(between[1:].tolist())
    kept[-1] = float(times.max())
    return np.array(kept)
