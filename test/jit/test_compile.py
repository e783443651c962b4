"""Kernels, the functions they contain and their variants; which become machine code."""

import os
import subprocess
import sys
from typing import NamedTuple

import numba
import numpy as np
import pytest

from ik_service.jit.compile import (
    inlined_kernel,
    inner_kernel,
    kernel,
    merged_kernel,
    short_inlined_kernel,
    short_kernel,
    variant,
    varied_kernel,
)

lean = pytest.mark.skipif(
    numba.version_info.short != (0, 68), reason='other versions compile all functions alike'
)


class Odd(NamedTuple):
    factor: float


class Even(NamedTuple):
    factor: float


@inner_kernel
def power(x, exponent):
    """In a loop, so that something is left of it when it is called."""
    product = 1.0
    for _ in range(exponent):
        product *= x
    return product


@inlined_kernel
def raised(x, exponent):
    return power(x, exponent) + power(x, 1)


@varied_kernel
def scaled(pair, x):
    return pair.factor * raised(x, 2)


@variant(scaled, Odd)
def _scaled_odd(pair, x):
    return -pair.factor * raised(x, 3)


@merged_kernel
def both(pair, values):
    for i in range(values.shape[0]):
        values[i] = scaled(pair, values[i])


@kernel
def scale_all(pair, values):
    both(pair, values)
    return power(values[0], 2)


@kernel
def powers(values, exponent):
    for i in range(values.shape[0]):
        values[i] = power(values[i], exponent)


@short_inlined_kernel
def halved(x):
    return 0.5 * x


@short_kernel
def half(x):
    return halved(x)


def scaled_by_python(pair, x):
    exponent, sign = (3, -1.0) if isinstance(pair, Odd) else (2, 1.0)
    return sign * pair.factor * (x**exponent + x)


@pytest.mark.parametrize('pair', [Odd(2.0), Even(2.0)])
def test_kernels_compute_what_the_functions_say(pair):
    values = np.array([1.5, -2.0, 0.25])
    expected = [scaled_by_python(pair, x) for x in values]
    first = scale_all(pair, values)
    assert values.tolist() == expected  # powers of two: without rounding
    assert first == expected[0] ** 2


def test_one_function_is_part_of_several_kernels():
    values = np.array([1.5, -2.0])
    powers(values, 3)
    assert values.tolist() == [3.375, -8.0]
    assert scale_all(Even(1.0), np.array([2.0])) == 36.0
    assert half(3.0) == 1.5


@varied_kernel
def doubled(pair):
    return 2.0 * pair.factor


def test_a_function_with_variants_is_still_a_function():
    assert doubled(Even(1.5)) == 3.0
    assert doubled.py_func is doubled


@lean
def test_only_kernels_become_machine_code():
    numbers = numba.float32[::1], numba.int64
    powers.compile(numbers)
    engine = powers.targetctx.codegen()._engine
    assert engine.is_symbol_defined(powers.overloads[numbers].fndesc.llvm_func_name)
    power.compile((numba.float32, numba.int64))
    (inner,) = (made for kinds, made in power.overloads.items() if kinds[0] == numba.float32)
    assert not engine.is_symbol_defined(inner.fndesc.llvm_func_name)


def test_numba_without_its_compiler_is_refused_by_name():
    code = 'import ik_service; ik_service.Solver'
    environment = {**os.environ, 'NUMBA_DISABLE_JIT': '1'}
    words = [sys.executable, '-c', code]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert 'ArgumentError: NUMBA_DISABLE_JIT: has to be 0 or unset' in done.stderr
