"""Decorators that compile kernels with Numba: one set of options, one cache on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import functools
import gc
from typing import Any, Protocol, TypeVar

import numba
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import overload

from ik_service.exceptions import ArgumentError
from ik_service.jit.cached_files import cache_folder
from ik_service.jit.kernel_cache import KernelCache
from ik_service.jit.kernel_source import declare_function

if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # it is set at run time
    raise ArgumentError('NUMBA_DISABLE_JIT', 'has to be 0 or unset, as kernels need the compiler')

# Fused multiply-add is the one liberty taken with IEEE arithmetic: it only ever rounds less.
_OPTIONS: dict[str, Any] = {'error_model': 'numpy', 'fastmath': {'contract'}, '_nrt': False}
# Without the entry from Python a function compiles faster.
_INNER: Any = {**_OPTIONS, 'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}
if numba.version_info.short == (0, 68):
    from ik_service.jit.inner_code import InnerCompiler

    _INNER['pipeline_class'] = InnerCompiler
_INLINED: Any = {**_INNER, 'forceinline': True}
_EXACT: dict[str, Any] = {**_OPTIONS, 'fastmath': False}
_EXACT_INLINED: Any = {**_INLINED, 'fastmath': False}

KernelFunction = TypeVar('KernelFunction', bound=Callable)
_VARIANTS: dict[Callable, dict[type, Callable]] = {}


class CompiledKernel(Protocol):
    """
    Function compiled by Numba, as far as this package uses it.

    :ivar py_func: the Python function.
    """

    py_func: Callable

    @property
    def overloads(self) -> Mapping[Any, Any]:
        """Compile results by signature."""

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - as the Python function
        """Run the machine code for the types of the arguments."""

    def compile(self, signature: tuple) -> object:
        """
        Compile for the types of some arguments.

        :param signature: Numba's types of the arguments.
        """


def kernel(function: Callable) -> CompiledKernel:
    """
    Compile a function that Python calls: the GIL is released, the code is cached on disk.

    Kernels are compiled without Numba's allocator and reference counts, so one that allocates
    does not compile, and passing arrays about costs nothing. Without a folder to cache them in,
    they are compiled anew in each process.

    :returns: the compiled function, specialised on its first call.
    """
    return _compiled(function, nogil=True, **_OPTIONS)


def short_kernel(function: Callable) -> CompiledKernel:
    """
    Compile a function as a :func:`kernel` that holds the GIL, with the rounding of NumPy.

    For calls that take a microsecond in a thread that must not be late: others would get the GIL
    meanwhile, and keep it for milliseconds.

    :returns: the compiled function, specialised on its first call.
    """
    return _compiled(function, **_EXACT)


def vector_kernel(function: Callable) -> CompiledKernel:
    """
    Compile a function as a :func:`kernel` whose loops are turned into vector code.

    For those that do the same to many numbers, as to all roots of a polynomial.

    :returns: the compiled function, specialised on its first call.
    """
    return _compiled(function, vectorize=True, nogil=True, **_OPTIONS)


def _compiled(
    function: Callable,
    vectorize: bool = False,
    **options: Any,  # noqa: ANN401 - Numba's
) -> CompiledKernel:
    compiled: Any = cached(numba.njit(function, **options), allocates=options['_nrt'])
    compiled.compile = _with_less_effort(compiled.compile, vectorize)
    return compiled


def cached(compiled: CompiledKernel, allocates: bool = True) -> CompiledKernel:
    """
    Keep the code of a function on disk, instead of ``cache=True``, which loads damaged files.

    :param compiled: the function returned by ``numba.njit``.
    :param allocates: whether it may allocate memory.
    :returns: the same.
    """
    folder = cache_folder()
    if folder is not None:
        dispatcher: Any = compiled  # Numba has no public method to exchange the cache
        dispatcher._cache = KernelCache(dispatcher.py_func, folder, allocates)
    return compiled


def _with_less_effort(compile_for: Callable, vectorize: bool) -> Callable:
    """
    Reduce the compile time of kernels by a quarter.

    Python's collector would look through the compiler's objects again and again, to free a quarter
    of the memory. Vector code for loops over a handful of joints and the last level of
    optimisation gain nothing. Numba's lock keeps all of this from whatever else is compiled.
    """

    def compile_kernel(signature: tuple) -> Callable:
        config: Any = numba.config  # its attributes are set at run time
        with global_compiler_lock:
            before = config.OPT, config.LOOP_VECTORIZE, gc.isenabled()
            config.OPT = type(config.OPT)(min(config.OPT, 2))
            config.LOOP_VECTORIZE = int(vectorize)
            gc.disable()
            try:
                return compile_for(signature)
            finally:
                config.OPT, config.LOOP_VECTORIZE, collecting = before
                if collecting:
                    gc.enable()

    return compile_kernel


def inner_kernel(function: Callable) -> Callable:
    """Compile a function that only kernels call."""
    return numba.njit(function, **_INNER)


def inlined_kernel(function: Callable) -> Callable:
    """
    Compile a function into every kernel that calls it.

    That saves handing over its arguments, which for many arrays takes longer than a step of an
    arm, and costs compilation time at every call.

    :returns: the compiled function.
    """
    return numba.njit(function, **_INLINED)


def short_inlined_kernel(function: Callable) -> Callable:
    """Compile a function into every :func:`short_kernel` that calls it."""
    return numba.njit(function, **_EXACT_INLINED)


def kernel_for(function: Callable, inlined: bool = False) -> Callable:
    """
    Declare the code that kernels call for a function, chosen by the types of its arguments.

    :param function: the function of the same file; only its name and arguments matter.
    :param inlined: whether the code chosen is compiled as an :func:`inlined_kernel`.
    :returns: a decorator for a function that takes the types of the arguments and returns the
        Python function to compile, with arguments of the same names; None when it has none.
    """
    return overload(function, jit_options=_INLINED if inlined else _INNER)


def varied_kernel(function: KernelFunction, inlined: bool = False) -> KernelFunction:
    """
    Compile an :func:`inner_kernel` that has variants for some types of arguments.

    Kernels are compiled for the types of their arguments, and with them goes the choice: nothing
    is left of it in the machine code.

    :param function: the function for all types without a :func:`variant`.
    :param inlined: whether it and its variants are compiled as an :func:`inlined_kernel`.
    :returns: the function, for kernels.
    """
    variants: dict[type, Callable] = {}
    _VARIANTS[function] = variants

    @functools.wraps(function)
    def choose(*arguments: object) -> Callable:
        kinds = (getattr(argument, 'instance_class', None) for argument in arguments)
        return next((variants[kind] for kind in kinds if kind in variants), function)

    kernel_for(function, inlined)(choose)
    function.__dict__['py_func'] = function  # as compiled functions have it
    return function


def variant(function: Callable, kind: type) -> Callable[[KernelFunction], KernelFunction]:
    """
    Declare the code that kernels call for a :func:`varied_kernel` where an argument is of a type.

    :param function: the varied kernel.
    :param kind: a NamedTuple type.
    :returns: a decorator for a function with the same names of arguments.
    """

    def declare(other: KernelFunction) -> KernelFunction:
        declare_function(kind, other)
        _VARIANTS[function][kind] = other
        return other

    return declare


def merged_kernel(function: Callable) -> Callable:
    """
    Make a function part of the kernels that call it, before they are compiled.

    Numba optimises a compiled function together with all that it calls, so on a deep path of calls
    the code at the bottom is optimised once for every level above it. For the long functions near
    the top this takes their level out; for short ones :func:`inlined_kernel` makes faster code.
    Its callees are compiled once for all kernels that it is part of. Numba 0.58 would take longer
    to merge the functions than to do everything else, so there they stay apart.

    :returns: the function, for kernels.
    """
    if numba.version_info.short < (0, 59):
        return inner_kernel(function)
    return numba.njit(function, inline='always', **_OPTIONS)
