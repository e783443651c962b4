"""Secondary objective for given options, as the kernels take it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numba
from numba.core import types
from numba.core.ccallback import CFunc
from numba.core.errors import NumbaError
import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.choices import ObjectiveKind
from ik_service.solvers.options import IkOptions
from ik_service.solvers.secondary.objectives import Objective

_C_SIGNATURE = types.float64(types.CPointer(types.float64), types.intp)
# How Numba's messages begin.
_STAGE = 'Failed in nopython mode'
# Random postures at which the rank of a Jacobian is what it is in general.
_POSTURES = 8


def choose_objective(chain: KinematicChain, options: IkOptions) -> Objective:
    """
    Return the objective of the options.

    :param chain: the chain.
    :param options: the options.
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
    """
    Return the generic rank of the Jacobian of a task: the components it can fulfil at once.

    :param chain: the chain.
    :param weights: (6,) of the task; 0 frees an axis.
    """
    lower, upper = chain.sampling_bounds()
    postures = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, chain.n))
    matrices = [chain.jacobian(q) for q in postures]
    used = np.resize(np.array(weights) > 0.0, len(matrices[0]))  # the same for each tip of a tree
    return max(int(np.linalg.matrix_rank(matrix[used])) for matrix in matrices)


@lru_cache(maxsize=64)
def _compiled(function: Callable) -> CFunc:
    """
    Compile a function of the caller's to be called from C; the last ones are kept.

    :raises OptionError: when it cannot be compiled, or does not return a number.
    """
    try:
        compiled = function if hasattr(function, 'py_func') else numba.njit(function)

        def objective(pointer, length):
            return compiled(numba.carray(pointer, length))

        return numba.cfunc(_C_SIGNATURE)(objective)
    except (NumbaError, TypeError) as error:  # TypeError: callable, but no function
        raise OptionError(
            'objective',
            'has to be a function of q (n,) that returns a number and that Numba can compile; '
            f'{getattr(function, "__name__", function)!r} is not: {_reason(error)}',
        ) from error


def _reason(error: Exception) -> str:
    """Return the line of a Numba message that says what is wrong, not at which stage."""
    lines = [line for line in str(error).splitlines() if line]
    return next((line for line in lines if not line.startswith(_STAGE)), lines[0])
