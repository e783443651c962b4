"""Figures of a solve."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SolveReport:
    """
    Figures of a node's last solve.

    :ivar iterations: over all searches.
    :ivar searches: number of searches.
    :ivar solve_time: time in the solver [s].
    :ivar status: name of the :class:`~ik_service.solvers.result.IkStatus`; empty when unknown.
    :ivar solver: name of the method; empty when unknown.
    :ivar source: interface that asked for it, such as ``compute_ik``; empty when unknown.
    :ivar position_error: of the pose found [m]; None when unknown.
    :ivar orientation_error: of the pose found [rad]; None when unknown.
    """

    iterations: int
    searches: int
    solve_time: float
    status: str = ''
    solver: str = ''
    source: str = ''
    position_error: float | None = None
    orientation_error: float | None = None
