"""Number of components of the error of a task."""

from __future__ import annotations

from ik_service.jit.compile import varied_kernel


def width(work):
    """
    Return the number of components of the error: 6, which the compiler knows.

    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
    return 6


width = varied_kernel(width, inlined=True)
