"""
Cyclic coordinate descent: one joint at a time, from the tip to the base.

A step of the loop is a cycle over all joints, each of which goes to where it alone brings the tip
closest to the target: at once where that has a closed form, see
:mod:`~ik_service.solvers.methods.ccd.closed_form`, and else by its linearised error. The classical
variant takes the cycles as they are. The accelerated one weighs metres and radians alike, by a
characteristic length, and extrapolates from cycle to cycle, see
:mod:`~ik_service.solvers.methods.ccd.extrapolation`.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import copy_vector, last_frame
from ik_service.solvers.characteristic_length import (
    characteristic_length,
    refuse_characteristic_length,
)
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.methods.ccd.closed_form import closed_form_cycle
from ik_service.solvers.methods.ccd.extrapolation import AFTER, extrapolate, memory_rows
from ik_service.solvers.methods.ccd.linearised import linearised_cycle
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import given, SolverSpec


class CyclicCoordinateDescent(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of each joint's motion that is taken.
    :ivar closed_form: whether every turning joint can go to the best angle at once.
    :ivar accelerated: whether cycles are extrapolated.
    :ivar square: square of the characteristic length [m²]; 1 for the classical variant.
    """

    gain: float
    closed_form: int
    accelerated: int
    square: float


@step_of(CyclicCoordinateDescent)
def ccd_step(method, chain, settings, work):
    """Write the motion of one cycle over all joints to ``work.step``."""
    q = work.memory[AFTER]
    copy_vector(work.q, q)
    if method.closed_form != 0:
        closed_form_cycle(method, chain, settings, work, q)
    else:
        linearised_cycle(method, chain, settings, work, q)
        last_frame(chain, q, work.axes, work.frame)
    if method.accelerated != 0:
        extrapolate(method, chain, settings, work)
    else:
        for i in range(work.q.shape[0]):
            work.step[i] = q[i] - work.q[i]


def _parameters(chain: KinematicChain, options: IkOptions) -> CyclicCoordinateDescent:
    weights = options.task_weights
    alike = len(set(weights[:3])) == 1 and len(set(weights[3:])) == 1
    alone = len(set(chain.arrays.variables.tolist())) == len(chain.arrays.variables)
    closed_form = int(alike and alone)
    if options.chosen_variant == 'classical':
        refuse_characteristic_length(options)
        return CyclicCoordinateDescent(given(options.step_gain, 1.0), closed_form, 0, 1.0)
    length = characteristic_length(chain, options)
    return CyclicCoordinateDescent(1.0, closed_form, 1, length * length)


_ONE_BY_ONE = 'each joint goes to its best place within its limits, one at a time; take clamp'

SPEC = SolverSpec(
    name='ccd',
    summary='cyclic coordinate descent: one joint at a time, from the tip to the base',
    uses=frozenset({'variant', 'characteristic_length', 'step_gain'}),
    parameters=_parameters,
    max_iterations=300,
    max_searches=200,
    patience=8,
    progress=0.4,
    keeps_limits=True,
    memory_rows=lambda chain: memory_rows(chain.n),
    refuses={('joint_limits', 'transform'): _ONE_BY_ONE, ('joint_limits', 'penalty'): _ONE_BY_ONE},
    variants={
        'accelerated': {},
        'classical': {
            'max_iterations': 500, 'max_searches': 50, 'patience': 25, 'progress': 0.1,
        },
    },
)  # fmt: skip
