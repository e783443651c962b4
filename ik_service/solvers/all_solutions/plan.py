"""Plan of the search for all solutions of a chain: redundancy, steps, and closed form."""

from __future__ import annotations

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.all_solutions.arm_geometry import closed_form_of, ClosedForm, NO_FORM
from ik_service.solvers.all_solutions.exploration import Plan
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.options import IkOptions

# Two isolated solutions closer than this are one [rad] or [m].
_SAME = 1e-4
# Radius that a solution on a self-motion covers, and step along it, in shares of the resolution.
_RADIUS = 0.5
_STEP = 0.9
# Random starts in a row that find nothing new, for isolated solutions and for self-motions.
_PATIENCE = 300
_PATIENCE_ON_MOTIONS = 500
# Postures at which the rank of the Jacobian is looked at, and what counts as zero.
_SAMPLES = 8
_ZERO = 1e-7


def plan_for(chain: KinematicChain, options: IkOptions, resolution: float) -> Plan:
    """
    Return the plan for a chain.

    :param chain: the chain.
    :param options: ``task_weights``, ``joint_limits`` and ``max_joint_motion`` count.
    :param resolution: of self-motions [rad] or [m].
    """
    free = chain.lower < chain.upper
    redundancy = int(free.sum()) - _rank(chain, options, free)
    ignored = options.joint_limits == 'ignore' and options.max_joint_motion is None
    # Isolated solutions are looked for everywhere: those outside the limits show that a search
    # has found all. Joints that cannot move have to stay where they are.
    everywhere = ignored or (redundancy == 0 and bool(free.all()))
    strategy = LimitStrategy.IGNORE if everywhere else LimitStrategy.ACTIVE_SET
    lower, upper = chain.search_limits()
    width = upper - lower
    if options.max_joint_motion is not None:
        width = np.minimum(width, 2.0 * options.max_joint_motion)
    turn = chain.arrays.turn
    return Plan(
        redundancy=redundancy,
        strategy=int(strategy),
        patience=_PATIENCE_ON_MOTIONS * redundancy if redundancy else _PATIENCE,
        same=_SAME,
        radius=_RADIUS * resolution,
        step=_STEP * resolution,
        # Postures that differ by a turn are far apart where the limits do not allow the turn.
        wrap=np.where((width >= turn) | everywhere, turn, 0.0),
        scratch=np.zeros((3, chain.n)),
    )


def closed_form_for(chain: KinematicChain, options: IkOptions, plan: Plan) -> ClosedForm:
    """
    Return the closed form of a chain; of the kind ``NO_FORM`` where it does not fit the task.

    :param chain: the chain.
    :param options: ``task_weights`` count.
    :param plan: the plan for the chain.
    """
    arm = closed_form_of(chain)
    everywhere = plan.strategy == LimitStrategy.IGNORE
    if all(options.task_weights) and plan.redundancy == 0 and everywhere:
        return arm
    return arm._replace(kind=NO_FORM)


def _rank(chain: KinematicChain, options: IkOptions, free: np.ndarray) -> int:
    """Return the rank of the task's Jacobian at most postures."""
    lower, upper = chain.sampling_bounds()
    rows = np.array(options.task_weights) > 0.0
    random = np.random.default_rng(0)
    ranks = [0]
    for _ in range(_SAMPLES if free.any() else 0):
        J = chain.jacobian(random.uniform(lower, upper))[rows][:, free]
        ranks.append(int(np.linalg.matrix_rank(J, tol=_ZERO)))
    return max(ranks)
