"""Extended Jacobian as an explicit matrix, for inspection; the solver never forms it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.jit.compile import kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers.methods.extended_jacobian.basic_elements import (
    element,
    next_frame,
    start_frame,
)
from ik_service.solvers.methods.extended_jacobian.element_choice import choose_elements
from ik_service.solvers.options import IkOptions


def extended_matrix(
    chain: KinematicChain, q: ArrayLike, options: IkOptions | None = None
) -> np.ndarray:
    """
    Return the matrix that ``extended_jacobian`` with ``basic_elements`` solves.

    For a planar chain and the weights (1, 1, 0, 0, 0, 0) it is, entry for entry, equation (9) of
    M. Šoch and R. Lórencz, "Solving inverse kinematics – a new approach to the extended Jacobian
    technique".

    :param chain: the chain, with m joints on its path.
    :param q: (n,) joint positions [rad] or [m].
    :param options: ``task_weights``, ``element_weight`` and ``characteristic_length`` count.
    :returns: (r (m − 1) + w, n): the first coordinate of every basic element, each in the frame in
        which its first joint moves, then the second of every element, and so on; then the
        weighted axes of the tip, in the base frame. r is 2 in the plane and 6 otherwise.
    :raises ArgumentError: when q has another shape or is not finite.
    """
    options = options or IkOptions()
    q = chain.check_q(q)
    elements = choose_elements(chain, options)
    columns = np.zeros((len(chain.arrays.variables) - 1, 2, 6))
    axes, frame, state = np.empty((len(columns) + 1, 6)), np.empty(12), np.empty(12)
    _columns(chain.arrays, elements, q, axes, frame, state, columns)
    rows = 6 if elements.angular else 2
    matrix = np.zeros((rows, len(columns), chain.n))
    for k, pair in enumerate(columns):
        for variable, column in zip(chain.arrays.variables[k : k + 2], pair, strict=True):
            matrix[:, k, variable] += elements.weight * column[:rows]
    weights = np.sqrt(options.task_weights)
    tip = (weights[:, None] * chain.jacobian(q))[weights > 0.0]
    return np.vstack([matrix.reshape(-1, chain.n), tip])


@kernel
def _columns(chain, elements, q, axes, frame, state, columns):
    """
    Write the columns of all basic elements.

    :param state: (12,) scratch.
    :param columns: (m − 1, 2, 6) out.
    """
    last_frame(chain, q, axes, frame)
    start_frame(chain, state)
    for k in range(columns.shape[0]):
        element(chain, elements, axes, frame, k, state, columns[k, 0], columns[k, 1])
        next_frame(chain, q, axes, k, state)
