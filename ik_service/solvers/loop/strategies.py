"""
Steps under each strategy for the joint limits.

- ``ignore``: limits do not matter.
- ``clamp``: each step is projected onto them.
- ``active_set``: see :mod:`ik_service.solvers.loop.limits`.
- ``transform`` and ``penalty``: see :mod:`ik_service.solvers.loop.substitution`.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.limits import inside
from ik_service.solvers.loop.substitution import transformed, untransformed


@inner_kernel
def moved(chain, work, strategy, i, step):
    """
    Return the position of a variable after a step from ``work.q``.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param strategy: number of the :class:`~ik_service.solvers.choices.LimitStrategy`.
    :param i: index of the variable.
    :param step: the step of the variable.
    """
    value = work.q[i]
    if strategy == LimitStrategy.ACTIVE_SET:
        fixed_at = work.fixed_at[i]
        return inside(chain, i, value + step) if math.isnan(fixed_at) else fixed_at
    if strategy == LimitStrategy.CLAMP:
        return min(max(value + step, chain.lower[i]), chain.upper[i])
    if strategy == LimitStrategy.TRANSFORM:
        lower, upper = chain.lower[i], chain.upper[i]
        return transformed(lower, upper, untransformed(lower, upper, value) + step)
    return value + work.scale[i] * step - work.penalty_shift[i]


@inner_kernel
def substitute_of(chain, strategy, i, value):
    """
    Return the value of the variable that the strategy substitutes for a joint position.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param strategy: number of the :class:`~ik_service.solvers.choices.LimitStrategy`.
    :param i: index of the variable.
    :param value: its position [rad] or [m].
    """
    if strategy == LimitStrategy.TRANSFORM:
        return untransformed(chain.lower[i], chain.upper[i], value)
    return value


@inner_kernel
def take_step(chain, work, strategy):
    """
    Take the step, and write the actual motion to ``work.step``.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param strategy: number of the :class:`~ik_service.solvers.choices.LimitStrategy`.
    """
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = moved(chain, work, strategy, i, work.step[i])
        work.step[i] = work.q[i] - before


@inner_kernel
def all_inside(chain, q):
    """
    Return whether every variable is within its limits.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param q: (n,) joint vector [rad] or [m].
    """
    for i in range(q.shape[0]):
        if not chain.lower[i] <= q[i] <= chain.upper[i]:
            return False
    return True


@inner_kernel
def bring_inside(chain, q):
    """
    Bring every variable within its limits.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param q: (n,) joint vector [rad] or [m].
    """
    for i in range(q.shape[0]):
        q[i] = inside(chain, i, q[i])
