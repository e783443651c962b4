"""Checked conversion of arguments to whole numbers."""

from __future__ import annotations

import operator

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError


def whole_number(value: object, argument: str, least: int = 1, most: int | None = None) -> int:
    """
    Return a whole number of Python, of NumPy or of whatever else is one.

    :param value: the number; truth values and floats are none.
    :param argument: its name in the error.
    :param least: it has to be at least this.
    :param most: and at most this, where there is such a bound.
    :raises ArgumentError: it is no whole number, or beyond the bounds.
    """
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)  # type: ignore[arg-type]
    except Exception:  # whatever an object raises that is asked for its number
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f'of at least {least}' if most is None else f'from {least} to {most}'
        raise ArgumentError(argument, f'has to be a whole number {bounds}, not {safe_repr(value)}')
    return number
