"""The figures of a solve, from the sentence in which the node tells them."""

from __future__ import annotations

from dataclasses import dataclass
import re

# What IkResult.reason says; MoveIt's own answers hold no such sentence.
_EFFORT = re.compile(r'(\d+) iterations in (\d+) searches, ([\d.e+-]+) ms')
_POSE = re.compile(r'(?:within|found is) ([\d.e+-]+) mm and ([\d.e+-]+)°')


@dataclass(frozen=True)
class SolveFigures:
    """
    What a solve took, and how near it came.

    :ivar iterations: over all searches.
    :ivar searches: how many there were.
    :ivar milliseconds: time in the solver.
    :ivar position_error: of the solution [mm].
    :ivar orientation_error: of the solution [°].
    """

    iterations: int
    searches: int
    milliseconds: float
    position_error: float
    orientation_error: float


def solve_figures(sentence: str) -> SolveFigures | None:
    """Return the figures in a sentence of :attr:`ik_service.IkResult.reason`; None without any."""
    effort, pose = _EFFORT.search(sentence), _POSE.search(sentence)
    if effort is None or pose is None:
        return None
    try:
        return SolveFigures(
            int(effort[1]), int(effort[2]), float(effort[3]), float(pose[1]), float(pose[2])
        )
    except ValueError:  # points and signs alone
        return None
