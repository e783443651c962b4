"""Machine code of kernels: direct calls without Numba's dispatch, and whether there is any yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numba
from numba.core import types
import numpy as np

from ik_service.jit.compile import CompiledKernel
from ik_service.jit.kernel_cache import KernelCache


def entry_point(compiled: CompiledKernel, *arguments: object) -> Callable:
    """
    Return the machine code of a kernel for arguments of exactly these types.

    Calling it skips Numba's dispatch, which takes longer than the forward kinematics of an arm.
    Its arguments have to be of the same types, contiguous and writable where these are.

    :param compiled: a :func:`kernel`.
    :param arguments: examples of the arguments.
    """
    dispatcher: Any = compiled
    key = dispatcher, _key_of(arguments)
    found = _known.get(key)
    if found is None:
        signature = signature_of(arguments)
        if signature not in dispatcher.overloads:
            dispatcher.compile(signature)
        found = _known[key] = dispatcher.overloads[signature].entry_point
    return found


# By kernel and keys of the arguments; Numba's own types take longer to make than a call.
_known: dict[tuple[Any, object], Callable] = {}


def _key_of(argument: object) -> object:
    """Return a key that differs for arguments of different Numba types."""
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.writeable
    if isinstance(argument, tuple):
        return type(argument), *map(_key_of, argument)
    return type(argument) if isinstance(argument, (bool, int, float)) else argument


def signature_of(arguments: Iterable[object]) -> tuple:
    """Return the Numba types of arguments, as ``numba.typeof`` gives them."""
    return tuple(_type_of(argument) for argument in arguments)


def _type_of(argument: object) -> types.Type:
    """Return ``numba.typeof`` of an argument, without its import of NumPy's masked arrays."""
    if isinstance(argument, np.ndarray):
        dtype = numba.from_dtype(argument.dtype)
        return types.Array(dtype, argument.ndim, 'C', readonly=not argument.flags.writeable)
    if isinstance(argument, tuple):
        return types.BaseTuple.from_types(signature_of(argument), type(argument))
    return numba.typeof(argument)


class KernelUser:
    """Object whose kernels can be compiled, or loaded, ahead of their use."""

    def kernels(self) -> list[tuple]:
        """Return the kernels by which it is known to be ready, each with example arguments."""
        raise NotImplementedError

    @property
    def compiled(self) -> bool:
        """Whether this process has the machine code of the kernels, so that they run at once."""
        return all(
            signature_of(arguments) in kernel.overloads for kernel, *arguments in self.kernels()
        )

    @property
    def cached(self) -> bool:
        """Whether the kernels are on disk, so that they need only be loaded."""
        return all(
            isinstance(kernel._cache, KernelCache)
            and kernel._cache.holds(signature_of(arguments), kernel.targetctx.codegen())
            for kernel, *arguments in self.kernels()
        )
