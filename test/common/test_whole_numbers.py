"""Whole numbers: those of any kind are taken, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.common.whole_numbers import whole_number
from ik_service.exceptions import ArgumentError


@pytest.mark.parametrize('value', [7, np.int64(7), np.uint8(7), np.array(7)])
def test_whole_numbers_become_those_of_python(value):
    number = whole_number(value, 'count', 7, 7)
    assert type(number) is int
    assert number == 7


@pytest.mark.parametrize(
    'value', [True, np.True_, 7.0, np.float64(7.0), '7', None, 0, 9, -(10**30), np.array([7, 7])]
)
def test_all_else_is_refused_and_named(value):
    with pytest.raises(ArgumentError, match='count: has to be a whole number from 1 to 8, not'):
        whole_number(value, 'count', 1, 8)


def test_without_a_bound_there_is_none():
    assert whole_number(10**30, 'count') == 10**30
    with pytest.raises(ArgumentError, match='whole number of at least 1, not 0'):
        whole_number(0, 'count')
