"""Goals of a follower: the interface of targets, trajectories and servo commands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.settings import FollowerState


@dataclass(frozen=True, eq=False)
class Tick:
    """
    Data from which a goal computes its next step.

    :ivar now: time on the monotonic clock [s].
    :ivar dt: time since the last command, a period at most [s]; by so much the clock of a goal
        that has one goes on, times the pace.
    :ivar q: (n,) the last command [rad] or [m].
    :ivar velocity: (n,) its speed [rad/s] or [m/s].
    :ivar measured: (n,) where the arm is [rad] or [m].
    :ivar limits: bounds on the motion.
    :ivar pace: how well arm and commands keep up, 0 to 1; a goal with a clock of its own lets it
        run at this rate.
    :ivar leading: (n,) positions [rad] or [m] and (n,) speeds [rad/s] or [m/s] of the motion that
        steps are for; where jerks are limited, the commands are half a window behind it.
    :ivar late: whether it comes so late that the arm has slowed down since the last command.
    """

    now: float
    dt: float
    q: np.ndarray
    velocity: np.ndarray
    measured: np.ndarray
    limits: MotionLimits
    leading: tuple[np.ndarray, np.ndarray]
    pace: float = 1.0
    late: bool = False


@dataclass(frozen=True, eq=False)
class Step:
    """
    Set-point of the command for one tick.

    With a goal alone it goes there and rests. With a goal and a velocity, it is at the goal at
    the end of this tick and goes on with the velocity; that is reached exactly while it keeps the
    limits, and caught up with otherwise; where jerks are limited the command is half a window of
    averaging later. With a velocity alone it moves with that. With neither it comes to rest.
    Numbers that are not finite lead to rest, too.

    :ivar goal: (n,) positions [rad] or [m]; None without.
    :ivar velocity: (n,) velocities [rad/s] or [m/s]; None without.
    """

    goal: np.ndarray | None = None
    velocity: np.ndarray | None = None

    @property
    def leads_on(self) -> bool:
        """Whether it leads anywhere but to rest."""
        return self.goal is not None or self.velocity is not None


REST = Step()  # step that leads to rest


class MotionGoal(ABC):
    """
    Goal that the commands pursue, from its start to its end.

    All methods are called while the follower's lock is held: they never block, never solve, and
    call nothing of the follower. One whose :meth:`step` raises is dropped.

    :cvar kind: 'target', 'trajectory' or 'servo', for messages and for precedence among goals.
    :cvar commands: whether it commands the joints, and does not only keep others from them.
    :ivar obstacle: obstacle before which the commands stopped; empty for none. While set, they
        come to rest. The goal may clear it in :meth:`step`, to try again.
    :ivar replaces: the trajectory that it may replace although that is being executed.
    :ivar asked_at: when it was asked for, on the clock of stops [s]: a later one refuses it.
    :ivar slowing: whether its clock is still faster than limits allow that were lowered on its
        path; None for a goal without a path to keep.
    """

    kind = ''
    commands = True
    slowing: bool | None = None
    obstacle = ''
    replaces: MotionGoal | None = None
    asked_at = float('inf')

    @abstractmethod
    def step(self, tick: Tick) -> Step:
        """Return the set-point of the next command; called once for every command."""

    @abstractmethod
    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """
        Return the follower's state with this goal, as long as nothing is wrong.

        :param commanded: (n,) the last command [rad] or [m]; None before the first.
        :param resting: whether it is at rest.
        """

    @property
    @abstractmethod
    def busy(self) -> bool:
        """Whether it is in progress; then other groups that share joints are refused."""

    @property
    def ready(self) -> bool:
        """Whether it can be asked for steps; until then the commands come to rest."""
        return True

    @property
    def finished(self) -> bool:
        """Whether nothing more is to come: as soon as the commands are at rest, they end."""
        return False

    @property
    def claim(self) -> str:
        """Reason nothing else may move the arm, even after its end; empty when something may."""
        return ''

    def begin(  # noqa: B027 - not all need to know
        self, q: np.ndarray, unwrapped: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        """
        Note that the commands start, at rest.

        :param q: (n,) where they start: where the arm is [rad] or [m].
        :param unwrapped: returns positions (n,) whose continuous joints are on the turn of q.
        """

    def missed(self) -> None:  # noqa: B027 - not all have a clock of their own
        """Note that the last step was not done: the command came to rest, or was not sent."""

    def renew(self) -> bool:
        """Get ready to start again after a fault; return False if the goal has to be dropped."""
        return False

    def replaced(self, kind: str) -> None:
        """Note that a goal of some kind has replaced it."""
        self.ended(f'a newer {kind} has replaced it')

    def ended(self, reason: str) -> None:  # noqa: B027 - not all need to know
        """Note the end, called once, and its reason; that is empty when the goal has finished."""
