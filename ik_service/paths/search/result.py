"""Result of a search for a joint path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from ik_service.solvers.result import offset_text


class PathStatus(Enum):
    """Outcome of a search for a path; each value describes it in words."""

    SUCCESS = 'every target is reached without a jump'
    UNREACHABLE = 'out of reach'
    LIMIT = 'a joint is at its limit'
    SINGULARITY = 'a singular posture is in the way'
    COLLISION = 'a collision is in the way'
    TOO_FAR = 'too far from the target before'
    END_APART = 'no way was found to the joint vector at the end'
    TIMED_OUT = 'the time ran out'


@dataclass(frozen=True)
class PathEnd:
    """
    End of a path, and its reason.

    :ivar status: the reason.
    :ivar row: number of the first target that is not reached; that of all targets on success.
    :ivar joint: name of the joint that blocks the path, where there is one.
    :ivar limit: for LIMIT the limit that it would have to exceed [rad] or [m].
    :ivar redundant: for LIMIT whether the arm has self-motions, so that there may be a path around
        the limit that was not found.
    :ivar motion: for TOO_FAR and SINGULARITY how far it would have to move [rad] or [m].
    :ivar position_error: for UNREACHABLE the distance of the closest pose [m].
    :ivar orientation_error: its rotation from the target [rad].
    :ivar bodies: for COLLISION the two that collide, where the test names them.
    :ivar cut_short: whether the time ran out for searches that might have found a way on.
    """

    status: PathStatus
    row: int
    joint: str | None = None
    limit: float = math.nan
    redundant: bool = False
    motion: float = math.nan
    position_error: float = math.nan
    orientation_error: float = math.nan
    bodies: tuple[str, str] | None = None
    cut_short: bool = False

    @property
    def text(self) -> str:
        """The ending in a sentence."""
        if self.status is PathStatus.SUCCESS:
            return self.status.value
        return f'target {self.row} is not reached: {self.detail}'

    @property
    def detail(self) -> str:
        """Reason in words, for others than SUCCESS."""
        more = '; the time ran out for a wider search' if self.cut_short else ''
        return f'{self._cause}{more}'

    @property
    def _cause(self) -> str:
        if self.status is PathStatus.UNREACHABLE:
            offset = offset_text(self.position_error, self.orientation_error)
            return f'{self.status.value}; the closest pose found is {offset} away'
        if self.status is PathStatus.LIMIT and self.redundant:
            return f'no continuation was found; {self.joint} is at its limit of {self.limit:.4g}'
        if self.status is PathStatus.LIMIT:
            return f'{self.joint} would have to exceed its limit of {self.limit:.4g}'
        if self.status is PathStatus.TOO_FAR:
            before = self.status.value if self.row else 'too far from the seed'
            motion = f'{self.joint} would have to move by {self.motion:.3g} [rad or m]'
            return f'{before}: {motion}, more than max_step allows in one step'
        if self.status is PathStatus.SINGULARITY and self.joint:
            motion = f'{self.joint} would have to move by {self.motion:.3g} [rad or m]'
            return f'{self.status.value}: {motion}'
        if self.status is PathStatus.COLLISION and self.bodies:
            return f'{self.status.value}, between {self.bodies[0]} and {self.bodies[1]}'
        return self.status.value


@dataclass(frozen=True, eq=False)
class Reconfiguration:
    """
    Change of the branch between two rows of a path.

    :ivar row: number of the row at which it ends, from the row before.
    :ivar before: (n,) posture at the row before [rad] or [m], read-only.
    :ivar after: (n,) posture at the row, likewise.
    """

    row: int
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class PathResult:
    """
    Joint path through targets.

    :ivar q: (N, n) joint vectors [rad] or [m], read-only; NaN from the first target on that is not
        reached.
    :ivar end: where it ends, and why.
    :ivar position_error: (N,) distance from each target [m]; NaN where it is not reached.
    :ivar orientation_error: (N,) rotation from each target [rad], likewise.
    :ivar solve_time: time of the search [s].
    :ivar reconfigurations: changes of the branch, in the order of their rows.
    """

    q: np.ndarray
    end: PathEnd
    position_error: np.ndarray
    orientation_error: np.ndarray
    solve_time: float
    reconfigurations: tuple[Reconfiguration, ...] = ()

    @property
    def success(self) -> bool:
        """
        Whether every row is at its target, within the limits, and no joint jumps.

        Joints may jump where ``reconfigurations`` are, which there are only on request.

        The errors are recomputed by forward kinematics from the rows that are returned.
        """
        return self.end.status is PathStatus.SUCCESS

    @property
    def status(self) -> PathStatus:
        """The outcome."""
        return self.end.status

    @property
    def reached(self) -> int:
        """Number of targets that are reached, from the first on."""
        return self.end.row

    @property
    def fraction(self) -> float:
        """Share of the targets that are reached, from the first on; 1 where there are none."""
        return self.reached / len(self.q) if len(self.q) else 1.0

    @property
    def segments(self) -> tuple[np.ndarray, ...]:
        """Parts (k, n) of the path that is reached, between the reconfigurations [rad] or [m]."""
        rows = [each.row for each in self.reconfigurations]
        return tuple(np.split(self.q[: self.reached], rows))

    @property
    def largest_step(self) -> float:
        """
        Largest motion of a joint from one row to the next [rad] or [m].

        Reconfigurations do not count.
        """
        steps = [np.abs(np.diff(part, axis=0)).max(initial=0.0) for part in self.segments]
        return float(max(steps))

    @property
    def reason(self) -> str:
        """The outcome in a sentence."""
        changes = len(self.reconfigurations)
        if changes == 0:
            text = self.end.text
        else:
            outcome = 'every target is reached' if self.success else self.end.text
            text = f'{outcome}, with {changes} reconfiguration{"s" if changes > 1 else ""}'
        return f'{text}; {self.reached} of {len(self.q)} in {self.solve_time:.3g} s'
