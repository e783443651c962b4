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

import math
from typing import NamedTuple

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
import numpy as np

from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.joint_space import has_lower, has_upper
from ik_service.kinematics.kernels import copy_vector
from ik_service.solvers.choices import ObjectiveKind
from ik_service.solvers.kernels.singular_values import (
    largest_index,
    orthogonal_columns,
    squared_singular_values,
)
from ik_service.solvers.loop.rows import task_rows

# Of central differences [rad] or [m].
_PERTURBATION = 1e-4
# Closer to a limit than this share of the range, ``joint_limits`` grows no further.
_CLOSEST = 1e-6
# Rows at the end of the method's memory that are for the objective.
MEMORY_ROWS = 1


class Objective(NamedTuple):
    """
    Objective in the form that kernels take.

    :ivar kind: number of the :class:`~ik_service.solvers.choices.ObjectiveKind`.
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
    """
    Return the objective g; ``manipulability`` overwrites the scratch of ``work``.

    :param objective: :class:`Objective`.
    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param q: (n,), contiguous.
    """
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
    """
    Write the gradient of the objective.

    :param objective: :class:`Objective`.
    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param q: (n,).
    :param gradient: (n,) out; 0 for variables that are held.
    """
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
