"""
Pseudoinverse of the Jacobian, by singular value decomposition.

The step is α J⁺ e (Whitney 1969), or with damping α Σ σᵢ / (σᵢ² + λ²) vᵢ uᵢᵀ e (Wampler 1986).
Undamped, it is exact far from singularities and jumps close to them, because 1/σ has no bound.

With an objective g it is α J⁺ e − β (I − J⁺J) ∇g(q), which lowers g by a motion that does not move
the tip: A. Liégeois, "Automatic supervisory control of the configuration and behavior of multibody
mechanisms", IEEE Transactions on Systems, Man, and Cybernetics 7, 1977.
"""

from __future__ import annotations

from typing import NamedTuple

from ik_service.exceptions import OptionError
from ik_service.jit.compile import inner_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.kernels import fill_vector
from ik_service.solvers.loop.linear_algebra import orthogonal_columns, squared_singular_values
from ik_service.solvers.loop.problem import width
from ik_service.solvers.loop.step import step_of
from ik_service.solvers.options import IkOptions, ObjectiveKind
from ik_service.solvers.registry import given, SolverSpec
from ik_service.solvers.secondary_objectives import (
    add_self_motion,
    choose_objective,
    Objective,
    SELF_MOTION_ROWS,
)


class Pseudoinverse(NamedTuple):
    """
    Parameters of the method.

    :ivar gain: α, the share of the step that is taken.
    :ivar damping: λ, in the unit of the singular values; 0 for none.
    :ivar null_space_gain: β.
    :ivar objective: g.
    """

    gain: float
    damping: float
    null_space_gain: float
    objective: Objective


@step_of(Pseudoinverse)
def pseudoinverse_step(method, chain, settings, work):
    """Write α J⁺ e − β (I − J⁺J) ∇g to ``work.step``; rows of J that are zero take no part."""
    orthogonal_columns(work.rows, work.columns, work.matrix)
    cut = squared_singular_values(work.columns, work.vector)
    _add_pose_step(method, work, cut)
    if method.objective.kind != ObjectiveKind.NONE:
        add_self_motion(method, chain, settings, work, cut)


@inner_kernel
def _add_pose_step(method, work, cut):
    """Write α J⁺ e to ``work.step``, from the decomposition of J."""
    columns = work.columns
    damping = method.damping * method.damping
    fill_vector(work.step, 0.0)
    for j in range(width(work)):
        if work.vector[j] <= cut:
            continue
        projected = 0.0
        for k in range(width(work)):
            projected += work.matrix[k, j] * work.error[k]
        factor = method.gain * projected / (work.vector[j] + damping)
        for i in range(columns.shape[1]):
            work.step[i] += factor * columns[j, i]


def _parameters(chain: KinematicChain, options: IkOptions) -> Pseudoinverse:
    if options.objective is None and options.null_space_gain is not None:
        raise OptionError('null_space_gain', 'has to come with an objective')
    return Pseudoinverse(
        given(options.step_gain, 1.0),
        given(options.damping, 0.0),
        given(options.null_space_gain, 1.0),
        choose_objective(chain, options),
    )


SPEC = SolverSpec(
    name='pseudoinverse',
    summary='pseudoinverse of the Jacobian by SVD; damping and an objective on request',
    uses=frozenset(
        {'step_gain', 'damping', 'jacobian', 'objective', 'null_space_gain', 'preferred_posture'}
    ),
    parameters=_parameters,
    max_iterations=100,
    patience=10,
    progress=0.1,
    trees=True,
    memory_rows=lambda chain: SELF_MOTION_ROWS,
    improves=lambda options: options.objective is not None,
)
