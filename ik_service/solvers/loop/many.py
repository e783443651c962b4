"""Kernel that solves for many targets, one after the other."""

from __future__ import annotations

from ik_service.kinematics.compile import kernel
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.search import solve_one


@kernel
def solve_many(
    problem, method, targets, seeds, chained, budget, best, status, errors_out, counts, trace
):
    """
    Solve for many targets, one after the other, until the time is up.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`.
    :param method: parameters of the method.
    :param targets: (N, 4, 4) T_base_target.
    :param seeds: (N, n) [rad] or [m].
    :param chained: whether each target after the first is seeded with the answer before it.
    :param budget: time after which no further target is begun [ns].
    :param best: (N, n) out: the best joint vectors found [rad] or [m].
    :param status: (N,) int64 out: ``IkStatus.number``.
    :param errors_out: (N, 2) out: position error [m] and orientation error [rad].
    :param counts: (N, 2) int64 out: iterations and searches.
    :param trace: (0, 2n + 3), for none.
    :returns: number of targets that were solved, at least one.
    """
    chain, settings, work = open_problem(problem)
    spent = 0
    for k in range(targets.shape[0]):
        seed = best[k - 1] if chained and k > 0 else seeds[k]
        status[k], errors_out[k, 0], errors_out[k, 1], counts[k, 0], counts[k, 1], time = (
            solve_one(chain, method, settings, work, targets[k], seed, best[k], trace)
        )
        spent += time
        if spent > budget:
            return k + 1
    return targets.shape[0]
