"""Log of what a follower does that its user should know, once each time."""

from __future__ import annotations

from collections.abc import Callable

from ik_service.common.fault_logger import FaultLogger
from ik_service.motion.settings import FollowerState
from ik_service.motion.target_follower import TargetFollower

STATE_FAULTS = (FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE)
"""States in which the joint states cannot be relied on."""

_ALARMING = (
    FollowerState.LAGGING,
    FollowerState.NO_STATE,
    FollowerState.AWAITING_REST,
    *STATE_FAULTS,
    FollowerState.ARM_MOVES,
    FollowerState.TARGET_TIMED_OUT,
    FollowerState.OTHER_COMMANDER,
)
_SLOW = (FollowerState.CATCHING_UP, FollowerState.RECONFIGURING)
_AWAITED = 'waiting for a new target, or ~/enable'


class FollowingLog:
    """
    Log of the states of a follower, its dropped targets and what is in its way.

    :param follower: the follower.
    :param group: name of its group, where it is not the default one; else empty.
    :param warn: logs a warning.
    """

    def __init__(
        self, follower: TargetFollower, group: str, warn: Callable[[str], object]
    ) -> None:
        self._follower = follower
        self._of = f' of {group}' if group else ''
        self._label = f'following {group}' if group else 'following'
        self._warn = warn
        self._slow, self._obstacles = FaultLogger(warn), FaultLogger(warn)
        self._others = FaultLogger(warn)
        self._logged_state: FollowerState | None = None
        self._logged_slow = FollowerState.IDLE
        self._logged_drop = self._logged_obstacle = ''

    def log_stops(self) -> None:
        """Log what keeps the commands from the target, or slows them down."""
        state = self._follower.state
        if state in _SLOW and state is not self._logged_slow:
            self._slow.report(f'{self._label}: {state.value}')
        self._logged_slow = state
        obstacle = self._follower.obstacle
        if obstacle != self._logged_obstacle:
            self._logged_obstacle = obstacle
            if obstacle:
                awaited = f'; {_AWAITED}' if self._follower.target else ''
                self._obstacles.report(f'{self._label}: {obstacle}{awaited}')
        dropped = self._follower.drop_reason
        if dropped != self._logged_drop:
            self._logged_drop = dropped
            if dropped:
                self._warn(f'target{self._of} dropped: {dropped}; {_AWAITED}')

    def log_commanders(self, others: str, namesake: str) -> None:
        """
        Log who else commands the arm, or may.

        :param others: names of the other nodes that do; empty for none.
        :param namesake: name of a second node of the same name; empty without one.
        """
        if namesake:
            self._others.report(
                f'{self._label}: a second {namesake} runs, or was killed in the last 20 s: end '
                'one, or give each a name of its own',
                'namesake',
            )
        elif others:
            self._others.report(f'{self._label}: {others} commands the arm too', others)
        else:
            self._others.clear()

    def log_state(self, state_fault: Callable[[], str]) -> None:
        """
        Log that following has stopped for a reason that the user should know.

        :param state_fault: returns why the joint states cannot be relied on.
        """
        state = self._follower.state
        if state in _ALARMING and state is not self._logged_state:
            explained = *STATE_FAULTS, FollowerState.ARM_MOVES
            fault = state_fault() if state in explained else ''
            self._warn(f'{self._label}: {state.value}' + (f'; {fault}' if fault else ''))
        elif self._logged_state in STATE_FAULTS and state not in STATE_FAULTS:
            self._warn(f'{self._label}: the joint states are good again; {state.value}')
        self._logged_state = state
