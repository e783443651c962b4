"""Kernel that continues the candidates of one layer of a path to the next target."""

from __future__ import annotations

from ik_service.kinematics.compile import inner_kernel, kernel
from ik_service.kinematics.kernels import copy_vector
from ik_service.solvers.choices import LimitStrategy
from ik_service.solvers.loop.iteration import set_goal
from ik_service.solvers.loop.limits import inside
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.path.continuation import converge, distance, self_motion

# Shares of the bound on the motion: that which a self-motion aims at together with the step
# along the path, and the least one.
_AIM = 0.9
_LEAST = 0.2
# Plain number: code for the type of a member would be compiled beside that for numbers.
_IGNORE = int(LimitStrategy.IGNORE)


@kernel
def grow(
    problem, strategy, bound, target, layer, first, parents, before, children, made, motion, trace
):
    """
    Continue candidates to a target: by one step, and by self-motions to both sides.

    :param problem: :class:`~ik_service.solvers.loop.problem.Problem`, or that of a tree.
    :param strategy: number of the LimitStrategy.
    :param bound: largest motion of a joint [rad] or [m].
    :param target: as the kernels of the solver take it.
    :param layer: number of the layer, for the random numbers.
    :param first: number of the first of the candidates, likewise.
    :param parents: (k, n) the candidates [rad] or [m].
    :param before: (k, n) where each of them came from [rad] or [m].
    :param children: (k, s, n) out: of each the step alone, the step begun where the last one leads
        when it is repeated, then pairs of self-motions.
    :param made: (k, s) bool out: whether the child is at the target, within limits and bound.
    :param motion: (n,) scratch.
    :param trace: (0, 2n + 3), for none.
    """
    chain, settings, work = open_problem(problem)
    set_goal(chain, target, work.goal)
    for k in range(parents.shape[0]):
        parent = parents[k]
        work.random[0] = settings.random_seed + 1_000_003 * layer + first + k
        room, there = 0.0, False
        for s in range(children.shape[1]):
            if s == 0:
                copy_vector(parent, work.q)
            elif s == 1:
                for i in range(motion.shape[0]):
                    motion[i] = parent[i] - before[k, i]
                _leave(chain, strategy, parent, 1.0, motion, work.q)
            else:
                if s % 2 == 0:
                    copy_vector(children[k, 0], work.q)
                    there = self_motion(chain, settings, work, trace, motion)
                if not there:
                    made[k, s] = False
                    continue
                _leave(chain, strategy, children[k, 0], room, motion, work.q)
                room = -room
            made[k, s] = converge(chain, settings, work, strategy, parent, bound, False, trace)
            copy_vector(work.q if s > 0 or made[k, s] else parent, children[k, s])
            if s == 0:
                room = max(_LEAST * bound, _AIM * bound - distance(parent, children[k, 0]))


@inner_kernel
def _leave(chain, strategy, start, share, motion, q):
    """Write a joint vector moved by a share of a motion to ``q``, within the limits."""
    for i in range(motion.shape[0]):
        value = start[i] + share * motion[i]
        q[i] = value if strategy == _IGNORE else inside(chain, i, value)
