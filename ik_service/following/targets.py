"""The target that is followed, and the one that was dropped because of a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ik_service.solvers.result import IkResult


@dataclass
class FollowedTarget:
    """
    A target that is followed.

    :ivar T_base_tip: (4, 4) what was asked for.
    :ivar result: the solver's answer.
    :ivar goal: (n,) where the joints shall go; None until it is solved for from the arm's state.
    :ivar solving: whether some thread is doing so.
    :ivar since: time of the first tick with it [s].
    """

    T_base_tip: np.ndarray
    result: IkResult
    goal: np.ndarray | None
    solving: bool = False
    since: float | None = None


class Targets:
    """
    What is followed, and what may be followed again.

    :ivar current: the target that is followed; None without one.
    :ivar dropped: (4, 4) the target that a fault has ended; None without one.
    :ivar reason: why that was dropped; empty without one.
    :ivar version: a number that grows with every change, so that an answer of the solver that
        comes too late is noticed.
    """

    def __init__(self) -> None:
        self.version = 0
        self.current: FollowedTarget | None = None
        self.dropped: np.ndarray | None = None
        self.reason = ''

    def renew(self) -> int:
        """Return the version of a target that is going to be solved for."""
        self.version += 1
        return self.version

    def follow(self, target: FollowedTarget) -> None:
        """Follow a target from now on."""
        self.current, self.dropped, self.reason = target, None, ''

    def forget(self) -> None:
        """Follow nothing, and nothing again."""
        self.version += 1
        self.current, self.dropped, self.reason = None, None, ''

    def drop(self, reason: str) -> None:
        """Follow nothing because of a fault; the target is kept for later."""
        self.version += 1
        if self.current is not None:
            self.dropped, self.current, self.reason = self.current.T_base_tip, None, reason

    def is_too_old(self, now: float, allowed: float) -> bool:
        """
        Return whether the target has been followed for longer than is allowed.

        :param now: on a monotonic clock [s].
        :param allowed: for how long [s]; 0 for ever.
        """
        if self.current is None:
            return False
        if self.current.since is None:
            self.current.since = now
        return 0.0 < allowed < now - self.current.since
