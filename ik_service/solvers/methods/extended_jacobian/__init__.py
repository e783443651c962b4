"""
Extended Jacobian: rows are added until the matrix determines every joint.

- ``basic_elements``: rows of every two consecutive joints, by ordinary least squares (Šoch and
  Lórencz, equations 9 and 10), see ``basic_elements.py``. With rows of the whole pose the matrix
  has full rank at every posture.
- ``null_space_gradient``: rows that keep the slope of an objective along the self-motions as it
  is, ∂(ηᵢ · ∇g) / ∂q, with ηᵢ a basis of the null space (J. Baillieul, "Kinematic programming
  alternatives for redundant manipulators", ICRA 1985; equation 6 of Šoch and Lórencz). The matrix
  is square, and singular where J is or where the optimum of g is not a strict one. Without
  redundant joints there are no such rows, and it is the plain inverse of J.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.loop.linear_algebra import solve_by_lu
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.methods.extended_jacobian.basic_elements import (
    choose_elements,
    Elements,
    memory_needed,
    solve_elements,
    tip_weight,
)
from ik_service.solvers.methods.extended_jacobian.null_space_gradient import (
    fill_square_system,
    memory_rows,
)
from ik_service.solvers.options import Extension, IkOptions, ObjectiveKind
from ik_service.solvers.registry import given, SolverSpec
from ik_service.solvers.secondary_objectives import choose_objective, Objective, task_rank


class ExtendedJacobian(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: the share of the step that is taken.
    :ivar extension: which rows are added.
    :ivar elements: the basic elements.
    :ivar null_space_gain: β, how much of the slope of g along the self-motions a step shall take
        away; 0 keeps it, as the paper has it.
    :ivar objective: g.
    """

    gain: float
    extension: int
    elements: Elements
    null_space_gain: float
    objective: Objective


@step_of(ExtendedJacobian)
def extended_jacobian_step(method, chain, settings, work):
    """Write the step of the extended system to ``work.step``."""
    if method.extension == Extension.BASIC_ELEMENTS:
        regular = solve_elements(method.elements, chain, work)
    else:
        matrix = work.memory[0 : work.q.shape[0]]
        fill_square_system(method, chain, settings, work, matrix)
        regular = solve_by_lu(matrix, work.step)
    for i in range(work.q.shape[0]):
        work.step[i] = method.gain * work.step[i] if regular else 0.0


_OF_ELEMENTS = frozenset({'element_weight', 'element_displacements', 'characteristic_length'})
_OF_OBJECTIVES = frozenset({'objective', 'null_space_gain', 'preferred_posture'})


def _parameters(chain: KinematicChain, options: IkOptions) -> ExtendedJacobian:
    extension = _extension(options)
    by_gradient = extension is Extension.NULL_SPACE_GRADIENT
    foreign = _OF_ELEMENTS if by_gradient else _OF_OBJECTIVES
    for option in sorted(foreign):
        if getattr(options, option) is not None:
            raise OptionError(option, f'is not used by the extension {extension.name.lower()}')
    objective = choose_objective(chain, options)
    if objective.kind == ObjectiveKind.NONE:
        objective = objective._replace(kind=int(ObjectiveKind.JOINT_CENTERS))
    if by_gradient:
        _refuse_level_objective(chain, objective)
    return ExtendedJacobian(
        given(options.step_gain, 1.0),
        int(extension),
        choose_elements(chain, options),
        given(options.null_space_gain, 0.0),
        objective,
    )


def _extension(options: IkOptions) -> Extension:
    """Return the kind of rows that the options ask for."""
    return Extension[(options.extension or 'basic_elements').upper()]


def _refuse_level_objective(chain: KinematicChain, objective: Objective) -> None:
    """Check that the objective is not constant, which would make every matrix singular."""
    by_range = objective.kind in (ObjectiveKind.JOINT_CENTERS, ObjectiveKind.JOINT_LIMITS)
    lower, upper = chain.search_limits()
    if by_range and chain.n > objective.rank and not np.isfinite(upper - lower).any():
        name = ObjectiveKind(objective.kind).name.lower()
        raise OptionError(
            'objective', f'{name} is the same everywhere, as no joint has limits; take another'
        )


def _memory_rows(chain: KinematicChain) -> int:
    numbers = memory_needed(chain.n, len(chain.arrays.variables))
    return max(memory_rows(chain.n), -(-numbers // chain.n))


def _remark(chain: KinematicChain, options: IkOptions) -> str:
    if _extension(options) is not Extension.NULL_SPACE_GRADIENT:
        return ''
    redundant = chain.n - task_rank(chain, options.task_weights)
    if redundant:
        return f'the Jacobian is extended by {redundant} rows of the objective'
    return 'no joint is redundant (n − m = 0), so the extended Jacobian is the plain inverse'


SPEC = SolverSpec(
    name='extended_jacobian',
    summary='rows added until every joint is determined (Šoch and Lórencz, Baillieul)',
    uses=frozenset({'step_gain', 'jacobian', 'extension'}) | _OF_ELEMENTS | _OF_OBJECTIVES,
    parameters=_parameters,
    max_iterations=1000,
    patience=25,
    progress=0.05,
    memory_rows=_memory_rows,
    improves=lambda options: bool(options.null_space_gain),
    remark=_remark,
    length_weight=tip_weight,
)
