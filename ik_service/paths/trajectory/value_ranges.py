"""
Which polynomials leave a range of values, without samples between which something is missed.

A polynomial lies within the hull of its Bernstein coefficients, and halves of an interval have
coefficients that are the closer to it (Farin, "Curves and Surfaces for CAGD", 2002, ch. 5).
"""

from __future__ import annotations

from math import comb

import numpy as np

_DEGREE = 5
_HALVINGS = 16  # by then the coefficients are as close to the polynomial as rounding
# Bernstein coefficients from those of the powers of t, for t from 0 to 1.
_TO_BERNSTEIN = np.array(
    [[comb(j, i) / comb(_DEGREE, i) for i in range(_DEGREE + 1)] for j in range(_DEGREE + 1)]
)


def leaves_range(
    coefficients: np.ndarray, lower: np.ndarray, upper: np.ndarray, tolerance: float
) -> np.ndarray:
    """
    Return which polynomials leave their range for t from 0 to 1, (k, n) bool.

    :param coefficients: (k, 6, n) of the powers of t, the constant first.
    :param lower: (n,) least values, -inf for none.
    :param upper: (n,) largest values, inf for none.
    :param tolerance: by how much they may lie beyond them.
    """
    control = _TO_BERNSTEIN @ coefficients
    leaving = np.zeros((len(control), control.shape[2]), bool)
    for distance in (control - lower, upper - control):
        near = (distance < -tolerance).any(axis=1)
        if not near.any():
            continue
        rows, columns = np.nonzero(near)
        leaving[rows, columns] |= _negative(distance[rows, :, columns] + tolerance)
    return leaving


def _negative(control: np.ndarray) -> np.ndarray:
    """Return which polynomials of Bernstein coefficients (m, 6) are somewhere negative."""
    negative = np.zeros(len(control), bool)
    owners = np.arange(len(control))
    for _ in range(_HALVINGS):
        negative[owners[(control[:, 0] < 0.0) | (control[:, -1] < 0.0)]] = True
        open_ = ~negative[owners] & (control < 0.0).any(axis=1)
        if not open_.any():
            return negative
        control, owners = _halves(control[open_]), np.tile(owners[open_], 2)
    negative[owners[(control < 0.0).any(axis=1)]] = True
    return negative


def _halves(control: np.ndarray) -> np.ndarray:
    """Return the coefficients (2 m, 6) on the first halves, and then on the second ones."""
    first, second = np.empty_like(control), np.empty_like(control)
    for i in range(_DEGREE + 1):
        first[:, i], second[:, _DEGREE - i] = control[:, 0], control[:, -1]
        control = 0.5 * (control[:, 1:] + control[:, :-1])
    return np.concatenate([first, second])
