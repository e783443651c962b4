"""Store of what the commands are for, and of the target that was dropped because of a fault."""

from __future__ import annotations

import numpy as np

from ik_service.motion.aim import Aim
from ik_service.motion.tracking.pose_aim import PoseAim
from ik_service.solvers.result import IkResult


class AimStore:
    """
    Current aim and dropped target.

    :ivar current: what the commands are for; None without one.
    :ivar dropped: (4, 4) the target that a fault has ended; None without one.
    :ivar reason: why that was dropped; empty without one.
    :ivar released: the solution of a target that the arm was left at; None without one.
    :ivar others: number of aims so far that were no targets.
    :ivar version: a number that grows with every change, to notice an answer of the solver that
        comes too late.
    """

    def __init__(self) -> None:
        self.version = self.others = 0
        self.current: Aim | None = None
        self.dropped: np.ndarray | None = None
        self.reason = ''
        self.released: IkResult | None = None
        self._claimant: Aim | None = None

    @property
    def target(self) -> PoseAim | None:
        """The target pose that is followed; None when there is none, or another aim."""
        return self.current if isinstance(self.current, PoseAim) else None

    @property
    def claim(self) -> str:
        """Why nothing may move the arm, after an aim that lays claim to it; empty when it may."""
        return self._claimant.claim if self._claimant is not None else ''

    def next_version(self) -> int:
        """Return the version of an aim that is going to be followed."""
        self.version += 1
        return self.version

    def follow(self, aim: Aim) -> None:
        """
        Replace the current aim, and forget the dropped one.

        :param aim: what the commands are for from now on.
        """
        replaced, self.current = self.current, aim
        self.others += not isinstance(aim, PoseAim)
        self.dropped, self.reason, self.released = None, '', None
        if replaced is not None:
            replaced.replaced(aim.kind)
            self._note_claim(replaced)

    def clear(self, reason: str) -> None:
        """
        Forget the current aim and the dropped target.

        :param reason: what has ended the aim; empty when it has finished.
        """
        self.version += 1
        self._end(reason)
        self.dropped, self.reason, self.released = None, '', None

    def release(self, target: PoseAim) -> None:
        """
        Forget a target that the arm has arrived at.

        :param target: the current aim.
        """
        self.clear('')
        self.released = target.result

    def drop(self, reason: str) -> None:
        """
        End the current aim because of a fault, and keep a target for later.

        :param reason: what is wrong.
        """
        self.version += 1
        if self.target is not None:
            self.dropped, self.reason = self.target.T_base_tip, reason
        self._end(reason)

    def has_expired(self, now: float, timeout: float) -> bool:
        """
        Return whether the current target has been followed for too long.

        :param now: on a monotonic clock [s].
        :param timeout: for how long a target may be followed [s]; 0 for ever.
        """
        target = self.target
        if target is None:
            return False
        if target.since is None:
            target.since = now
        return 0.0 < timeout < now - target.since

    def _end(self, reason: str) -> None:
        ended, self.current = self.current, None
        if ended is not None:
            self._note_claim(ended)
            ended.ended(reason)

    def _note_claim(self, ended: Aim) -> None:
        self._claimant = ended if ended.claim else self._claimant
