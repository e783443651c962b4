"""Whether a kernel is compiled."""

from __future__ import annotations

from typing import Any

from ik_service.kinematics.compile import CompiledKernel
from ik_service.kinematics.entry import signature_of


def is_compiled(compiled: CompiledKernel, *arguments: object) -> bool:
    """
    Return whether this process has the machine code of a kernel for arguments of these types.

    :param compiled: a :func:`kernel`.
    :param arguments: examples of the arguments.
    """
    dispatcher: Any = compiled
    return signature_of(arguments) in dispatcher.overloads
