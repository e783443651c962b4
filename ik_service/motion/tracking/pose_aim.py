"""Pose of the tip, at rest or moving, as what the commands are for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ik_service.motion.aim import Aim, REST, Step, Tick
from ik_service.motion.settings import FollowerState
from ik_service.motion.tracking.goal_clock import GoalClock
from ik_service.motion.tracking.moving_goal import MovingGoal
from ik_service.motion.tracking.target_trail import TargetTrail
from ik_service.solvers.result import IkResult

_SAME_POSITION = 1e-6
"""Distance from its goal that does not matter for a joint that must not move [rad, m]."""

_BEHIND = 0.15
"""Age of the target pose at the commands from which on they keep to its past path [s]."""

_NEARLY_THERE = 0.06
"""The same, up to when they go straight to where it is by now [s]."""


class PoseAim(Aim):
    """
    Target pose, and where the joints go for it.

    :ivar T_base_tip: (4, 4) the pose that was asked for.
    :ivar result: the solver's answer.
    :ivar goal: (n,) where the joints shall go [rad] or [m]; None until it is solved for from the
        arm's state.
    :ivar solving: whether some thread is doing so.
    :ivar since: time of the first tick with it [s].
    :ivar trail: what leads to the goal; None for the straight motion.
    """

    kind = 'target'

    def __init__(
        self,
        T_base_tip: np.ndarray,
        result: IkResult,
        goal: np.ndarray | None,
        movable: np.ndarray,
        moving: MovingGoal | None = None,
        trail: TargetTrail | None = None,
    ) -> None:
        """
        Aim at a pose.

        :param T_base_tip: (4, 4) the pose of the tip in the frame of the base link.
        :param result: the solver's answer.
        :param goal: (n,) where the joints shall go [rad] or [m]; None if that has to be solved
            for once the arm's state is known.
        :param movable: (n,) mask of the joints that may move.
        :param moving: where the goal goes on to; None for one that rests.
        :param trail: what leads to the goal; None for the straight motion.
        """
        self.T_base_tip = T_base_tip
        self.result = result
        self.goal = goal
        self.solving = False
        self.since: float | None = None
        self._movable = movable
        self._moving = moving
        self.trail = trail
        self._clock = GoalClock() if trail is None else trail.clock
        self._state = FollowerState.FOLLOWING
        self._arrived = False

    @property
    def ready(self) -> bool:
        """Whether its goal is known."""
        return self.goal is not None

    @property
    def busy(self) -> bool:
        """Whether the commands have not arrived, as of the last tick."""
        return not self._arrived

    def begin(self, q: np.ndarray, unwrapped: Callable[[np.ndarray], np.ndarray]) -> None:
        """Put continuous joints on the turn of the arm."""
        if self.goal is not None:
            before, self.goal = self.goal, unwrapped(self.goal)
            if self._moving is not None:
                self._moving.shift(self.goal - before)
            if self.trail is not None:
                self.trail.shift(self.goal - before)

    def missed(self) -> None:
        """Note that the last step was not done."""
        self._clock.missed()

    def renew(self) -> bool:
        """Have the goal solved for again."""
        self.goal, self._arrived, self._moving, self.trail = None, False, None, None
        return True

    def step(self, tick: Tick) -> Step:
        """Return the goal, where it has gone on to, or the next place of the way there."""
        if self.goal is None:
            return REST
        self._state = FollowerState.FOLLOWING
        if self.trail is not None:
            self.trail.advance(tick.q, tick.now)
            self._state = self._state_on(self.trail)
        step = self._ahead(tick)
        if step is None:
            self._clock.missed()
            step = self._along(tick)
        elif self.trail is not None:
            self.trail.leave()
        self._arrived = step is None and not (self.goal - tick.q)[self._movable].any()
        return step or Step(self.goal)

    @staticmethod
    def _state_on(trail: TargetTrail) -> FollowerState:
        """Return the state of commands that are somewhere on a trail."""
        if trail.changing:
            return FollowerState.RECONFIGURING
        far = trail.behind() > _BEHIND
        return FollowerState.CATCHING_UP if far else FollowerState.FOLLOWING

    def _ahead(self, tick: Tick) -> Step | None:
        """Return a step to where the goal has gone on to; None when it rests, or is too fast."""
        moving = self._moving
        if moving is None or not moving.feasible or self._state is not FollowerState.FOLLOWING:
            return None
        behind = 0.0 if self.trail is None else self.trail.behind()
        waits = behind > _NEARLY_THERE + 0.5 * tick.limits.window
        if waits and self.trail is not None and self.trail.on_way:
            return None
        return self._clock.step(moving, tick, waits)

    def _along(self, tick: Tick) -> Step | None:
        """Return a step along the trail; None when that has been passed."""
        if self.trail is None or self.trail.passed:
            return None
        goal = self._moving
        goes_on = goal is not None and goal.feasible and tick.now < goal.ends
        return self.trail.step(tick, goal if goes_on else None)

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return the state on the way to the pose, or at it."""
        if self._state is not FollowerState.FOLLOWING:
            return self._state
        if not self.result.success:
            return FollowerState.UNREACHABLE
        if commanded is None or self.goal is None:
            return FollowerState.FOLLOWING
        ahead = np.abs(self.goal - commanded)
        if ahead[self._movable].any():
            return FollowerState.FOLLOWING
        blocked = (ahead > _SAME_POSITION).any()
        return FollowerState.UNREACHABLE if blocked else FollowerState.REACHED
