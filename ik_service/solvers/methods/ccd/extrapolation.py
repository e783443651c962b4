"""
Extrapolation of the cycles' motions to where they would end: Anderson acceleration.

A cycle takes the joint vector q to q + f(q), and ends at f = 0. From how f has changed with q over
the last cycles, the columns of ΔF and ΔQ, the next q is

    q + f − (ΔQ + ΔF) γ,  γ = argmin ‖f − ΔF γ‖

D. G. Anderson, "Iterative procedures for nonlinear integral equations", Journal of the ACM 12,
1965, in the form that H. F. Walker and P. Ni give it, "Anderson acceleration for fixed-point
iterations", SIAM Journal on Numerical Analysis 49, 2011, section 2. Each cycle is still one joint
at a time. The extrapolated place is taken if the error is less there than after the cycle, so no
step is worse than the cycle alone.
"""

from __future__ import annotations

from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import copy_vector, last_frame
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.kernels.line_search import dot
from ik_service.solvers.kernels.linear import solve_by_lu
from ik_service.solvers.kernels.turns import without_turns
from ik_service.solvers.loop.iteration import errors
from ik_service.solvers.loop.limits import inside
from ik_service.solvers.methods.ccd.closed_form import turn_weights

_CYCLES = 5  # remembered, or one a joint
# Rows of memory: the place after the cycle, the motion of the cycle before and where that started,
# the extrapolated place, γ; then ΔF, ΔQ and the matrix ΔFᵀΔF.
AFTER, _BEFORE, _START, _PLACE, _GAMMA, _CHANGES = range(6)
# Share of itself that is added to the diagonal of ΔFᵀΔF: cycles in line leave it singular.
_RIDGE = 1e-10
# The longest motion of a joint in a step [rad] or [m].
_LONGEST = 1.0


def memory_rows(n: int) -> int:
    """
    Return the rows of memory that the extrapolation takes.

    :param n: number of variables.
    """
    return _CHANGES + 3 * min(n, _CYCLES)


@inner_kernel
def extrapolate(method, chain, settings, work):
    """
    Write the step to ``work.step``: to the extrapolated place, or that of the cycle alone.

    :param method: :class:`~ik_service.solvers.methods.ccd.method.CyclicCoordinateDescent`.
    :param chain: :class:`~ik_service.kinematics.chain_arrays.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`; the place after the cycle is
        in row ``AFTER`` of its memory, and its frame is that of the tip there.
    """
    best, place = work.memory[AFTER], work.memory[_PLACE]
    disagreement = _disagreement(method, settings, work)
    known = _remember_cycle(chain, work)
    if known > 0 and _solve_for_gamma(work, known):
        _write_place(chain, settings, work, known)
        last_frame(chain, place, work.axes, work.frame)
        if _disagreement(method, settings, work) < disagreement:
            best = place
    for i in range(work.q.shape[0]):
        work.step[i] = best[i] - work.q[i]


@inner_kernel
def _disagreement(method, settings, work):
    """Return what the cycle lowers, at ``work.frame``."""
    position = orientation = 0.0
    if method.closed_form != 0:
        for j in range(9):
            orientation += (work.frame[j] - work.goal[j]) ** 2
        for j in range(9, 12):
            position += (work.frame[j] - work.goal[j]) ** 2
        position_weight, orientation_weight = turn_weights(method.square, settings)
        return position_weight * position + orientation_weight * orientation
    errors(settings, work)
    for j in range(3):
        position += work.error[j] * work.error[j]
        orientation += work.error[j + 3] * work.error[j + 3]
    return position + method.square * orientation


@inner_kernel
def _remember_cycle(chain, work):
    """Keep what has changed since the cycle before; returns the number of changes known."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    before, start = work.memory[_BEFORE], work.memory[_START]
    slot = _CHANGES + work.iteration[0] % depth
    for i in range(n):
        motion = without_turns(chain, i, work.memory[AFTER, i] - work.q[i])
        work.memory[slot, i] = motion - before[i]
        work.memory[slot + depth, i] = without_turns(chain, i, work.q[i] - start[i])
        before[i] = motion
    copy_vector(work.q, start)
    return min(work.iteration[0], depth)


@inner_kernel
def _solve_for_gamma(work, known):
    """Solve the normal equations ΔFᵀΔF γ = ΔFᵀf; returns whether they can be."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    changes = work.memory[_CHANGES : _CHANGES + depth]
    matrix = work.memory[_CHANGES + 2 * depth :]
    gamma = work.memory[_GAMMA]
    for a in range(known):
        of_a = changes[(work.iteration[0] - a) % depth]
        for b in range(a + 1):
            matrix[a, b] = dot(of_a, changes[(work.iteration[0] - b) % depth])
            matrix[b, a] = matrix[a, b]
        matrix[a, a] *= 1.0 + _RIDGE
        gamma[a] = dot(of_a, work.memory[_BEFORE])
    return solve_by_lu(matrix, gamma[:known])


@inner_kernel
def _write_place(chain, settings, work, known):
    """Write q + f − (ΔQ + ΔF) γ, or what is not too far of the way to it, within the limits."""
    n = work.q.shape[0]
    depth = min(n, _CYCLES)
    place, gamma = work.memory[_PLACE], work.memory[_GAMMA]
    longest = 0.0
    for i in range(n):
        place[i] = work.memory[_BEFORE, i]
        for a in range(known):
            slot = _CHANGES + (work.iteration[0] - a) % depth
            place[i] -= gamma[a] * (work.memory[slot, i] + work.memory[slot + depth, i])
        longest = max(longest, abs(place[i]))
    share = _LONGEST / longest if longest > _LONGEST else 1.0
    for i in range(n):
        place[i] = work.q[i] + share * place[i]
        if settings.limits != LimitStrategy.IGNORE:
            place[i] = inside(chain, i, place[i])
