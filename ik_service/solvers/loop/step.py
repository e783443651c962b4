"""
Step functions of the methods.

A method is a NamedTuple of numbers, its parameters, and a kernel that is declared the step of that
type by :func:`step_of`. The loop of :mod:`ik_service.solvers.loop.search` calls :func:`step`
with the parameters it was given, and Numba compiles the loop once for each method with its own
step inside.
"""

from __future__ import annotations

from collections.abc import Callable
import inspect
from typing import TypeVar

from ik_service.exceptions import SolverSpecError
from ik_service.jit.compile import inner_kernel, kernel_for
from ik_service.jit.kernel_source import depend_on
from ik_service.kinematics.joint_path import ChainArrays
from ik_service.solvers.loop.problem import Settings, Workspace

StepFunction = TypeVar('StepFunction', bound=Callable[..., None])
ARGUMENTS = ('method', 'chain', 'settings', 'work')


def step(method: tuple, chain: ChainArrays, settings: Settings, work: Workspace) -> None:
    """
    Write the step of a method to ``work.step``.

    A variable whose row of ``work.rows`` is zero has to get the step 0.

    :param method: the method's parameters; their type selects the implementation.
    :param settings: the settings of the loop.
    :param work: the workspace; its docstring lists inputs, outputs and scratch.
    """
    raise NotImplementedError('compiled for each method')


STEPS: dict[type, Callable] = {}
"""Step function of each type of parameters."""
step_kernel = inner_kernel
"""Decorator for functions that a step calls."""
SHORT_STEPS: set[type] = set()
"""Types of parameters whose step functions are compiled into the loop."""


def step_of(parameters: type, short: bool = False) -> Callable[[StepFunction], StepFunction]:
    """
    Declare a function the step of a method; Numba compiles it.

    :param parameters: the NamedTuple type of the method's parameters; each type has one step.
    :param short: whether to compile it into the loop, which makes a short step much faster and
        takes minutes for a long one.
    :returns: a decorator for a function of ``method, chain, settings, work``, see :func:`step`.
    :raises SolverSpecError: the type is no NamedTuple or has a step already, or the function has
        other arguments.
    """
    if not (isinstance(parameters, type) and issubclass(parameters, tuple)
            and hasattr(parameters, '_fields')):  # fmt: skip
        raise SolverSpecError('step', f'step_of takes a NamedTuple type, not {parameters!r}')
    if parameters in STEPS:
        raise SolverSpecError('step', f'{parameters.__qualname__} has a step already')

    def declare(function: StepFunction) -> StepFunction:
        _check_arguments(function)
        STEPS[parameters] = function
        if short:
            SHORT_STEPS.add(parameters)
        depend_on(parameters, function)

        @kernel_for(step)
        def choose(method, chain, settings, work):
            return function if getattr(method, 'instance_class', None) is parameters else None

        return function

    return declare


def _check_arguments(function: Callable) -> None:
    """Check that a function takes the arguments of :func:`step`."""
    if not inspect.isfunction(function):
        raise SolverSpecError('step', f'has to be a plain Python function, not {function!r}')
    arguments = tuple(inspect.signature(function).parameters)
    if arguments != ARGUMENTS:
        raise SolverSpecError(
            'step',
            f'{function.__name__} takes ({", ".join(arguments)}), '
            f'has to take ({", ".join(ARGUMENTS)})',
        )
