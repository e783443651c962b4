"""Whole numbers among arguments, and joint positions in text."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.common.arguments import parse_positions, whole_number
from ik_service.exceptions import ArgumentError, OptionError


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


def test_reads_names_and_numbers():
    assert parse_positions(' torso = 0.1,head=-2e-1 ,', 'x') == {'torso': 0.1, 'head': -0.2}
    assert parse_positions('', 'x') == {}


@pytest.mark.parametrize('text', ['torso', 'torso=', '=1', 'torso=one', 'torso=nan', 'a=1;b=2'])
def test_the_error_names_the_faulty_part(text):
    with pytest.raises(OptionError, match=f'start: .*{text}'):
        parse_positions(f'good=1, {text}', 'start')


def test_refuses_a_joint_that_is_named_twice():
    with pytest.raises(OptionError, match="'a' twice"):
        parse_positions('a=1, a=2', 'start')
