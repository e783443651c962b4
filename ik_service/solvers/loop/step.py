"""
The one thing in which the methods differ: their step.

A method is a NamedTuple of numbers, its parameters, and a kernel that is declared the step of that
type by :func:`step_of`. The loop of :mod:`ik_service.solvers.loop.search` calls :func:`step`
with the parameters it was given, and Numba compiles the loop once for each method with its own
step inside.
"""

from __future__ import annotations

from collections.abc import Callable

from ik_service.kinematics.compile import kernel_for
from ik_service.kinematics.kernels import ChainArrays
from ik_service.solvers.loop.problem import Settings, Workspace


def step(method: tuple, chain: ChainArrays, settings: Settings, work: Workspace) -> None:
    """
    Write the step of a method to ``work.step``.

    A variable whose row of ``work.rows`` is zero has to get the step 0.

    :param method: the method's parameters; their type selects the implementation.
    :param chain: the chain.
    :param settings: the settings of the loop.
    :param work: everything up to ``twist`` is given for the posture ``q``, ``axes`` and ``frame``
        as well; the rest is the method's to use.
    """
    raise NotImplementedError('compiled for each method')


# Parameters of the methods whose steps take less time than handing over their arguments.
SHORT_STEPS: set[type] = set()


def step_of(parameters: type, short: bool = False) -> Callable[[Callable], Callable]:
    """
    Declare a function the step of a method; it is compiled as a kernel.

    :param parameters: the NamedTuple type of the method's parameters.
    :param short: whether to compile it into the loop, which makes a short step much faster and
        takes minutes for a long one.
    :returns: a decorator for a function that takes what :func:`step` takes.
    """

    def declare(function: Callable) -> Callable:
        if short:
            SHORT_STEPS.add(parameters)

        @kernel_for(step)
        def choose(method, chain, settings, work):
            return function if getattr(method, 'instance_class', None) is parameters else None

        return function

    return declare
