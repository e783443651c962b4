"""Monitor of how far an arm is from its commands: lagging, stuck, or moved by something else."""

from __future__ import annotations

import numpy as np

from ik_service.following.motion_limits import MotionLimits
from ik_service.following.settings import FollowerSettings
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType

# Shares of the lag limit, which itself is only approached, at which lagging begins and ends; and
# the one that an arm has to come below within a time after the commands have come to rest [s].
_LAGS, _CAUGHT_UP = 0.9, 0.5
_OFF, _SETTLING_TIME = 0.05, 1.0

_DISPLACED = 2.0
"""Share of the lag limit at which something else must have moved the arm."""

_MOVED_TIME = 0.2
"""Time for which an arm at rest has to be found elsewhere to count as moved [s]."""

_LEVER = 0.2
"""Motion of a sliding joint that counts as much as a radian [m]."""

_PROGRESS = 0.004
"""Motion of a joint that does not stand still [rad], more than the noise of most encoders."""

_STANDING = 0.05
"""Time without progress after which a joint stands still [s]: more than the delay of most arms."""

_BRAKING, _LEAD = 0.7, 0.9
"""Shares of the acceleration and of the lead limit that commands plan with to stop in time."""

_WAITS = 0.1
"""Pace below which commands wait for a joint that stands still."""

_STEEPEST = 50.0
"""Acceleration that is planned with at most, in shares of the velocity limit [1/s]."""


class LagMonitor:
    """
    Monitor of the distance between commands and arm.

    :param chain: the chain.
    :param speeds: (n,) the joints' velocity limits [rad/s] or [m/s].
    :ivar lagging: whether the arm does not keep up.
    :ivar moved: whether something else has moved an arm that had arrived.
    :ivar arrived: whether the arm has been where it is commanded since the commands rest.
    """

    def __init__(self, chain: KinematicChain, speeds: np.ndarray) -> None:
        self._movable = speeds > 0.0
        self._speeds = speeds[self._movable]
        names = np.array(chain.joint_names)[self._movable]
        self._names = [str(name) for name in names]
        kinds = [chain.robot.joints[name].type for name in self._names]
        sliding = np.array([kind is JointType.PRISMATIC for kind in kinds], dtype=bool)
        self._lever = np.where(sliding, _LEVER, 1.0)
        self.reset()

    def reset(self) -> None:
        """Begin with commands that start where the arm is."""
        self.lagging = self.moved = self.arrived = False
        self._off_since: float | None = None
        self._moved_since: float | None = None
        self._lag, self._lead_pace = 0.0, 1.0
        self._distance = np.zeros(len(self._speeds))
        self._still = np.full(len(self._speeds), np.nan)
        self._still_since = np.full(len(self._speeds), np.nan)
        self._still_distance = np.zeros(len(self._speeds))
        self._measured_at = -np.inf

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

        :param at_rest: whether the commands stand still; otherwise they have to have moved.
        :param settings: how far and for how long it may.
        """
        off = self._distance / self._lever
        stands = (self._standing() >= settings.stuck_timeout) & (at_rest | self._left_behind)
        worst = int(np.argmax(np.where(stands, off, -1.0))) if len(off) else 0
        if not len(off) or not stands[worst] or off[worst] <= settings.moved_limit:
            return ''
        unit = 'rad' if self._lever[worst] == 1.0 else 'm'
        return (
            f'{self._names[worst]} has not moved for {self._standing()[worst]:.1f} s, '
            f'{self._distance[worst]:.3f} {unit} from its command; is the arm switched on, its '
            'controller active, and no protective stop in force?'
        )

    def update(
        self,
        commanded: np.ndarray,
        measured: np.ndarray,
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
        :param measured_at: when that was measured, on a monotonic clock [s].
        :param at_rest: whether the commands stand still.
        :param settings: the limits of lag and lead.
        :param limits: bounds on the motion.
        :param now: on the clock of ``measured_at`` [s].
        """
        self._distance = np.abs(commanded - measured)[self._movable]
        self._lag = float((self._distance / self._speeds).max(initial=0.0)) / settings.lag_limit
        if not (at_rest and self._lag > _OFF):
            self._off_since = None
        elif self._off_since is None:
            self._off_since = now
        if measured_at > self._measured_at:
            self._note_progress(measured[self._movable], measured_at)
        self._lead_pace = self._pace_of_lead(settings, limits)
        off = self._off_since is not None and now - self._off_since > _SETTLING_TIME
        waits = off or self._lead_pace < _WAITS
        self.lagging = waits or self._lag > (_CAUGHT_UP if self.lagging else _LAGS)
        self._note_moved(at_rest, settings.moved_limit, now)

    @property
    def _left_behind(self) -> np.ndarray:
        """Mask of the joints that stand still while the commands move away from them (n,)."""
        return self._distance - self._still_distance > _PROGRESS * self._lever

    def _standing(self) -> np.ndarray:
        """Return for how long the joints have stood still, as far as was measured (n,) [s]."""
        return np.nan_to_num(self._measured_at - self._still_since, nan=0.0)

    def _note_progress(self, measured: np.ndarray, measured_at: float) -> None:
        self._measured_at = measured_at
        moved = ~(np.abs(measured - self._still) <= _PROGRESS * self._lever)
        # A joint that nothing asks to move makes no progress, and needs none.
        moved |= self._distance <= _PROGRESS * self._lever
        self._still = np.where(moved, measured, self._still)
        self._still_since = np.where(moved, measured_at, self._still_since)
        self._still_distance = np.where(moved, self._distance, self._still_distance)

    def _pace_of_lead(self, settings: FollowerSettings, limits: MotionLimits) -> float:
        """Return the pace from which commands can stop within the lead limit, 0 to 1."""
        stands = (self._standing() >= _STANDING) & self._left_behind
        if not stands.any() or limits.scaling <= 0.0:
            return 1.0
        left = np.maximum(_LEAD * settings.lead_limit * self._lever - self._distance, 0.0)
        acceleration = np.minimum(limits.acceleration[self._movable], _STEEPEST)
        fastest = np.sqrt(2.0 * _BRAKING * acceleration * left / self._speeds) / limits.scaling
        return float(np.where(stands, fastest, 1.0).min(initial=1.0))

    def _note_moved(self, at_rest: bool, limit: float, now: float) -> None:
        """Note an arm that has arrived, and whether it was moved afterwards."""
        near = bool((self._distance <= limit * self._lever).all())
        self.arrived = at_rest and (self.arrived or near)
        if near or not self.arrived:
            self._moved_since = None
        elif self._moved_since is None:
            self._moved_since = now
        self.moved = self._moved_since is not None and now - self._moved_since > _MOVED_TIME
