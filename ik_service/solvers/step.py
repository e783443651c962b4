"""
The one thing in which the methods differ: their step.

A method is a NamedTuple of numbers, its parameters, and a kernel that is declared the step of that
type by :func:`step_of`. The shared loop of :mod:`ik_service.solvers.search` calls :func:`step`
with the parameters it was given, and Numba compiles the loop once for each method with its own
step inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba.extending import overload
import numpy as np

from ik_service.kinematics.compile import inner_kernel


class Workspace(NamedTuple):
    """
    Everything that a solve writes to, allocated once.

    :ivar q: (n,) the current joint vector.
    :ivar step: (n,) the current step.
    :ivar rows: (n, 6) weighted Jacobian, one row a variable; zero for a held variable.
    :ivar error: (6,) weighted pose error, less what the held variables contribute.
    :ivar cost: (1,) half the squared weighted error.
    :ivar axes: (m, 6) joint axes.
    :ivar frame: (12,) frame behind the last joint.
    :ivar goal: (12,) where that frame shall be.
    :ivar twist: (6,) unweighted pose error.
    :ivar matrix: (6, 6) scratch of the steps.
    :ivar vector: (6,) scratch of the steps.
    :ivar columns: (6, n) scratch of the steps.
    :ivar held: (n,) the bound at which a variable is held in this step; NaN for a free one.
    :ivar start: (n,) the seed within the limits.
    :ivar clock: (2,) int64, scratch of the clock.
    :ivar random: (1,) uint64, state of the generator of restarts.
    :ivar recorded: (1,) int64, rows of the trace that are written.
    """

    q: np.ndarray
    step: np.ndarray
    rows: np.ndarray
    error: np.ndarray
    cost: np.ndarray
    axes: np.ndarray
    frame: np.ndarray
    goal: np.ndarray
    twist: np.ndarray
    matrix: np.ndarray
    vector: np.ndarray
    columns: np.ndarray
    held: np.ndarray
    start: np.ndarray
    clock: np.ndarray
    random: np.ndarray
    recorded: np.ndarray


def workspace(n: int, m: int) -> Workspace:
    """
    Allocate a workspace.

    :param n: number of variables.
    :param m: number of joints on the path.
    """
    return Workspace(
        np.empty(n),
        np.empty(n),
        np.empty((n, 6)),
        np.empty(6),
        np.empty(1),
        np.empty((m, 6)),
        np.empty(12),
        np.empty(12),
        np.empty(6),
        np.empty((6, 6)),
        np.empty(6),
        np.empty((6, n)),
        np.empty(n),
        np.empty(n),
        np.empty(2, np.int64),
        np.empty(1, np.uint64),
        np.empty(1, np.int64),
    )


def step(method: tuple, work: Workspace) -> None:
    """
    Write the step of a method to ``work.step``.

    A variable whose row of ``work.rows`` is zero has to get the step 0.

    :param method: the method's parameters; their type selects the implementation.
    :param work: ``rows``, ``error`` and ``cost`` are given.
    """
    raise NotImplementedError('implemented for each method by an overload')


def step_of(parameters: type) -> Callable[[Callable], Callable]:
    """
    Declare a function the step of a method; it is compiled as a kernel.

    :param parameters: the NamedTuple type of the method's parameters.
    :returns: a decorator for a function of the parameters and a :class:`Workspace`.
    """

    def declare(function: Callable) -> Callable:
        compiled = inner_kernel(function)

        @overload(step)
        def select(method, work):
            if getattr(method, 'instance_class', None) is parameters:
                return lambda method, work: compiled(method, work)
            return None

        return compiled

    return declare
