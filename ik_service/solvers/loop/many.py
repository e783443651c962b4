"""Kernel that solves for many targets, one after the other."""

from __future__ import annotations

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.search import solve_one


@kernel
def solve_many(
    problem,
    method,
    targets,
    seeds,
    chained,
    budget,
    best,
    status,
    errors_out,
    counts,
    states,
    motions,
    trace,
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
    :param counts: (N, 2) int64 out: iterations and searches; of solves that pause, so far.
    :param states: (N, 3) int64 in and out: of solves that pause, zero before they begin: state of
        the generator of restarts, time spent [ns], whether a nearer solution is wanted still;
        (0, 3) where they do not pause.
    :param motions: (N, 3) in and out, likewise: cost at the seed, motion from the seed to the
        solution accepted and to the one found [rad] or [m].
    :param trace: (0, 2n + 3), for none.
    :returns: number of targets that were solved, at least one.
    """
    chain, settings, work = open_problem(problem)
    pauses = states.shape[0] > 0
    spent = 0
    for k in range(targets.shape[0]):
        seed = best[k - 1] if chained and k > 0 else seeds[k]
        before = counts[k, 0] if pauses else 0
        if pauses:
            _restore(work, counts[k], states[k], motions[k], best[k])
        status[k], errors_out[k, 0], errors_out[k, 1], counts[k, 0], counts[k, 1], time = (
            solve_one(chain, method, settings, work, targets[k], seed, best[k], trace)
        )
        counts[k, 0] += before
        if pauses:
            _store(work, states[k], motions[k], time)
        spent += time
        if spent > budget:
            return k + 1
    return targets.shape[0]


@inner_kernel
def _restore(work, counts, state, motion, q):
    """Write the state of a solve that pauses to the workspace."""
    work.searched[0] = counts[1]
    work.random[0], work.spent[0] = state[0], state[1]
    work.seed_cost[0], work.kept[0] = motion[0], motion[1]
    for i in range(q.shape[0]):
        work.q[i] = q[i]


@inner_kernel
def _store(work, state, motion, time):
    """Read the state of a solve that pauses from the workspace."""
    state[0] = work.random[0]
    state[1] += time
    state[2] = work.goes_on[0]
    motion[0], motion[2] = work.seed_cost[0], work.motion[0]
