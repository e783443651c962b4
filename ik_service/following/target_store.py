"""Store of the target that is followed, and of the one that was dropped because of a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.solvers.result import IkResult


@dataclass
class FollowedTarget:
    """
    Target that is followed.

    :ivar T_base_tip: (4, 4) the pose that was asked for.
    :ivar result: the solver's answer.
    :ivar goal: (n,) where the joints shall go [rad] or [m]; None until it is solved for from the
        arm's state.
    :ivar solving: whether some thread is doing so.
    :ivar since: time of the first tick with it [s].
    :ivar obstacle: what the commands have stopped before, and wait there; empty for nothing.
    """

    T_base_tip: np.ndarray
    result: IkResult
    goal: np.ndarray | None
    solving: bool = False
    since: float | None = None
    obstacle: str = ''


class TargetStore:
    """
    Current and dropped target.

    :ivar current: the target that is followed; None without one.
    :ivar dropped: (4, 4) the target that a fault has ended; None without one.
    :ivar reason: why that was dropped; empty without one.
    :ivar version: a number that grows with every change, to notice an answer of the solver that
        comes too late.
    """

    def __init__(self) -> None:
        self.version = 0
        self.current: FollowedTarget | None = None
        self.dropped: np.ndarray | None = None
        self.reason = ''

    def next_version(self) -> int:
        """Return the version of a target that is going to be solved for."""
        self.version += 1
        return self.version

    def follow(self, target: FollowedTarget) -> None:
        """
        Replace the current target, and forget the dropped one.

        :param target: the target that is followed from now on.
        """
        self.current, self.dropped, self.reason = target, None, ''

    def clear(self) -> None:
        """Forget both targets."""
        self.version += 1
        self.current, self.dropped, self.reason = None, None, ''

    def drop(self, reason: str) -> None:
        """
        End the current target because of a fault, and keep it for later.

        :param reason: what is wrong.
        """
        self.version += 1
        if self.current is not None:
            self.dropped, self.current, self.reason = self.current.T_base_tip, None, reason

    def has_expired(self, now: float, timeout: float) -> bool:
        """
        Return whether the current target has been followed for too long.

        :param now: on a monotonic clock [s].
        :param timeout: for how long a target may be followed [s]; 0 for ever.
        """
        if self.current is None:
            return False
        if self.current.since is None:
            self.current.since = now
        return 0.0 < timeout < now - self.current.since
