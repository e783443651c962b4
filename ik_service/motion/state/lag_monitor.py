"""Monitor of how far an arm is from its commands: lagging, stuck, or moved by something else."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.settings import FollowerSettings

# Shares of the lag limit, which itself is only approached, at which lagging begins and ends; and
# the one that an arm has to come below within a time after the commands have come to rest [s].
_LAGS, _CAUGHT_UP = 0.9, 0.5
_OFF, _SETTLING_TIME = 0.05, 1.0

_SLOWEST = 0.01  # speed that slower joints count with, for which noise would be a lag [rad/s]
_DISPLACED = 2.0  # share of the lag limit at which something else must have moved the arm
_MOVED_TIME = 0.2  # time for which an arm at rest has to be found elsewhere to count as moved [s]
_LEVER = 0.2  # motion of a sliding joint that counts as much as a radian [m]

_PROGRESS, _COARSEST = 0.004, 0.02
"""
Motion of a joint that does not stand still [rad], more than the noise of most encoders; and where
there is more noise, at most.
"""

_NOISES = 5.0  # standard deviations of noise that are no motion

_STANDING = 0.05
"""Time without progress after which a joint stands still [s]: more than the delay of most arms."""

_BRAKING, _LEAD = 0.7, 0.9
"""Shares of the acceleration and of the lead limit that commands plan with to stop in time."""

_LEFT_BEHIND, _CREEP = 0.1, 0.0005
"""
Time for which a joint beyond the lead limit may stand still after commands came to rest [s], and
the distance by which it then has come nearer where it does not [rad]: slow arms creep.
"""

_WAITS = 0.1  # pace below which commands wait for a joint that stands still

_STEEPEST = 50.0
"""Acceleration that is planned with at most, in shares of the velocity limit [1/s]."""


@dataclass
class _Joint:
    """
    A joint that may move, and when it last did.

    :ivar index: its position in the chain.
    :ivar speed: its velocity limit [rad/s] or [m/s].
    :ivar lever: motion that counts as a radian: 1 rad, or a length [m].
    :ivar distance: how far it is from its command [rad] or [m].
    :ivar still: where it was when it last moved [rad] or [m].
    :ivar still_since: when that was measured [s].
    :ivar still_distance: how far it was from its command then [rad] or [m].
    :ivar rest_distance: how far it was from its command when that came to rest [rad] or [m].
    :ivar moves: whether it was seen to move since something asks it to.
    :ivar progress: motion that is none of noise [rad] or [m].
    """

    index: int
    name: str
    speed: float
    lever: float
    progress: float = 0.0
    distance: float = 0.0
    still: float = math.nan
    still_since: float = math.nan
    still_distance: float = 0.0
    rest_distance: float = 0.0
    moves: bool = False

    @property
    def left_behind(self) -> bool:
        """Whether the commands have moved away from it while it stood still."""
        return self.distance - self.still_distance > self.progress

    def note(self, measured: float, measured_at: float, near: float, noise: float) -> None:
        """
        Note where it was measured [rad] or [m], and when [s], after its distance.

        :param near: distance from its command up to which nothing asks it to move [rad].
        :param noise: standard deviation of the noise in that [rad] or [m].
        """
        self.progress = min(max(_NOISES * noise, _PROGRESS * self.lever), _COARSEST * self.lever)
        # A joint that nothing asks to move makes no progress, and needs none.
        asked = self.distance > near * self.lever
        if not (asked and abs(measured - self.still) <= self.progress):
            self.moves = asked and not math.isnan(self.still)
            self.still, self.still_since = measured, measured_at
            self.still_distance = self.distance


class LagMonitor:
    """
    Monitor of the distance between commands and arm.

    :param speeds: (n,) the joints' velocity limits [rad/s] or [m/s].
    :ivar lagging: whether the arm does not keep up.
    :ivar moved: whether something else has moved an arm away from commands at rest.
    :ivar arrived: whether the arm has been where it is commanded since the commands rest.
    """

    def __init__(self, chain: KinematicChain, speeds: np.ndarray) -> None:
        kinds = [chain.robot.joints[name].type for name in chain.joint_names]
        levers = [_LEVER if kind is JointType.PRISMATIC else 1.0 for kind in kinds]
        parts = zip(chain.joint_names, speeds.tolist(), levers, strict=True)
        movable = [(i, *part) for i, part in enumerate(parts) if part[1] > 0.0]
        self._joints = [_Joint(*joint) for joint in movable]
        self.reset()

    def reset(self) -> None:
        """Begin with commands that start where the arm is."""
        self.lagging = self.moved = self.arrived = False
        self._off_since: float | None = None
        self._moved_since: float | None = None
        self._lag, self._lead_pace = 0.0, 1.0
        self._nearest = math.inf  # distance from a command at rest [rad], of the worst joint
        self._joints = [
            _Joint(joint.index, joint.name, joint.speed, joint.lever) for joint in self._joints
        ]
        self._measured_at, self._at_rest_since = -math.inf, math.inf

    @property
    def displaced(self) -> bool:
        """Whether something else must have moved the arm."""
        return self.moved or self._lag > _DISPLACED

    @property
    def pace(self) -> float:
        """Share of the full speed at which the commands may go on, 0 to 1."""
        return min(max(2.0 - 2.0 * self._lag, 0.0), self._lead_pace, 1.0)

    def stuck(self, at_rest: bool, settings: FollowerSettings) -> str:
        """
        Return which joint stands still away from its command; empty when none does.

        One that commands at rest have left behind by more than the lead limit is given less time:
        it would leap by as much, were it let go.

        :param at_rest: whether the commands stand still; otherwise they have to have moved.
        """
        worst, most = None, settings.moved_limit
        for joint in self._joints:
            stands = self._measured_at - joint.still_since >= settings.stuck_timeout
            if at_rest and not stands:
                stands = self._left_far_behind(joint, settings.lead_limit * joint.lever)
            if stands and joint.distance > most * joint.lever and (at_rest or joint.left_behind):
                worst, most = joint, joint.distance / joint.lever
        if worst is None:
            return ''
        return (
            f'{worst.name} has not moved for {self._measured_at - worst.still_since:.1f} s, '
            f'{worst.distance:.3f} {"rad" if worst.lever == 1.0 else "m"} from its command; is '
            'the arm switched on, its controller active, and no protective stop in force?'
        )

    def _left_far_behind(self, joint: _Joint, lead_limit: float) -> bool:
        """Return whether commands at rest are beyond the lead limit of a joint that stands."""
        least = max(lead_limit, joint.rest_distance - _CREEP * joint.lever)
        since = max(self._at_rest_since, joint.still_since)
        return (
            joint.left_behind
            and joint.distance > least
            and self._measured_at - since >= _LEFT_BEHIND
        )

    def update(
        self,
        commanded: np.ndarray,
        measured: np.ndarray,
        noise: np.ndarray,
        measured_at: float,
        at_rest: bool,
        settings: FollowerSettings,
        limits: MotionLimits,
        now: float,
    ) -> None:
        """
        Compare a command with the arm.

        :param commanded: (n,) where the arm shall be [rad] or [m].
        :param measured: (n,) where it is [rad] or [m].
        :param noise: (n,) standard deviations of the noise in that [rad] or [m].
        :param measured_at: when that was measured, on a monotonic clock [s].
        :param at_rest: whether the commands stand still.
        """
        # Plain numbers: for so few of them arrays would take ten times as long.
        fresh, self._measured_at = measured_at > self._measured_at, measured_at
        positions, noises, lag, off = measured.tolist(), noise.tolist(), 0.0, 0.0
        distances = np.abs(commanded - measured).tolist()
        # An arm near commands at rest has arrived: it may sag, or stick, for as long as they rest.
        near = max(settings.moved_limit, _PROGRESS) if at_rest else _PROGRESS
        if not at_rest:
            self._at_rest_since = math.inf
        elif fresh and math.isinf(self._at_rest_since):
            self._at_rest_since = measured_at
            for joint in self._joints:
                joint.rest_distance = distances[joint.index]
        for joint in self._joints:
            distance = joint.distance = distances[joint.index]
            lag = max(lag, distance / max(joint.speed, _SLOWEST * joint.lever))
            off = max(off, distance / joint.lever)
            if fresh:
                joint.note(positions[joint.index], measured_at, near, noises[joint.index])
        self._lag = lag / settings.lag_limit
        self._lead_pace = self._pace_of_lead(settings, limits, now)
        self._note_lag(at_rest, now)
        self._note_moved(off, settings.moved_limit, at_rest)

    def _pace_of_lead(self, settings: FollowerSettings, limits: MotionLimits, now: float) -> float:
        """
        Return the pace from which commands can stop within the lead limit, 0 to 1.

        A joint that was never seen to move may stand still also while states are late.
        """
        pace = 1.0
        for joint in self._joints:
            seen_at = self._measured_at if joint.moves else now
            stands = seen_at - joint.still_since >= _STANDING
            if stands and joint.left_behind and limits.scaling > 0.0:
                acceleration = min(float(limits.acceleration[joint.index]), _STEEPEST)
                left = _LEAD * settings.lead_limit * joint.lever - joint.distance
                share = 2.0 * _BRAKING * acceleration * max(left, 0.0) / joint.speed
                pace = min(pace, math.sqrt(share) / limits.scaling)
        return pace

    def _note_lag(self, at_rest: bool, now: float) -> None:
        """Note whether the arm lags."""
        if not (at_rest and self._lag > _OFF):
            self._off_since = None
        elif self._off_since is None:
            self._off_since = now
        off = self._off_since is not None and now - self._off_since > _SETTLING_TIME
        waits = off or self._lead_pace < _WAITS
        self.lagging = waits or self._lag > (_CAUGHT_UP if self.lagging else _LAGS)

    def _note_moved(self, off: float, limit: float, at_rest: bool) -> None:
        """
        Note an arm that has arrived, and whether it was moved.

        One that has not arrived only comes nearer to a command at rest by itself.
        """
        near = off <= limit
        self.arrived = at_rest and (self.arrived or near)
        self._nearest = min(self._nearest, off) if at_rest else math.inf
        if near or not (self.arrived or off > self._nearest + limit):
            self._moved_since = None
        elif self._moved_since is None:
            self._moved_since = self._measured_at
        since = self._moved_since
        self.moved = since is not None and self._measured_at - since > _MOVED_TIME
