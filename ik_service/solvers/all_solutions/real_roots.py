"""
Angles at which a trigonometric polynomial of degree 8 vanishes, in kernels.

A turn is divided into cells. By Taylor's formula with a bound of the third derivative, which is
another one with a bound of the fifth, each has no root, or values or slopes of one sign, or is
halved (interval Newton methods: R. E. Moore, R. B. Kearfott and M. J. Cloud, Introduction to
Interval Analysis, 2009, chapter 8): no root is missed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.all_solutions.angles import DEGREE

CELLS = 64
"""Number of cells at first."""
MOST_ROOTS = 40
"""Number of roots, at most, with those that nearly are."""
# Cells that are looked at, at most, and those that may wait.
_MOST_CELLS, _WAITING = 1500, 64
# Iterations on a root, at most, and the last step up to which they are over: the error is of the
# order of its square or cube; and where they only halve [rad].
_ITERATIONS, _CONVERGED, _BISECTED = 60, 1e-6, 1e-14
# Two roots that far from the angle between them at which the slope vanishes may have met [rad].
_TOUCHING = 1e-3
# What keeps divisors above zero.
_TINY = 1e-300


class Cells(NamedTuple):
    """
    Polynomial and cells of a turn.

    :ivar waves: (6, 18, 64) each cosine and sine: values and four derivatives amid the cells, and
        values where they begin.
    :ivar polynomial: (2, 9) factors of the cosines, and of the sines.
    :ivar values: (6, 64) of the polynomial, likewise.
    :ivar waiting: (64, 8) cells that are to be looked at: first and last angle [rad], values
        there, value and two derivatives in the middle, and bound of the third.
    :ivar roots: (40, 2) roots, and how far they may be off [rad].
    """

    waves: np.ndarray
    polynomial: np.ndarray
    values: np.ndarray
    waiting: np.ndarray
    roots: np.ndarray


def _waves() -> np.ndarray:
    m, ends = np.arange(DEGREE + 1)[:, None], 2.0 * math.pi / CELLS * np.arange(CELLS)
    c, s = (wave(m * (ends + math.pi / CELLS)) for wave in (np.cos, np.sin))
    values, slopes = np.vstack([c, s]), np.vstack([-m * s, m * c])
    squares = np.vstack([m, m]) ** 2
    first = np.vstack([np.cos(m * ends), np.sin(m * ends)])
    return np.array(
        [values, slopes, -squares * values, -squares * slopes, squares**2 * values, first]
    )


_WAVES = _waves()


def new_cells() -> Cells:
    """Return cells for one thread."""
    return Cells(
        waves=_WAVES,
        polynomial=np.zeros((2, DEGREE + 1)),
        values=np.zeros((6, CELLS)),
        waiting=np.zeros((_WAITING, 8)),
        roots=np.zeros((MOST_ROOTS, 2)),
    )


@inner_kernel
def write_real_roots(cells, error):
    """
    Write the angles at which a polynomial vanishes, and those at which it nearly does.

    :param cells: :class:`Cells`, with the polynomial.
    :param error: of its values: two roots with smaller ones between them are one.
    :returns: their number, and whether they are all there.
    """
    _write_values(cells)
    fifth = 0.0  # the fifth derivative, at most
    for m in range(1, DEGREE + 1):
        fifth += m**5 * math.hypot(cells.polynomial[0, m], cells.polynomial[1, m])
    values, width = cells.values, 2.0 * math.pi / CELLS
    count = visits = 0
    for k in range(CELLS):
        middle = values[0, k], values[1, k], values[2, k], values[3, k], values[4, k]
        ends = width * k, width * (k + 1), values[5, k], values[5, (k + 1) % CELLS]
        waits = _add(cells, 0, ends, middle, fifth, error)
        while waits > 0:
            visits += 1
            if visits > _MOST_CELLS or waits + 1 > _WAITING or count + 2 > MOST_ROOTS:
                return count, False
            waits -= 1
            found = _roots_in(cells.polynomial, cells.waiting[waits], error, cells.roots, count)
            if found < 0:
                waits = _halve(cells, waits, fifth, error)
            else:
                count = found
    return count, True


@inner_kernel
def _write_values(cells):
    """Write values and derivatives amid the cells, and values where they begin."""
    polynomial, waves, values = cells.polynomial, cells.waves, cells.values
    for order in range(6):
        for cell in range(CELLS):
            values[order, cell] = 0.0
        for row in range(2):
            for m in range(DEGREE + 1):
                factor = polynomial[row, m]
                for cell in range(CELLS):
                    values[order, cell] += factor * waves[order, row * (DEGREE + 1) + m, cell]


@inner_kernel
def _add(cells, waits, ends, middle, fifth, error):
    """
    Add a cell to those that wait if it may have a root; returns their number.

    It has first and last angle [rad] with the values there (``ends``), value and four derivatives
    in the middle, and a bound of the fifth derivative.
    """
    half = 0.5 * (ends[1] - ends[0])
    third = abs(middle[3]) + (abs(middle[4]) + 0.5 * fifth * half) * half
    if _has_none(middle, half, third, error):
        return waits
    cell = cells.waiting[waits]
    cell[0], cell[1], cell[2], cell[3] = ends
    cell[4], cell[5], cell[6], cell[7] = middle[0], middle[1], middle[2], third
    return waits + 1


@inner_kernel
def _halve(cells, waits, fifth, error):
    """Add the halves of the cell behind those that wait; returns the number of those."""
    cell, polynomial = cells.waiting[waits], cells.polynomial
    first, last, before, behind, amid = cell[0], cell[1], cell[2], cell[3], cell[4]
    middle = 0.5 * (first + last)
    one = _derivatives(polynomial, 0.5 * (first + middle))
    other = _derivatives(polynomial, 0.5 * (middle + last))
    waits = _add(cells, waits, (first, middle, before, amid), one, fifth, error)
    return _add(cells, waits, (middle, last, amid, behind), other, fifth, error)


@inner_kernel
def _has_none(middle, half, third, error):
    """
    Return whether a polynomial vanishes nowhere in a cell, and does not nearly either.

    ``half`` is half its width [rad], ``third`` a bound of the third derivative.
    """
    value, slope = abs(middle[0]), abs(middle[1])
    bend = middle[2] if middle[0] >= 0.0 else -middle[2]
    least = value - slope * half + 0.5 * bend * half * half
    if slope < bend * half:
        least = value - 0.5 * slope * slope / bend
    touching = 0.5 * _TOUCHING * _TOUCHING * (abs(bend) + third * half)
    return least > third * half * half * half / 6.0 + max(error, touching)


@inner_kernel
def _roots_in(polynomial, cell, error, roots, count):
    """Write the roots in a cell; returns their number, or -1 where it has to be halved."""
    first, last, before, behind, value, slope, bend, third = cell
    half, middle = 0.5 * (last - first), 0.5 * (first + last)
    rest = third * half
    if abs(slope) > (abs(bend) + 0.5 * rest) * half:
        start = first + (last - first) * before / (before - behind + _TINY)
        ends = first, last, before, behind
        return _crossing(polynomial, ends, start, error, roots, count)
    if abs(bend) <= rest:
        highest = abs(value) + (abs(slope) + (0.5 * abs(bend) + rest / 6.0) * half) * half
        return _noted(roots, count, middle, half) if highest <= error else -1
    # The slope vanishes once at most.
    for _ in range(_ITERATIONS):
        at = min(max(middle - slope / bend, first), last)
        value, slope, bend, _, _ = _derivatives(polynomial, at)
        done = abs(at - middle) < _CONVERGED
        middle = at
        if done:
            break
    above = value if bend > 0.0 else -value
    if above >= 0.0:
        if above > max(error, 0.5 * _TOUCHING * _TOUCHING * abs(bend)):
            return count
        off = math.sqrt(2.0 * error / abs(bend)) if above <= error else 0.0
        return _noted(roots, count, middle, off)
    apart = math.sqrt(2.0 * abs(value / bend))
    ends = first, middle, before, value
    count = _crossing(polynomial, ends, middle - apart, error, roots, count)
    ends = middle, last, value, behind
    return _crossing(polynomial, ends, middle + apart, error, roots, count)


@inner_kernel
def _noted(roots, count, angle, error):
    """Write a root and its error; returns the number of roots."""
    roots[count, 0], roots[count, 1] = angle, error
    return count + 1


@inner_kernel
def _crossing(polynomial, ends, start, error, roots, count):
    """Write the root between two angles, from a start, by Halley's method, if there is one."""
    first, last, before, behind = ends
    negative = before < 0.0
    if negative == (behind < 0.0):
        return count
    at, slope, bend = min(max(start, first), last), 0.0, 0.0
    for _ in range(_ITERATIONS):
        value, slope, bend, _, _ = _derivatives(polynomial, at)
        if (value < 0.0) == negative:
            first = at
        else:
            last = at
        following = at - 2.0 * value * slope / (2.0 * slope * slope - value * bend + _TINY)
        if abs(value) < _CONVERGED * abs(slope) and first <= following <= last:
            at = following
            break
        if not first < following < last:
            following = 0.5 * (first + last)
        if abs(following - at) < _BISECTED:
            break
        at = following
    most = math.sqrt(2.0 * error / (abs(bend) + _TINY))
    return _noted(roots, count, at, min(error / (abs(slope) + _TINY), most))


@inner_kernel
def _derivatives(polynomial, angle):
    """Return value and four derivatives."""
    cosine, sine = math.cos(angle), math.sin(angle)
    c, s = 1.0, 0.0
    f0, f1, f2, f3, f4 = polynomial[0, 0], 0.0, 0.0, 0.0, 0.0
    for m in range(1, DEGREE + 1):
        c, s = c * cosine - s * sine, s * cosine + c * sine
        a, b = polynomial[0, m], polynomial[1, m]
        value, slope, square = a * c + b * s, m * (b * c - a * s), m * m
        f0 += value
        f1 += slope
        f2 -= square * value
        f3 -= square * slope
        f4 += square * square * value
    return f0, f1, f2, f3, f4
