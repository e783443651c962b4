"""Speed profile along a curve by TOPP-RA, as the package ``toppra`` has it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ik_service.exceptions import MissingExtraError, TrajectoryError
from ik_service.trajectory.joint_curve import JointCurve

_LARGE = 1e9  # stands for no limit, which its solver does not take


def toppra_profile(curve: JointCurve, accelerations: np.ndarray, caps: np.ndarray) -> np.ndarray:
    """
    Return the largest x = ṡ² at every row of a curve, from one row of rest to the next.

    :param curve: the curve.
    :param accelerations: (k−1, n) limits of acceleration in each segment; inf for none.
    :param caps: (k,) upper bounds of x.
    :returns: (k,).
    :raises MissingExtraError: toppra is not installed.
    :raises TrajectoryError: it finds no motion.
    """
    profile = np.zeros(len(caps))
    ends = np.flatnonzero(curve.rests).tolist()
    for first, last in pairwise(ends):
        if last - first > 1:
            rows, segments = slice(first, last + 1), slice(first, last)
            profile[rows] = _piece(
                curve.h[segments], curve.q[rows], accelerations[segments], caps[rows], first
            )
    return profile


def _piece(
    h: np.ndarray, q: np.ndarray, accelerations: np.ndarray, caps: np.ndarray, first: int
) -> np.ndarray:
    """Return the profile between two rows of rest."""
    try:
        from toppra import algorithm, constraint, SplineInterpolator
    except ImportError as error:
        raise MissingExtraError('toppra', 'path') from error
    s = np.concatenate([[0.0], np.cumsum(h)])
    moving = np.ptp(q, axis=0) > 0.0
    path = SplineInterpolator(s, q[:, moving], bc_type='not-a-knot')
    limits = np.minimum(accelerations[:, moving], _LARGE)
    limits = np.vstack([limits[:1], np.minimum(limits[:-1], limits[1:]), limits[-1:]])
    constraints = [
        _speed_constraint(constraint, caps),
        _acceleration_constraint(constraint, limits),
    ]
    search = algorithm.TOPPRA(constraints, path, gridpoints=s, solver_wrapper='seidel')
    _, rates, _ = search.compute_parameterization(0.0, 0.0)
    if rates is None or not np.isfinite(rates).all():
        raise TrajectoryError('has no timing that TOPP-RA finds, from this point on', first)
    return np.square(rates)


def _speed_constraint(constraint: Any, caps: np.ndarray) -> Any:  # noqa: ANN401 - toppra's
    """Return the constraint 0 ≤ x ≤ caps."""
    bounds = np.column_stack([np.zeros_like(caps), np.minimum(caps, _LARGE)])
    made = constraint.LinearConstraint()
    made.compute_constraint_params = lambda path, gridpoints: (None,) * 6 + (bounds,)
    return made


def _acceleration_constraint(constraint: Any, limits: np.ndarray) -> Any:  # noqa: ANN401
    """Return the constraint |q' s̈ + q'' x| ≤ limits, at both ends of every step."""
    count, n = limits.shape
    signs = np.vstack([np.eye(n), -np.eye(n)])
    bounds = np.hstack([limits, limits])

    def parameters(path: Any, gridpoints: np.ndarray) -> tuple:  # noqa: ANN401
        first, second = path(gridpoints, 1), path(gridpoints, 2)
        return constraint.canlinear_colloc_to_interpolate(
            first, second, np.zeros_like(first), np.tile(signs, (count, 1, 1)), bounds,
            None, None, gridpoints,
        )  # fmt: skip

    made = constraint.LinearConstraint()
    made.compute_constraint_params = parameters
    return made
