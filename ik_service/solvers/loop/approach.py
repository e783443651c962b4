"""Final approach to the closest pose, for targets that no search has reached."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, merged_kernel
from ik_service.kinematics.kernels import copy_vector, fill_vector, monotonic_ns
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.iteration import evaluate_pose, step_within_limits
from ik_service.solvers.loop.strategies import bring_inside
from ik_service.solvers.methods.levenberg_marquardt import LevenbergMarquardt

# Plain numbers: code for the type of a member would be compiled beside that for numbers.
_IGNORE, _ACTIVE_SET = int(LimitStrategy.IGNORE), int(LimitStrategy.ACTIVE_SET)
# Steps at most, the first damping in shares of the cost, the damping at which no step helps any
# more (per metre of error, where that is large), the share of the cost that a step has to win, the
# steps between two readings of the clock.
APPROACH_STEPS = 100
_DAMPING = 0.1
_LARGEST_DAMPING = 1e4
_PROGRESS = 1e-7
_CLOCK_INTERVAL = 8


@merged_kernel
def approach(chain, settings, work, deadline, search, best, trace):
    """
    Descend from the best joint vector to the closest pose; the result is in ``work.q``.

    Whatever the method, this is Levenberg–Marquardt as Marquardt (1963) has it: a step that does
    not lower the cost is taken back and the damping is raised, so the cost falls to a minimum
    also where that is far from zero.

    :param chain: :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :param settings: :class:`~ik_service.solvers.loop.fields.Settings`, single fields as numbers.
    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    :param deadline: end of the solve by the monotonic clock [ns].
    :param search: number of the search, from 0.
    :param best: (n,) joint vector to start from [rad] or [m].
    :param trace: (rows, 2n + 3) out, see :func:`~ik_service.solvers.loop.trace.record`.
    :returns: the steps tried, and whether the target is reached.
    """
    strategy = _IGNORE
    copy_vector(best, work.q)
    if settings.limits != LimitStrategy.IGNORE:
        strategy = _ACTIVE_SET
        forget_substitution(work)
        bring_inside(chain, work.q)
    copy_vector(work.q, work.best_q)
    fill_vector(work.step, 0.0)
    cost, reached = evaluate_pose(chain, settings, work, search, trace)
    far = max(1.0, math.sqrt(cost))
    damping = min(_DAMPING, 1.0 / far)
    steps = 0
    while steps < APPROACH_STEPS and damping * cost < _LARGEST_DAMPING * far and not reached:
        if steps % _CLOCK_INTERVAL == 0 and monotonic_ns(work.clock) > deadline:
            break
        step_within_limits(chain, LevenbergMarquardt(damping, 0.0), settings, work, strategy)
        after, reached = evaluate_pose(chain, settings, work, search, trace)
        steps += 1
        if after < cost:
            copy_vector(work.q, work.best_q)
            if after > (1.0 - _PROGRESS) * cost:
                break
            cost = after
            damping *= 0.3
        else:
            damping *= 4.0
            copy_vector(work.best_q, work.q)
            evaluate_pose(chain, settings, work, search, trace[:0])
    copy_vector(work.best_q, work.q)
    return steps, reached


@inner_kernel
def forget_substitution(work):
    """
    Reset the substitution of variables: a step is that of the joints themselves.

    :param work: :class:`~ik_service.solvers.loop.fields.Workspace`.
    """
    fill_vector(work.scale, 1.0)
    fill_vector(work.penalty_shift, 0.0)
