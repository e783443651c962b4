"""
Secondary objectives of redundant arms: functions g(q) to minimise.

- ``joint_centers``: ½ Σ ((qᵢ − middleᵢ) / half rangeᵢ)², but for a factor that of Liégeois (1977).
- ``joint_limits``: Σ rangeᵢ² / (4 (upperᵢ − qᵢ) (qᵢ − lowerᵢ)), which has no bound at the limits:
  H. Zghal, R. V. Dubey and J. A. Euler, "Efficient gradient projection optimization for
  manipulators with multiple degrees of redundancy", ICRA 1990.
- ``manipulability``: minus the product of the singular values of the task's Jacobian, as many as
  it has in general: T. Yoshikawa, "Manipulability of robotic mechanisms", 1985.
- ``preferred_posture``: ½ ‖q − preferred‖².
- a function of the caller's own.

Joints without limits take no part in the first two.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
import math
from typing import NamedTuple

from llvmlite import ir
import numba
from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
from numba.extending import intrinsic
import numpy as np

from ik_service.exceptions import OptionError
from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import copy_vector, has_lower, has_upper
from ik_service.solvers.loop.iteration import rows_at, task_rows
from ik_service.solvers.loop.limits import moved
from ik_service.solvers.loop.linear_algebra import (
    largest_index,
    orthogonal_columns,
    squared_singular_values,
)
from ik_service.solvers.options import IkOptions, ObjectiveKind
from ik_service.solvers.registry import numba_reason

# Of central differences [rad] or [m].
_PERTURBATION = 1e-4
# Closer to a limit than this share of the range, ``joint_limits`` grows no further.
_CLOSEST = 1e-6
# Rows at the end of the method's memory that are for the objective.
MEMORY_ROWS = 1


class Objective(NamedTuple):
    """
    Objective in the form that kernels take.

    :ivar kind: number of the :class:`~ik_service.solvers.options.ObjectiveKind`.
    :ivar rank: rank of the task's Jacobian in general.
    :ivar address: of the caller's function, compiled for C: double (uintptr_t q, int64_t n).
    :ivar posture: (n,) the preferred one.
    """

    kind: int
    rank: int
    address: int
    posture: np.ndarray


@intrinsic
def _call(typing_context, address, vector, length):
    """Call the function at an address."""
    signature = types.float64(types.int64, types.uintp, types.int64)

    def generate(context, builder, signature, arguments):
        integer = ir.IntType(64)
        kind = ir.FunctionType(ir.DoubleType(), [integer, integer])
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        return builder.call(function, arguments[1:])

    return signature, generate


@inner_kernel
def objective_value(objective, chain, settings, work, q):
    """Return the objective g at q (n,), contiguous; ``manipulability`` overwrites scratch."""
    kind = objective.kind
    if kind == ObjectiveKind.FUNCTION:
        # The stub of Numba counts the typing context among the arguments.
        return _call(objective.address, q.ctypes.data, q.shape[0])  # type: ignore[call-arg]
    if kind == ObjectiveKind.MANIPULABILITY:
        return -_manipulability(objective.rank, chain, settings, work, q)
    value = 0.0
    for i in range(q.shape[0]):
        lower, upper = work.lower[i], work.upper[i]
        half = 0.5 * (upper - lower)
        if kind == ObjectiveKind.PREFERRED_POSTURE:
            value += 0.5 * (q[i] - objective.posture[i]) ** 2
        elif half > 0.0 and has_lower(lower) and has_upper(upper):
            if kind == ObjectiveKind.JOINT_CENTERS:
                value += 0.5 * ((q[i] - lower - half) / half) ** 2
            else:
                value += half * half / _room(lower, upper, q[i])
    return value


@inner_kernel
def _room(lower, upper, value):
    """Return the product of the distances from both limits."""
    least = _CLOSEST * (upper - lower)
    return max(upper - value, least) * max(value - lower, least)


@inner_kernel
def _manipulability(rank, chain, settings, work, q):
    """Return the product of the ``rank`` largest singular values of the Jacobian."""
    task_rows(chain, settings, work, q)
    orthogonal_columns(work.rows, work.columns, work.matrix)
    squared_singular_values(work.columns, work.vector)
    product = 1.0
    for _ in range(rank):
        largest = largest_index(work.vector)
        product *= math.sqrt(work.vector[largest])
        work.vector[largest] = 0.0
    return product


@inner_kernel
def objective_gradient(objective, chain, settings, work, q, gradient):
    """Write the gradient of the objective (n,); 0 for variables that are held."""
    kind = objective.kind
    varied = work.memory[work.memory.shape[0] - 1]
    copy_vector(q, varied)
    for i in range(q.shape[0]):
        lower, upper = work.lower[i], work.upper[i]
        half = 0.5 * (upper - lower)
        limited = half > 0.0 and has_lower(lower) and has_upper(upper)
        gradient[i] = 0.0
        if not math.isnan(work.fixed_at[i]):
            continue
        if kind == ObjectiveKind.PREFERRED_POSTURE:
            gradient[i] = q[i] - objective.posture[i]
        elif kind == ObjectiveKind.JOINT_CENTERS:
            if limited:
                gradient[i] = (q[i] - lower - half) / (half * half)
        elif kind == ObjectiveKind.JOINT_LIMITS:
            if limited:
                room = _room(lower, upper, q[i])
                gradient[i] = 2.0 * half * half * (q[i] - lower - half) / (room * room)
        else:
            for side in (-1.0, 1.0):
                varied[i] = q[i] + side * _PERTURBATION
                value = objective_value(objective, chain, settings, work, varied)
                gradient[i] += side * value / (2.0 * _PERTURBATION)
            varied[i] = q[i]


_C_SIGNATURE = types.float64(types.CPointer(types.float64), types.intp)
# Random postures at which the rank of a Jacobian has its generic value.
_POSTURES = 8


def choose_objective(chain: KinematicChain, options: IkOptions) -> Objective:
    """
    Return the objective of the options.

    :raises OptionError: when the preferred posture does not fit the chain, or the caller's
        function cannot be compiled or does not return a number.
    """
    kind, address = ObjectiveKind.NONE, 0
    if callable(options.objective):
        kind, address = ObjectiveKind.FUNCTION, _compiled(options.objective).address or 0
    elif options.objective is not None:
        kind = ObjectiveKind[options.objective.upper()]
    posture = options.preferred_posture or (0.0,) * chain.n
    if len(posture) != chain.n:
        raise OptionError(
            'preferred_posture',
            f'has to be {chain.n} numbers, one each for {", ".join(chain.joint_names)}, '
            f'not {len(posture)}',
        )
    return Objective(int(kind), task_rank(chain, options.task_weights), address, np.array(posture))


def task_rank(chain: KinematicChain, weights: tuple[float, ...]) -> int:
    """Return the generic rank of a task's Jacobian by its weights (6,): components met at once."""
    lower, upper = chain.sampling_bounds()
    postures = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, chain.n))
    matrices = [chain.jacobian(q) for q in postures]
    used = np.resize(np.array(weights) > 0.0, len(matrices[0]))  # the same for each tip of a tree
    return max(int(np.linalg.matrix_rank(matrix[used])) for matrix in matrices)


