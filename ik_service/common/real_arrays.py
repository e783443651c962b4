"""Checked conversion of arguments to arrays of real numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError

_REAL = 'fiu'  # kinds of NumPy's types that hold real numbers


def real_array(values: ArrayLike, argument: str) -> np.ndarray:
    """
    Return numbers as a contiguous array of floats, a copy; NaN and infinity may be among them.

    :param values: numbers in any nesting that NumPy understands.
    :param argument: their name in the error.
    :raises ArgumentError: they are no real numbers, such as complex ones, truth values or text,
        or no array can be made of them.
    """
    if type(values) is np.ndarray and values.dtype == np.float64:
        return np.array(values, order='C')
    try:
        array = np.asarray(values)
    except Exception as error:  # also what an object raises that is asked for its array
        raise ArgumentError(argument, f'has to be numbers: {safe_repr(error, str)}') from error
    if array.dtype.kind == 'O':
        array = _from_objects(array, argument)
    if array.dtype.kind not in _REAL:
        raise ArgumentError(argument, f'has to be real numbers, not {array.dtype}')
    with np.errstate(over='ignore'):  # of a longer float: infinity, as is told then
        return np.array(array, dtype=np.float64, order='C')


def _from_objects(array: np.ndarray, argument: str) -> np.ndarray:
    """Return floats from Python objects, such as whole numbers beyond 64 bits."""
    floats = np.empty(array.shape)
    for place, value in np.ndenumerate(array):
        if isinstance(value, (bool, np.bool_)) or not isinstance(
            value, (int, float, np.integer, np.floating)
        ):
            raise ArgumentError(argument, f'has to be numbers, not {safe_repr(value)}')
        try:
            floats[place] = value
        except OverflowError as error:
            raise ArgumentError(argument, f'{safe_repr(value)} is beyond all numbers') from error
    return floats
