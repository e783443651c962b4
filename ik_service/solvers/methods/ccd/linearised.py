"""
Cycle over the joints in which each goes to the minimum of its linearised error.

For tasks whose weights differ between the axes, and for variables that move several joints: there
the best place of a joint has no closed form.
"""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import jacobian_rows, last_frame
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.methods.ccd.closed_form import NOISE, within

# The longest motion [rad] or [m] to the minimum of a linearised error.
_LONGEST = math.pi


@inner_kernel
def linearised_cycle(method, chain, settings, work, q):
    """
    Move each variable of ``q`` to the minimum of its linearised error, the last one first.

    :param method: :class:`~ik_service.solvers.methods.ccd.method.CyclicCoordinateDescent`.
    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`, used as scratch.
    :param q: (n,) joint vector [rad] or [m], in and out.
    """
    length = math.sqrt(method.square)
    for i in range(q.shape[0] - 1, -1, -1):
        last_frame(chain, q, work.axes, work.frame)
        errors(settings, work)
        jacobian_rows(chain, work.axes, work.frame, work.rows)
        largest = along = 0.0
        for k in range(q.shape[0]):
            largest = max(largest, _squared_effect(length, settings, work.rows[k]))
        square = _squared_effect(length, settings, work.rows[i])
        for j in range(6):
            scale = method.square if j > 2 else 1.0
            along += scale * settings.weights[j] * work.rows[i, j] * work.error[j]
        if square > NOISE * NOISE * largest:
            motion = min(max(along / square, -_LONGEST), _LONGEST)
            q[i] = within(chain, settings, i, q[i] + method.gain * motion)


@inner_kernel
def _squared_effect(length, settings, row):
    """Return the squared length of a weighted row of the Jacobian, rotations times a length."""
    square = 0.0
    for j in range(6):
        scale = length if j > 2 else 1.0
        square += (scale * settings.weights[j] * row[j]) ** 2
    return square
