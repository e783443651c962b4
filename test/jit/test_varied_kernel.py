"""Kernels with variants: the types of the arguments choose, when they are compiled."""

from typing import NamedTuple

from ik_service.jit.compile import kernel, variant, varied_kernel


class Plain(NamedTuple):
    value: float


class Special(NamedTuple):
    value: float


@varied_kernel
def doubled(pair, factor):
    return 2.0 * factor * pair.value


@variant(doubled, Special)
def _doubled_special(pair, factor):
    return -2.0 * factor * pair.value


@kernel
def call(pair, factor):
    return doubled(pair, factor)


def test_variant_is_chosen_by_type():
    assert call(Plain(3.0), 1.0) == 6.0
    assert call(Special(3.0), 1.0) == -6.0


def test_function_is_still_a_function():
    assert doubled(Plain(1.0), 3.0) == 6.0
    assert doubled.py_func is doubled
