"""Settings and states of the follower."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from math import inf
from typing import Any

import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.joint_space import joint_speeds, JointSpace
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.command.motion_limits import averaging_window, LONGEST_RAMP, MotionLimits
from ik_service.solvers.options import check_flag, check_number


class FollowerState(Enum):
    """State of a follower; each value is a sentence about it."""

    IDLE = 'no target, no commands'
    FOLLOWING = 'moving to the target'
    REACHED = 'target reached; the commands hold the arm there'
    RELEASED = 'target reached; no more commands are sent'
    TRAJECTORY = 'executing a trajectory'
    SERVO = 'executing servo commands'
    UNREACHABLE = 'the target cannot be reached: the nearest pose found takes its place'
    CATCHING_UP = 'the joints cannot keep up with the target: they follow its path with a delay'
    RECONFIGURING = (
        'cannot continue along the target path in this branch: switching; the tip waits'
    )
    LAGGING = 'the arm lags behind the commands: they wait for it'
    NO_STATE = 'a target is set, but no joint state has arrived yet'
    AWAITING_REST = 'waiting for the arm to be at rest before the motion starts'
    AWAITING_CONTROLLER = 'waiting for what the controller says of its goals and trajectories'
    ARM_MOVES = 'the arm moves without commands: no motion starts until it is at rest'
    STATE_STALE = 'the joint states are stale: the commands have stopped'
    STATE_IMPLAUSIBLE = 'the joint states are implausible: the commands have stopped'
    TARGET_TIMED_OUT = 'no new target within target_timeout: the last one was dropped'
    TARGET_DROPPED = 'target dropped: waiting for a new one, or ~/enable'
    COLLISION_AHEAD = 'stopped before a collision: waiting for a new command, or ~/enable'
    OTHER_COMMANDER = 'another node commands the arm: no motion starts'
    DISABLED = 'following is disabled by ~/enable: targets are refused'


@dataclass(frozen=True)
class FollowerSettings:
    """
    Settings of a follower.

    :ivar rate: commands a second [Hz].
    :ivar velocity_scaling: share of the joints' speed that is used, 0 to 1.
    :ivar acceleration_time: time from rest to that speed [s]; 0 for no limit of acceleration.
    :ivar state_timeout: age at which a joint state is no longer believed [s].
    :ivar target_timeout: age at which a target is dropped [s]; 0 for never.
    :ivar lag_limit: how far the arm may fall behind the commands, as the time that it needs at
        full speed [s]. From half of it on the commands slow down, and at the limit they wait for
        the arm. At twice the limit something else must have moved the arm: the commands come to
        rest, and the target is dropped.
    :ivar resume: whether a target is taken up again, from where the arm is then, instead of being
        dropped when joint states were away or wrong, or something else has moved the arm.
    :ivar exclusive: whether no motion is started while somebody else commands the arm, and one
        under way ends.
    :ivar hold: whether commands go on when the arm has arrived; otherwise they end 1 s later, the
        controller holds the last one, and another controller may take over.
    :ivar moved_limit: how far from its command an arm that has arrived may be found for 0.2 s
        before it counts as moved by something else [rad]; sliding joints a fifth of that [m]. The
        commands end then. An arm within it has arrived.
    :ivar lead_limit: how far the commands may be ahead of a joint that stands still [rad]; sliding
        joints a fifth of that [m].
    :ivar stuck_timeout: time for which a joint may stand still away from its command before it
        counts as stuck [s]; the commands then return to the arm, and end. It is 0.1 s where they
        rest beyond the lead limit, which they only leave when a joint stops in motion.
    :ivar avoid_collisions: whether the commands stop before a collision; targets are refused
        where collisions cannot be tested.
    :ivar feed_forward: whether moving targets are followed at their present pose, and not
        only approached; where the joints cannot keep up, they stay on its path.
    :ivar branch_time: time for which joints that follow a target stay in their configuration
        though it cannot be reached there, where another one is reached by direct motion only [s].
    :raises OptionError: naming the setting whose value cannot be.
    """

    rate: float = 100.0
    velocity_scaling: float = 1.0
    acceleration_time: float = 0.2
    state_timeout: float = 0.5
    target_timeout: float = 0.0
    lag_limit: float = 0.25
    resume: bool = False
    exclusive: bool = True
    hold: bool = False
    moved_limit: float = 0.05
    lead_limit: float = 0.1
    stuck_timeout: float = 2.0
    avoid_collisions: bool = False
    feed_forward: bool = True
    branch_time: float = 0.3

    def __post_init__(self) -> None:
        limits = 'lag_limit', 'moved_limit', 'lead_limit', 'stuck_timeout'
        for name in ('rate', 'state_timeout', *limits):
            check_number(name, getattr(self, name))
        for name in ('acceleration_time', 'target_timeout', 'branch_time', 'velocity_scaling'):
            check_number(name, getattr(self, name), zero=True)
        if self.velocity_scaling > 1.0:
            raise OptionError(
                'velocity_scaling', f'has to be from 0 to 1, not {self.velocity_scaling!r}'
            )
        for name in ('resume', 'exclusive', 'hold', 'avoid_collisions', 'feed_forward'):
            check_flag(name, getattr(self, name))

    def changed(self, settings: Mapping[str, float]) -> FollowerSettings:
        """Return these settings with some changed, by field; raises OptionError for a value."""
        values: dict[str, Any] = dict(settings)  # some of them are truth values
        return replace(self, **values)

    def motion_limits(self, chain: JointSpace, bounds: MotionBounds | None = None) -> MotionLimits:
        """
        Return the bounds on the motion of a chain, or of other joints.

        The smaller of two limits counts. No joint is faster than it can be stopped in
        ``motion_limits.LONGEST_RAMP``.

        :param chain: the chain.
        :param bounds: limits of its joints beyond those of the URDF; None for none.
        """
        bounds, speeds = bounds or MotionBounds(), joint_speeds(chain)
        speeds = np.minimum(speeds, bounds.velocity(chain.joints))
        jerk, acceleration = bounds.jerk(chain.joints), bounds.acceleration(chain.joints)
        window = averaging_window(speeds, acceleration, jerk)
        if window > 0.0:
            acceleration = np.minimum(acceleration, 0.5 * window * jerk)
        speeds = np.minimum(speeds, LONGEST_RAMP * acceleration)
        unit = np.where(speeds > 0.0, speeds, 1.0)
        gentle = self.velocity_scaling / self.acceleration_time if self.acceleration_time else inf
        return MotionLimits(
            chain.lower,
            chain.upper,
            speeds,
            self.velocity_scaling,
            np.minimum(acceleration / unit, gentle),
            jerk / unit if window > 0.0 else None,
            window,
        )
