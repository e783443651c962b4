"""Angles at which trigonometric polynomials vanish: all are found, those that meet too."""

import numpy as np
import pytest

from ik_service.jit.compile import kernel
from ik_service.solvers.all_solutions.real_roots import Cells, new_cells, write_real_roots


@kernel
def write(cells, error):
    return write_real_roots(cells, error)


def found(cosines, sines, error):
    """Sorted roots and their errors, and whether they are all there."""
    cells: Cells = new_cells()
    cells.polynomial[:] = cosines, sines
    count, complete = write(cells, error)
    roots = cells.roots[:count]
    return roots[np.argsort(roots[:, 0])].T, complete


def with_roots(roots):
    """Cosines and sines of a product of sin((θ − root) / 2) over sixteen roots."""
    angles = 2.0 * np.pi / 32 * np.arange(32)
    samples = np.prod(np.sin(0.5 * (angles[:, None] - roots)), axis=1)
    terms = np.fft.rfft(samples)[:9] / 16.0
    terms[0] *= 0.5
    return terms.real, -terms.imag


def test_all_roots_are_found():
    random = np.random.default_rng(0)
    for _ in range(50):
        roots = np.sort(random.uniform(0.0, 2.0 * np.pi, 16))
        (angles, errors), complete = found(*with_roots(roots), 1e-16)
        assert complete
        assert len(angles) == 16
        assert (np.abs(angles - roots) <= errors + 1e-9).all()


def test_a_root_at_the_end_of_a_cell_is_found_once():
    (angles, _), complete = found([0.0] * 9, [0.0, 1.0] + [0.0] * 7, 1e-15)
    assert complete
    assert np.sort(angles % 6.28) == pytest.approx([0.0, np.pi], abs=4e-3)


@pytest.mark.parametrize('apart', [0.0, 1e-9, 1e-5, 1e-3])
def test_roots_that_meet_are_found(apart):
    roots = np.array([1.0, 1.0 + apart, *np.linspace(2.0, 6.0, 14)])
    (angles, errors), complete = found(*with_roots(roots), 1e-15)
    assert complete
    near = np.abs(angles - 1.0) < 0.1
    for root in roots[:2]:
        assert (np.abs(angles[near] - root) <= errors[near] + 1e-9).any()
    assert near.sum() == 2 if apart >= 1e-5 else errors[near].max() > 1e-9


def test_a_root_of_exactly_zero_between_values_of_one_sign_is_found_and_none_where_none_is():
    for sign in (1.0, -1.0):
        (angles, _), complete = found([sign, -sign] + [0.0] * 7, [0.0] * 9, 1e-15)
        assert complete
        assert np.cos(angles) == pytest.approx(1.0, abs=1e-9)
        assert len(angles) > 0
    (angles, _), complete = found([1.0] + [0.0] * 7 + [0.9], [0.0] * 9, 1e-15)
    assert complete
    assert len(angles) == 0


def test_roots_of_a_polynomial_that_is_nearly_zero_may_be_anywhere():
    (_, errors), _ = found([0.0] * 9, [0.0, 1e-17] + [0.0] * 7, 1e-15)
    assert errors.min() > 1.0
