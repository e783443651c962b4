"""Goal of a follower that is a pose of the tip, at rest or moving."""

from __future__ import annotations

from collections.abc import Callable
import math
from typing import NamedTuple

import numpy as np

from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.command.motion_limits import largest
from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.settings import FollowerState
from ik_service.motion.tracking.moving_goal import moved, MovingGoal
from ik_service.motion.tracking.nearby_solver import NEAR
from ik_service.motion.tracking.path_clocks import GoalClock
from ik_service.motion.tracking.target_path import TargetPath
from ik_service.motion.tracking.target_velocity import TargetMotion
from ik_service.solvers.result import IkResult

_SAME_POSITION = 1e-3
"""Distance of a joint that must not move from where it was solved for: noise [rad, m]."""

_BEHIND = 0.15
"""Age of the target pose at the commands from which on they keep to its past path [s]."""

_NEARLY_THERE = 0.06  # the same, up to when they go straight to where it is by now [s]

_BESIDE, _TURNED_LITTLE = 2e-3, 0.01
"""Distance [m] and angle [rad] of targets from an anchor that are solved from its posture."""


class Anchor(NamedTuple):
    """
    Pose and posture from which all targets close by are solved.

    From solution to solution, a redundant arm would drift along its self-motion while its target
    trembles, and one whose target is out of reach would creep along postures that are almost as
    near.

    :ivar T_base_tip: (4, 4) the pose.
    :ivar posture: (n,) the solution for it, or the nearest posture [rad] or [m].
    :ivar reached: whether it is a solution.
    """

    T_base_tip: np.ndarray
    posture: np.ndarray
    reached: bool

    def is_near(self, T_base_tip: np.ndarray) -> bool:
        """Whether a pose (4, 4) is to be solved from here."""
        return _distance(pose_error(self.T_base_tip, T_base_tip)) <= 1.0


def following_anchor(
    last: Anchor | None, T_base_tip: np.ndarray, nearest: np.ndarray, motion: TargetMotion
) -> Anchor:
    """
    Return the anchor that follows a pose out of reach, and is no farther behind than close poses.

    In leaps from anchor to anchor, the joints would stop and go while a target moves slowly.

    :param last: the anchor before.
    :param T_base_tip: (4, 4) the pose.
    :param nearest: (n,) the nearest posture to it [rad] or [m].
    :param motion: that of the target, which a first anchor is behind, as the next ones will be.
    """
    away = np.inf if last is None or last.reached else largest(np.abs(nearest - last.posture))
    if last is None or away > NEAR:
        behind = np.zeros(6) if motion.still else motion.velocity / _distance(motion.velocity)
        return Anchor(moved(T_base_tip, -behind), nearest, False)
    error = pose_error(last.T_base_tip, T_base_tip)
    share = 1.0 - 1.0 / max(_distance(error), 1.0)
    posture = last.posture + share * (nearest - last.posture)
    return Anchor(moved(last.T_base_tip, share * error), posture, False)


def _distance(error: np.ndarray) -> float:
    """Return the size of a pose error (6,), as a multiple of that of close poses."""
    return max(math.hypot(*error[:3]) / _BESIDE, math.hypot(*error[3:]) / _TURNED_LITTLE)


