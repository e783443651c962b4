"""Timed trajectories along paths on constraints, which hold between the points too."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ik_service.extras.planning.constrained_search import SPACING
from ik_service.extras.planning.motion_check import MotionCheck
from ik_service.extras.planning.projection import Projection
from ik_service.extras.planning.rounding import Timing
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

LEVELS = ((1, 6), (1, 3), (2, 5), (2, 2), (4, 3), (8, 3), (8, 1))
"""Rows for each :data:`SPACING`, and over how many on either side a path is averaged."""


def constrained_trajectory(
    chain: KinematicChain,
    rows: np.ndarray,
    timing: Timing,
    check: MotionCheck,
    projection: Projection,
    stopped: Callable[[], bool],
) -> JointTrajectory | None:
    """
    Return a timed motion along a path, checked as a whole; None where none passes the check.

    Its corners are rounded by moving averages, whose rows are projected again.

    :param chain: the chain.
    :param rows: (k, n) the path [rad] or [m].
    :param timing: limits with which it is timed.
    :param check: check of motions, with the constraints.
    :param projection: onto the constraints.
    :param stopped: returns whether the time is over.
    """
    for parts, radius in LEVELS:
        smooth = _averaged(_resampled(rows, SPACING / parts), radius)
        smooth[1:-1], held = projection.onto(smooth[1:-1])
        if held.all() and check.rows_are_free(smooth):
            trajectory = timing.timed(chain, smooth)
            if check.first_fault(trajectory) is None:
                return trajectory
        if stopped():
            break
    return None


def _resampled(rows: np.ndarray, spacing: float) -> np.ndarray:
    """Return rows of a path that are equally far apart, about as much as a spacing."""
    sizes = np.abs(np.diff(rows, axis=0)).max(axis=1)
    at = np.concatenate([[0.0], np.cumsum(sizes)])
    count = max(int(np.ceil(at[-1] / spacing)), 4)
    places = np.linspace(0.0, at[-1], count + 1)
    columns = [np.interp(places, at, column) for column in rows.T]
    return np.stack(columns, axis=1)


def _averaged(rows: np.ndarray, radius: int) -> np.ndarray:
    """Return the means over neighbours on either side, twice; both ends stay."""
    last = len(rows) - 1
    places = np.arange(last + 1)
    reach = np.minimum(np.minimum(places, last - places), radius)
    for _ in range(2):
        sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
        width = (2 * reach + 1)[:, None]
        rows = (sums[places + reach + 1] - sums[places - reach]) / width
    return np.asarray(rows)
