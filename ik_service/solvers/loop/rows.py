"""Numerical Jacobian, and weighted Jacobians at other joint vectors than ``work.q``."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, varied_kernel
from ik_service.kinematics.kernels import frame_error, jacobian_rows, last_frame
from ik_service.solvers.loop.width import width


@inner_kernel
def numerical_rows(chain, perturbation, work):
    """
    Write the numerical Jacobian Δe / Δq to ``work.rows``.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param perturbation: Δq of each variable in turn [rad] or [m].
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = before + perturbation
        last_frame(chain, work.q, work.axes, work.probe_frame)
        work.q[i] = before
        frame_error(work.frame, work.probe_frame, work.rows[i])
        for j in range(6):
            work.rows[i, j] /= perturbation
    last_frame(chain, work.q, work.axes, work.frame)


@varied_kernel
def task_rows(chain, settings, work, q):
    """
    Write the weighted Jacobian at any joint vector to ``work.rows``.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param q: (n,) joint vector [rad] or [m].
    """
    last_frame(chain, q, work.axes, work.frame)
    jacobian_rows(chain, work.axes, work.frame, work.rows)
    for i in range(q.shape[0]):
        for j in range(6):
            work.rows[i, j] *= settings.weights[j]


@inner_kernel
def rows_at(chain, settings, work, q):
    """
    Write the Jacobian of the step in progress at any joint vector to ``work.rows``.

    So the rows are those of the variables that the strategy for the limits has put in the joints'
    place, and zero for those that it fixes.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param q: (n,) joint vector [rad] or [m].
    """
    task_rows(chain, settings, work, q)
    for i in range(q.shape[0]):
        scale = work.scale[i] if math.isnan(work.fixed_at[i]) else 0.0
        for j in range(width(work)):
            work.rows[i, j] *= scale
