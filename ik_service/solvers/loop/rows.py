"""The Jacobian of the task, as the steps see it."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame
from ik_service.kinematics.pose import frame_error


@inner_kernel
def weighted_rows(chain, settings, work):
    """Write the weighted Jacobian at ``work.q`` to ``work.rows``."""
    if settings.perturbation > 0.0:
        _numerical_rows(chain, settings.perturbation, work)
    else:
        jacobian_rows(chain, work.axes, work.frame, work.rows)
    for j in range(6):
        weight = settings.weights[j]
        if weight != 1.0:
            for i in range(work.q.shape[0]):
                work.rows[i, j] *= weight


@inner_kernel
def _numerical_rows(chain, perturbation, work):
    """The Jacobian as Δe / Δq, each variable moved by a little in turn."""
    for i in range(work.q.shape[0]):
        before = work.q[i]
        work.q[i] = before + perturbation
        last_frame(chain, work.q, work.axes, work.probe)
        work.q[i] = before
        frame_error(work.frame, work.probe, work.rows[i])
        for j in range(6):
            work.rows[i, j] /= perturbation
    last_frame(chain, work.q, work.axes, work.frame)


@inner_kernel
def task_rows(chain, settings, work, q):
    """Write the weighted Jacobian at any joint vector to ``work.rows``."""
    last_frame(chain, q, work.axes, work.frame)
    jacobian_rows(chain, work.axes, work.frame, work.rows)
    for i in range(q.shape[0]):
        for j in range(6):
            work.rows[i, j] *= settings.weights[j]


@inner_kernel
def rows_at(chain, settings, work, q):
    """
    Write the Jacobian at any joint vector to ``work.rows``, as it is for the step in progress.

    So the rows are those of the variables that the strategy for the limits has put in the joints'
    place, and zero for those that it holds.
    """
    task_rows(chain, settings, work, q)
    for i in range(q.shape[0]):
        scale = work.scale[i] if math.isnan(work.held[i]) else 0.0
        for j in range(6):
            work.rows[i, j] *= scale