class TargetGoal(MotionGoal):
    """
    Target pose, and where the joints go for it.

    :ivar T_base_tip: (4, 4) the pose that was asked for.
    :ivar result: the solver's answer.
    :ivar posture: (n,) where the joints shall go [rad] or [m]; None until it is solved for from
        the arm's state.
    :ivar solving: whether some thread is doing so.
    :ivar since: time of the first tick with it [s].
    :ivar path: the joint path to the goal; None for the straight motion.
    :ivar anchor: from which targets close by are solved; None until it is solved for.
    """

    kind = 'target'

    def __init__(
        self,
        T_base_tip: np.ndarray,
        result: IkResult,
        posture: np.ndarray | None,
        movable: np.ndarray,
        moving: MovingGoal | None = None,
        path: TargetPath | None = None,
        anchor: Anchor | None = None,
    ) -> None:
        """
        Go to a pose.

        :param movable: (n,) mask of the joints that may move.
        :param moving: where the posture goes on to; None for one that rests.
        """
        self.T_base_tip = T_base_tip
        self.result = result
        self.posture = posture
        self.solving = False
        self.since: float | None = None
        self._movable = movable
        self._moving = moving
        self.path = path
        self.anchor = anchor
        self._clock = None if path is None else path.clock
        if moving is not None and self._clock is None:
            self._clock = GoalClock()
            if path is not None:
                path.clock = self._clock
        self._state = FollowerState.FOLLOWING
        self._arrived = False

    @property
    def ready(self) -> bool:
        """Whether its goal is known."""
        return self.posture is not None

    @property
    def busy(self) -> bool:
        """Whether the commands have not arrived, as of the last tick."""
        return not self._arrived

    def begin(self, q: np.ndarray, unwrapped: Callable[[np.ndarray], np.ndarray]) -> None:
        """Put continuous joints on the turn of the arm."""
        if self.posture is not None:
            before, self.posture = self.posture, unwrapped(self.posture)
            if self.anchor is not None:
                posture = unwrapped(self.anchor.posture)
                self.anchor = self.anchor._replace(posture=posture)
            if self._moving is not None:
                self._moving.shift(self.posture - before)
            if self.path is not None:
                self.path.shift(self.posture - before)

    def missed(self) -> None:
        """Note that the last step was not done."""
        if self._clock is not None:
            self._clock.missed()

    def renew(self) -> bool:
        """Have the goal solved for again."""
        self.posture, self._arrived, self._moving, self.path = None, False, None, None
        self.anchor = None
        return True

    def step(self, tick: Tick) -> Step:
        """Return the goal, where it has gone on to, or the next point of the path there."""
        if self.posture is None:
            return REST
        self._state = FollowerState.FOLLOWING
        if self.path is not None:
            self.path.advance(tick.q, tick.now)
            self._state = self._state_on(self.path)
        step = self._ahead(tick)
        if step is None:
            self.missed()
            step = self._along(tick)
        elif self.path is not None:
            self.path.leave()
        self._arrived = step is None and not (self.posture - tick.q)[self._movable].any()
        return step or Step(self.posture)

    @staticmethod
    def _state_on(path: TargetPath) -> FollowerState:
        """Return the state of commands that are somewhere on a path."""
        if path.changing:
            return FollowerState.RECONFIGURING
        far = path.behind() > _BEHIND
        return FollowerState.CATCHING_UP if far else FollowerState.FOLLOWING

    def _ahead(self, tick: Tick) -> Step | None:
        """Return a step to where the goal has gone on to; None when it rests, or is too fast."""
        moving, clock = self._moving, self._clock
        if moving is None or clock is None or not moving.feasible:
            return None
        if self._state is not FollowerState.FOLLOWING:
            return None
        behind = 0.0 if self.path is None else self.path.behind()
        waits = behind > _NEARLY_THERE + 0.5 * tick.limits.window
        if waits and self.path is not None and self.path.on_path:
            return None
        return clock.step(moving, tick, waits)

    def _along(self, tick: Tick) -> Step | None:
        """Return a step along the path; None when that has been passed."""
        if self.path is None or self.path.passed:
            return None
        moving = self._moving
        goes_on = moving is not None and moving.feasible and tick.now < moving.ends
        return self.path.step(tick, moving if goes_on else None)

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return the state on the path to the pose, or at it."""
        if self._state is not FollowerState.FOLLOWING:
            return self._state
        if not self.result.success:
            return FollowerState.UNREACHABLE
        if commanded is None or self.posture is None:
            return FollowerState.FOLLOWING
        ahead = np.abs(self.posture - commanded)
        if ahead[self._movable].any():
            return FollowerState.FOLLOWING
        blocked = (ahead > _SAME_POSITION).any()
        return FollowerState.UNREACHABLE if blocked else FollowerState.REACHED
