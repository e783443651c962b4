"""
Transpose of the Jacobian: steepest descent of the squared error.

The step goes along Jᵀ e. Its length, and the weight of radians beside metres, are those of a
variant: :mod:`~ik_service.solvers.methods.transpose.two_point` or the classical
:mod:`~ik_service.solvers.methods.transpose.steepest_descent`.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.characteristic_length import (
    characteristic_length,
    refuse_characteristic_length,
)
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.methods.transpose.steepest_descent import descend_steepest
from ik_service.solvers.methods.transpose.two_point import descend_by_two_points, MEMORY_ROWS
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import given, SolverSpec


class Transpose(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: α of the classical variant; 0 for the one that minimises the linearised error.
    :ivar accelerated: whether the lengths of the steps are those of the accelerated variant.
    :ivar square: square of its characteristic length [m²].
    """

    gain: float
    accelerated: int = 0
    square: float = 1.0


@step_of(Transpose, short=True)
def transpose_step(method, chain, settings, work):
    """Write the step along Jᵀ e to ``work.step``."""
    if method.accelerated != 0:
        descend_by_two_points(method.square, chain, settings, work)
    else:
        descend_steepest(method.gain, work)


def _parameters(chain: KinematicChain | KinematicTree, options: IkOptions) -> Transpose:
    if options.chosen_variant == 'classical':
        refuse_characteristic_length(options)
        return Transpose(given(options.step_gain, 0.0))
    return Transpose(0.0, 1, characteristic_length(chain, options) ** 2)


SPEC = SolverSpec(
    name='transpose',
    summary='transpose of the Jacobian: steps down the slope of the squared error',
    uses=frozenset({'variant', 'characteristic_length', 'step_gain', 'jacobian'}),
    parameters=_parameters,
    max_iterations=1000,
    max_searches=100,
    patience=50,
    progress=0.1,
    memory_rows=lambda chain: MEMORY_ROWS,
    trees=True,
    variants={
        'accelerated': {},
        'classical': {
            'max_iterations': 2000, 'max_searches': 20, 'patience': 50, 'progress': 0.05,
        },
    },
)  # fmt: skip
