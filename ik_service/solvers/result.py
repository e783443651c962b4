"""Result of a solve: status, best joint vector, errors and effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import math

import numpy as np


class IkStatus(Enum):
    """Outcome of a solve; each value describes it in words."""

    SUCCESS = 'the target is reached within tolerance and limits'
    NO_SOLUTION = 'no search reached the target'
    TIMED_OUT = 'the time ran out before a search reached the target'
    UNREACHABLE = 'the target lies outside the reach of the chain'
    DIVERGED = 'the error grew and fell instead of shrinking, so the steps are too large'
    INTERRUPTED = 'the batch was stopped before it came to this target'
    IN_COLLISION = 'only colliding solutions were found'

    @property
    def number(self) -> int:
        """Number of the status in kernels."""
        return list(IkStatus).index(self)


HINTED = (IkStatus.NO_SOLUTION, IkStatus.TIMED_OUT)  # outcomes that another task may change


@dataclass(frozen=True, eq=False)
class IkTrace:
    """
    Iterations of a solve, one row each; the first row of every search is its start.

    When no search reaches the target, the rows of approaches to the closest pose follow, each
    under a number of its own. There, a row whose error is larger than the least so far is a step
    that was taken back: the next one starts where that error was.

    :ivar q: (k, n) joint vectors [rad] or [m].
    :ivar step: (k, n) the step to each row; zeros at the start of a search.
    :ivar position_error: (k,) [m].
    :ivar orientation_error: (k,) [rad].
    :ivar search: (k,) number of the search, from 0.
    """

    q: np.ndarray
    step: np.ndarray
    position_error: np.ndarray
    orientation_error: np.ndarray
    search: np.ndarray


@dataclass(frozen=True, eq=False)
class IkResult:
    """
    Result of one solve.

    :ivar status: how it ended.
    :ivar q: (n,) the best joint vector found [rad] or [m], read-only; always within the limits
        unless they are ignored.
    :ivar position_error: distance from the target at ``q`` [m], along the weighted axes.
    :ivar orientation_error: rotation from the target at ``q`` [rad], about the weighted axes.
    :ivar iterations: steps taken, over all searches and the final approach.
    :ivar searches: searches started.
    :ivar solve_time: time in the compiled solver [s]; with that of the collision test, where there
        is one.
    :ivar trace: every iteration, when asked for.
    :ivar remark: note on the method for this chain, often empty.
    :ivar collision: names of two bodies that collide at ``q``, when only colliding solutions were
        found.
    :ivar hint: advice where no search reached the target; often empty.
    """

    status: IkStatus
    q: np.ndarray
    position_error: float
    orientation_error: float
    iterations: int
    searches: int
    solve_time: float
    trace: IkTrace | None = None
    remark: str = ''
    collision: tuple[str, str] | None = None
    hint: str = ''

    @property
    def success(self) -> bool:
        """Whether both errors are within tolerance and every joint within its limits."""
        return self.status is IkStatus.SUCCESS

    @property
    def reason(self) -> str:
        """The outcome in a sentence."""
        time = f', {self.solve_time * 1e3:.3g} ms'
        return outcome_text(self, f'{time}; {self.remark}' if self.remark else time)


def outcome_text(result: IkResult, more: str = '') -> str:
    """Return the outcome of a solve in words; `more` follows its effort."""
    pose = offset_text(result.position_error, result.orientation_error)
    effort = (
        f'{_count(result.iterations, "iteration")} in {_count(result.searches, "search", "es")}'
        f'{more}'
    )
    if result.success:
        return f'reached within {pose} after {effort}'
    if result.collision is not None:
        bodies = ' and '.join(result.collision)
        return f'{result.status.value}: {bodies} collide; within {pose} after {effort}'
    text = f'{result.status.value}; the closest pose found is {pose} away, after {effort}'
    return f'{text}; {result.hint}' if result.hint else text


def few_joints_hint(joints: int, weights: Sequence[float]) -> str:
    """
    Return advice for a chain that has fewer joints than its targets have axes, else nothing.

    :param joints: number of the joints that move.
    :param weights: (6,) of the task, linear before angular; 0 frees an axis.
    """
    axes = sum(weight > 0.0 for weight in weights)
    if joints >= axes:
        return ''
    free = ', (1, 1, 1, 0, 0, 0) the whole orientation' if any(weights[3:]) else ''
    return (
        f'{_count(joints, "joint")} cannot meet all {axes} axes of most targets: '
        f'a 0 in task_weights frees an axis{free}'
    )


def offset_text(position_error: float, orientation_error: float) -> str:
    """Distance of a pose from its target [m, rad] in words, in mm and degrees."""
    distance = position_error * 1e3
    digits = '.0f' if 999.5 <= distance < 1e9 else '.3g'  # 4050 mm, and not 4.05e+03 mm
    length = f'{distance:{digits}} mm'
    if not math.isfinite(distance):
        length = 'farther than numbers can tell'
    return f'{length} and {math.degrees(orientation_error):.3g}°'


def _count(number: int, noun: str, plural: str = 's') -> str:
    return f'{number} {noun}{"" if number == 1 else plural}'
