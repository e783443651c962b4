"""Whether a kernel is compiled, in this process or on disk."""

from __future__ import annotations

from typing import Any

from ik_service.jit.compile import CompiledKernel
from ik_service.jit.entry import signature_of
from ik_service.jit.kernel_cache import KernelCache


def is_compiled(compiled: CompiledKernel, *arguments: object) -> bool:
    """
    Return whether this process has the machine code of a kernel for arguments of these types.

    :param compiled: a :func:`kernel`.
    :param arguments: examples of the arguments.
    """
    dispatcher: Any = compiled
    return signature_of(arguments) in dispatcher.overloads


def is_cached(compiled: CompiledKernel, *arguments: object) -> bool:
    """
    Return whether the machine code of a kernel for arguments of these types is on disk.

    :param compiled: a :func:`kernel`.
    :param arguments: examples of the arguments.
    """
    dispatcher: Any = compiled
    cache = dispatcher._cache
    if not isinstance(cache, KernelCache):
        return False
    return cache.holds(signature_of(arguments), dispatcher.targetctx.codegen())