@lru_cache(maxsize=64)
def _compiled(function: Callable) -> CFunc:
    """Compile a function of the caller's to be called from C; raises OptionError."""
    try:
        compiled = function if hasattr(function, 'py_func') else numba.njit(function)

        def objective(pointer, length):
            return compiled(numba.carray(pointer, length))

        return numba.cfunc(_C_SIGNATURE)(objective)
    except (NumbaError, TypeError) as error:  # TypeError: callable, but no function
        raise OptionError(
            'objective',
            'has to be a function of q (n,) that returns a number and that Numba can compile; '
            f'{getattr(function, "__name__", function)!r} is not: {numba_reason(error)}',
        ) from error


# Rows of the method's memory, and their number.
_GRADIENT, _TRIAL, _MOTION, _COLUMNS = range(4)
SELF_MOTION_ROWS = 9 + MEMORY_ROWS
# The longest motion of a step [rad] or [m].
_LONGEST = 0.1
# The slope along the self-motion at which the objective has settled.
_SETTLED = 1e-5
# A motion that does not lower the objective is halved, so often at most.
_HALVINGS = 12


@inner_kernel
def add_self_motion(method, chain, settings, work, cut):
    """Add −β (I − J⁺J) ∇g to ``work.step``, shortened until it lowers g."""
    n = work.q.shape[0]
    gradient, motion = work.memory[_GRADIENT], work.memory[_MOTION]
    for j in range(6):
        copy_vector(work.columns[j], work.memory[_COLUMNS + j])
    objective_gradient(method.objective, chain, settings, work, work.q, gradient)
    squared_singular_values(work.memory[_COLUMNS : _COLUMNS + 6], work.vector)
    for i in range(n):
        gradient[i] = gradient[i] * work.scale[i] if math.isnan(work.fixed_at[i]) else 0.0
        motion[i] = gradient[i]
    for j in range(6):
        if work.vector[j] > cut:
            column = work.memory[_COLUMNS + j]
            along = 0.0
            for i in range(n):
                along += column[i] * gradient[i]
            for i in range(n):
                motion[i] -= along / work.vector[j] * column[i]
    steepest = 0.0
    for i in range(n):
        steepest = max(steepest, abs(motion[i]))
        motion[i] *= -method.null_space_gain
    work.unfinished[0] = 0
    if steepest > _SETTLED:
        longest = method.null_space_gain * steepest
        share = _lowering_share(method, chain, settings, work, min(1.0, _LONGEST / longest))
        work.unfinished[0] = share > 0.0
        for i in range(n):
            work.step[i] += share * motion[i]
    rows_at(chain, settings, work, work.q)


@inner_kernel
def _lowering_share(method, chain, settings, work, share):
    """Return the share of the motion in ``work.memory`` that lowers the objective, or 0."""
    n = work.q.shape[0]
    trial, motion = work.memory[_TRIAL], work.memory[_MOTION]
    before = -math.inf
    copy_vector(work.q, trial)
    for _ in range(_HALVINGS):
        value = objective_value(method.objective, chain, settings, work, trial)
        if value < before:
            return share
        if before == -math.inf:
            before = value
        else:
            share *= 0.5
        for i in range(n):
            trial[i] = moved(chain, work, settings.limits, i, share * motion[i])
    return 0.0
