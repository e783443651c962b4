"""
A chain, the settings of the loop and the room to work in, packed into few arrays.

Every array that a kernel takes costs Python time to hand over, so a problem is handed over in few
of them, and :func:`views` says which piece is what: in Python, where the pieces are filled in,
and compiled, where they are used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import ChainArrays


class Settings(NamedTuple):
    """
    What the shared loop has to know beside the chain and the method.

    :ivar tolerances: (2,) position [m] and orientation [rad].
    :ivar weights: (6,) square roots of the task weights.
    :ivar progress: (1,) the share of the cost that has to be lost in ``patience`` iterations.
    :ivar max_iterations: (1,) of one search.
    :ivar max_searches: (1,) at most.
    :ivar patience: (1,) iterations after which a search is given up unless the cost has fallen.
    :ivar timeout: (1,) [ns].
    :ivar limits: (1,) number of the strategy, see :mod:`ik_service.solvers.loop.limits`.
    :ivar nearest: (1,) how much nearness to the seed matters, see
        :mod:`ik_service.solvers.loop.search`.
    :ivar random_seed: (1,) of the restarts.
    :ivar descends: (1,) whether the final approach to the target counts as the method's own.
    :ivar fixed_gain: (1,) whether the caller fixed the length of the steps: then a search is not
        given up for being slow, and errors that grow and fall are called diverging.
    :ivar secondary: (1,) whether the method has something to improve once the target is reached.
    :ivar perturbation: (1,) by which the Jacobian is found numerically [rad] or [m]; 0: it is not.
    :ivar penalty: (1,) weight of the penalty on joints close to their limits.
    :ivar largest_cost: (1,) above which an error makes no sense for any arm.
    """

    tolerances: np.ndarray
    weights: np.ndarray
    progress: np.ndarray
    max_iterations: np.ndarray
    max_searches: np.ndarray
    patience: np.ndarray
    timeout: np.ndarray
    limits: np.ndarray
    nearest: np.ndarray
    random_seed: np.ndarray
    descends: np.ndarray
    fixed_gain: np.ndarray
    secondary: np.ndarray
    perturbation: np.ndarray
    penalty: np.ndarray
    largest_cost: np.ndarray


class Workspace(NamedTuple):
    """
    Everything that a solve reads and writes besides.

    :ivar start: (n,) the seed within the limits.
    :ivar q: (n,) the current joint vector.
    :ivar step: (n,) the current step.
    :ivar kept: (n,) the best joint vector of the final approach.
    :ivar held: (n,) the bound at which a variable is held in this step; NaN for a free one.
    :ivar scale: (n,) how far each variable moves per unit of its step, 1 unless the strategy for
        the limits puts others in their place.
    :ivar shift: (n,) how far each variable moves back in this step, whatever the step is.
    :ivar rows: (n, 6) weighted Jacobian, one row a variable, per unit of its step; zero for a held
        variable.
    :ivar error: (6,) weighted pose error, less what the held variables contribute.
    :ivar cost: (1,) half the squared weighted error.
    :ivar initial: (1,) the cost at the seed.
    :ivar twist: (6,) unweighted pose error.
    :ivar axes: (m, 6) joint axes.
    :ivar frame: (12,) frame behind the last joint.
    :ivar goal: (12,) where that frame shall be.
    :ivar matrix: (6, 6) scratch of the steps.
    :ivar vector: (6,) scratch of the steps.
    :ivar columns: (6, n) scratch of the steps.
    :ivar probe: (12,) scratch of the numerical Jacobian.
    :ivar memory: (k, n) what a method keeps from step to step; as many rows as it asks for.
    :ivar returning: (1,) int64, whether this search shall end as near to the seed as can be.
    :ivar iteration: (1,) int64, steps that this search has taken.
    :ivar pending: (1,) int64, whether the method would go on though the target is reached.
    :ivar random: (1,) int64, state of the generator of restarts.
    :ivar recorded: (1,) int64, rows of the trace that are written.
    :ivar clock: (2,) int64, scratch of the clock.
    """

    start: np.ndarray
    q: np.ndarray
    step: np.ndarray
    kept: np.ndarray
    held: np.ndarray
    scale: np.ndarray
    shift: np.ndarray
    rows: np.ndarray
    error: np.ndarray
    cost: np.ndarray
    initial: np.ndarray
    twist: np.ndarray
    axes: np.ndarray
    frame: np.ndarray
    goal: np.ndarray
    matrix: np.ndarray
    vector: np.ndarray
    columns: np.ndarray
    probe: np.ndarray
    memory: np.ndarray
    returning: np.ndarray
    iteration: np.ndarray
    pending: np.ndarray
    random: np.ndarray
    recorded: np.ndarray
    clock: np.ndarray


class Problem(NamedTuple):
    """
    A problem as Python hands it over.

    :ivar fixed: (86,) everything of a size that does not depend on the chain.
    :ivar vectors: (16 + k, n) everything with a number for each variable.
    :ivar sixes: (6 + n + m, 6) everything with six numbers in a row.
    :ivar joints: (m, 8), see :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :ivar variables: (m,) int64, see :class:`~ik_service.kinematics.kernels.ChainArrays`.
    :ivar integers: (17,) int64.
    """

    fixed: np.ndarray
    vectors: np.ndarray
    sixes: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    integers: np.ndarray


def views(problem: Problem) -> tuple[ChainArrays, Settings, Workspace]:
    """
    The parts of a problem, by name; also compiled, by :func:`open_problem`.

    :param problem: the problem.
    :returns: the chain, the settings and the workspace; their arrays are views.
    """
    fixed = problem.fixed
    vectors = problem.vectors
    sixes = problem.sixes
    first_axis = 6 + vectors.shape[1]
    integers = problem.integers
    chain = ChainArrays(
        base=fixed[0:12],
        joints=problem.joints,
        variables=problem.variables,
        tip=fixed[12:14],
        lower=vectors[0],
        upper=vectors[1],
        turn=vectors[2],
        reach=fixed[14:18],
    )
    settings = Settings(
        tolerances=fixed[18:20],
        weights=fixed[20:26],
        progress=fixed[26:27],
        max_iterations=integers[0:1],
        max_searches=integers[1:2],
        patience=integers[2:3],
        timeout=integers[3:4],
        limits=integers[4:5],
        nearest=integers[5:6],
        random_seed=integers[6:7],
        descends=integers[11:12],
        fixed_gain=integers[12:13],
        secondary=integers[13:14],
        perturbation=fixed[71:72],
        penalty=fixed[72:73],
        largest_cost=fixed[85:86],
    )
    work = Workspace(
        start=vectors[3],
        q=vectors[4],
        step=vectors[5],
        kept=vectors[6],
        held=vectors[7],
        scale=vectors[8],
        shift=vectors[9],
        rows=sixes[6:first_axis],
        error=fixed[27:33],
        cost=fixed[33:34],
        initial=fixed[70:71],
        twist=fixed[34:40],
        axes=sixes[first_axis:],
        frame=fixed[40:52],
        goal=fixed[52:64],
        matrix=sixes[0:6],
        vector=fixed[64:70],
        columns=vectors[10:16],
        probe=fixed[73:85],
        memory=vectors[16:],
        returning=integers[16:17],
        iteration=integers[14:15],
        pending=integers[15:16],
        random=integers[7:8],
        recorded=integers[8:9],
        clock=integers[9:11],
    )
    return chain, settings, work


_views = inner_kernel(views)


@inner_kernel
def open_problem(problem):
    """What :func:`views` returns, with single settings as numbers: kernels only read them."""
    chain, settings, work = _views(problem)
    numbers = Settings(
        settings.tolerances,
        settings.weights,
        settings.progress[0],
        settings.max_iterations[0],
        settings.max_searches[0],
        settings.patience[0],
        settings.timeout[0],
        settings.limits[0],
        settings.nearest[0],
        settings.random_seed[0],
        settings.descends[0],
        settings.fixed_gain[0],
        settings.secondary[0],
        settings.perturbation[0],
        settings.penalty[0],
        settings.largest_cost[0],
    )
    return chain, numbers, work


def allocate(chain: KinematicChain, memory: int = 0) -> Problem:
    """
    Room for a problem, with the chain filled in.

    :param chain: the chain.
    :param memory: rows of n numbers that the method keeps.
    :returns: the problem, for one thread; its settings are to be set yet.
    """
    n = chain.n
    m = len(chain.arrays.variables)
    problem = Problem(
        fixed=np.zeros(86),
        vectors=np.zeros((16 + memory, n)),
        sixes=np.zeros((6 + n + m, 6)),
        joints=np.zeros((m, 8)),
        variables=np.zeros(m, np.int64),
        integers=np.zeros(17, np.int64),
    )
    views(problem)[2].scale[:] = 1.0
    for own, given in zip(views(problem)[0], chain.arrays, strict=True):
        own[:] = given
    return problem
