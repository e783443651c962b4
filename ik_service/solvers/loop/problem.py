"""
Chain, settings of the loop and workspace of a solve, packed into few arrays.

Every array that a kernel takes costs Python time to hand over, so a problem has few of them, from
which its parts are cut at fixed places. To add a field, add it to a NamedTuple and to the function
that cuts it out, at the end of its array, and enlarge the array.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np

from ik_service.jit.compile import inlined_kernel, varied_kernel
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import ChainArrays

Array: TypeAlias = np.ndarray


class Settings(NamedTuple):
    """
    Settings of the loop; in kernels, fields of one number are numbers.

    :ivar tolerances: (2,) position [m] and orientation [rad].
    :ivar weights: (6,) square roots of the task weights.
    :ivar progress: (1,) share of the cost to be lost in `patience` iterations.
    :ivar perturbation: (1,) of the numerical Jacobian [rad] or [m]; 0: none.
    :ivar penalty: (1,) weight of the penalty on joints close to their limits.
    :ivar largest_cost: (1,) above which an error makes no sense for any arm.
    :ivar largest_motion: (1,) of a joint from the start [rad, m]; 0: no bound.
    :ivar max_iterations: (1,) of one search.
    :ivar max_searches: (1,) at most.
    :ivar patience: (1,) iterations in which the cost has to fall.
    :ivar timeout: (1,) for the whole solve [ns].
    :ivar limits: (1,) LimitStrategy of the steps.
    :ivar nearness: (1,) Nearness: how much the distance to the seed matters.
    :ivar random_seed: (1,) of the restarts.
    :ivar approach_counts: (1,) whether a final approach is the method's own.
    :ivar fixed_gain: (1,) whether slow searches go on, and can diverge.
    :ivar improves: (1,) whether the method may go on at the target.
    :ivar pauses: (1,) whether to return every solution, to be judged outside.
    :ivar most_steps: (1,) of a solve, those of the final approach among them.
    """

    tolerances: Array
    weights: Array
    progress: Array
    perturbation: Array
    penalty: Array
    largest_cost: Array
    largest_motion: Array
    max_iterations: Array
    max_searches: Array
    patience: Array
    timeout: Array
    limits: Array
    nearness: Array
    random_seed: Array
    approach_counts: Array
    fixed_gain: Array
    improves: Array
    pauses: Array
    most_steps: Array


class Workspace(NamedTuple):
    """
    State and scratch of a solve; the fields that steps use come first.

    :ivar q: (n,) current joint vector [rad] or [m].
    :ivar rows: (n, 6) weighted Jacobian, a row a variable; zero for fixed ones.
    :ivar error: (6,) weighted pose error, less the share of fixed variables.
    :ivar cost: (1,) half the squared weighted error.
    :ivar twist: (6,) pose error without weights [m], [rad].
    :ivar step: (n,) out: the step; before, the one that led here.
    :ivar memory: (k, n) kept from step to step; 0 in a new problem.
    :ivar iteration: (1,) steps that this search has taken.
    :ivar start: (n,) the seed within the limits.
    :ivar seed_cost: (1,) the cost at the seed.
    :ivar fixed_at: (n,) bound at which a variable is fixed; NaN: it is free.
    :ivar scale: (n,) how far each joint moves per unit of its step.
    :ivar penalty_shift: (n,) how far the penalty moves each joint back.
    :ivar unfinished: (1,) out: whether to go on though the target is reached.
    :ivar seeks_seed: (1,) whether to end as near to the seed as can be.
    :ivar matrix: (6, 6) scratch of the steps.
    :ivar vector: (6,) scratch of the steps.
    :ivar columns: (6, n) scratch of the steps.
    :ivar axes: (m, 6) direction and origin of every joint axis at `q`.
    :ivar frame: (12,) frame behind the last joint at `q`: x, y, z, origin.
    :ivar goal: (12,) where that frame shall be.
    :ivar best_q: (n,) best joint vector of the search.
    :ivar probe_frame: (12,) scratch of the numerical Jacobian.
    :ivar random: (1,) state of the generator of restarts.
    :ivar recorded: (1,) rows of the trace that are written.
    :ivar clock: (2,) scratch of the clock.
    :ivar lower: (n,) lower limits, which `largest_motion` does not narrow.
    :ivar upper: (n,) upper limits, likewise.
    :ivar searched: (1,) searches before the pause that ends; 0: none.
    :ivar spent: (1,) time that the solve has taken until then [ns].
    :ivar kept: (1,) motion from the seed to the solution accepted; inf: none.
    :ivar motion: (1,) out: motion from the seed to the solution found.
    :ivar goes_on: (1,) out: whether a nearer solution is wanted still.
    """

    q: Array
    rows: Array
    error: Array
    cost: Array
    twist: Array
    step: Array
    memory: Array
    iteration: Array
    start: Array
    seed_cost: Array
    fixed_at: Array
    scale: Array
    penalty_shift: Array
    unfinished: Array
    seeks_seed: Array
    matrix: Array
    vector: Array
    columns: Array
    axes: Array
    frame: Array
    goal: Array
    best_q: Array
    probe_frame: Array
    random: Array
    recorded: Array
    clock: Array
    lower: Array
    upper: Array
    searched: Array
    spent: Array
    kept: Array
    motion: Array
    goes_on: Array


class Problem(NamedTuple):
    """
    Arrays of a problem, as Python passes them to a kernel.

    :ivar floats: all fields of a size that does not depend on the chain.
    :ivar integers: likewise, int64.
    :ivar vectors: (…, n) all fields with a number for each variable [rad] or [m].
    :ivar sixes: (…, 6) all fields with six numbers in a row.
    :ivar joints: (m, 8), see :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :ivar variables: (m,) int64, see :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    """

    floats: np.ndarray
    integers: np.ndarray
    vectors: np.ndarray
    sixes: np.ndarray
    joints: np.ndarray
    variables: np.ndarray


# Numbers of `floats`, of `integers` and rows of `vectors` and `sixes` that every problem has.
_FLOATS, _VECTORS, _SIXES = 89, 18, 6
INTEGERS = 22  # numbers of ``integers``, which those of a tree share


def settings_views(floats: np.ndarray, integers: np.ndarray) -> Settings:
    """Return the settings as arrays, which are views of those of a problem."""
    return Settings(
        floats[0:2], floats[2:8], *(floats[i : i + 1] for i in range(8, 13)),
        *(integers[i : i + 1] for i in (*range(11), 21)),
    )  # fmt: skip


@inlined_kernel
def read_settings(floats, integers):
    """Return the settings, those of one number as numbers, which are only read."""
    return Settings(
        floats[0:2], floats[2:8], floats[8], floats[9], floats[10], floats[11], floats[12],
        integers[0], integers[1], integers[2], integers[3], integers[4], integers[5],
        integers[6], integers[7], integers[8], integers[9], integers[10],
        integers[21],
    )  # fmt: skip


def _cut(problem):
    """Return the chain and the workspace as arrays, which are views of those of a problem."""
    floats, integers, vectors, sixes, joints, variables = problem
    n = vectors.shape[1]
    chain = ChainArrays(
        base=floats[13:25], joints=joints, variables=variables, tip=floats[25:27],
        lower=vectors[0], upper=vectors[1], turn=vectors[2], reach=floats[27:31],
    )  # fmt: skip
    work = Workspace(
        q=vectors[3], rows=sixes[6 : 6 + n], error=floats[31:37], cost=floats[37:38],
        twist=floats[38:44], step=vectors[4], memory=vectors[18:], iteration=integers[11:12],
        start=vectors[5], seed_cost=floats[44:45], fixed_at=vectors[6], scale=vectors[7],
        penalty_shift=vectors[8], unfinished=integers[12:13], seeks_seed=integers[13:14],
        matrix=sixes[0:6], vector=floats[45:51], columns=vectors[12:18], axes=sixes[6 + n :],
        frame=floats[51:63], goal=floats[63:75], best_q=vectors[9], probe_frame=floats[75:87],
        random=integers[14:15], recorded=integers[15:16], clock=integers[16:18],
        lower=vectors[10], upper=vectors[11], searched=integers[18:19], spent=integers[19:20],
        kept=floats[87:88], motion=floats[88:89], goes_on=integers[20:21],
    )  # fmt: skip
    return chain, work


_cut_out = inlined_kernel(_cut)


def views(problem: Problem) -> tuple[ChainArrays, Settings, Workspace]:
    """Return the parts of a problem by name, as arrays that are views of it."""
    chain, work = _cut(problem)
    return chain, settings_views(problem.floats, problem.integers), work


@varied_kernel
def open_problem(problem):
    """Return the parts of a problem by name, single settings as numbers."""
    chain, work = _cut_out(problem)
    return chain, read_settings(problem.floats, problem.integers), work


def width(work):
    """Return the number of components of the error: 6, which the compiler knows."""
    return 6


width = varied_kernel(width, inlined=True)


def reach_without_limits(joints: np.ndarray, reach: float) -> float:
    """
    Return how far a tip reaches when the limits of the joints are ignored [m].

    :param joints: (m, 8) constants of the joints that move it, see
        :class:`~ik_service.kinematics.joint_path.ChainArrays`.
    :param reach: how far it reaches within the limits [m], which only slides depend on.
    """
    slides = joints[:, 7].any()
    return math.inf if slides else reach


def allocate(chain: KinematicChain, memory: int = 0, limited: bool = True) -> Problem:
    """
    Allocate a problem, with the chain filled in.

    :param memory: rows of n numbers that the method keeps.
    :param limited: whether the limits of the joints count.
    :returns: the problem, for one thread; its settings are to be set yet.
    """
    n, m = chain.n, len(chain.arrays.variables)
    problem = Problem(
        floats=np.zeros(_FLOATS),
        integers=np.zeros(INTEGERS, np.int64),
        vectors=np.zeros((_VECTORS + memory, n)),
        sixes=np.zeros((_SIXES + n + m, 6)),
        joints=np.zeros((m, 8)),
        variables=np.zeros(m, np.int64),
    )
    arrays, _, work = views(problem)
    work.scale[:] = 1.0
    for own, given in zip(arrays, chain.arrays, strict=True):
        own[:] = given
    work.lower[:], work.upper[:] = chain.lower, chain.upper
    if not limited:
        arrays.reach[3] = reach_without_limits(arrays.joints, arrays.reach[3])
    return problem
