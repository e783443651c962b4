"""All solutions of a target: :func:`solve_ik_all`."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import truth_value
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.all_solutions.closed_forms import GENERAL
from ik_service.solvers.all_solutions.solution_finder import (
    AllSolutions,
    closed_form_for,
    DEFAULT_MOST,
    DEFAULT_RESOLUTION,
    plan_for,
    SolutionFinder,
)
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import check_kinds, Solver

USED_OPTIONS = (
    'position_tolerance',
    'orientation_tolerance',
    'task_weights',
    'timeout',
    'joint_limits',
    'max_joint_motion',
    'random_seed',
)
"""Options that the search for all solutions uses."""
_DEFAULTS = IkOptions()


def needs_elimination(chain: KinematicChain) -> bool:
    """Return whether all solutions of a chain are found by elimination."""
    plan = plan_for(chain, _DEFAULTS, DEFAULT_RESOLUTION)
    return closed_form_for(chain, _DEFAULTS, plan).kind == GENERAL


def solve_ik_all(
    chain: KinematicChain,
    target: ArrayLike,
    seed: ArrayLike | None = None,
    options: IkOptions | None = None,
    resolution: float = DEFAULT_RESOLUTION,
    turns: bool = False,
    max_solutions: int = DEFAULT_MOST,
) -> np.ndarray:
    """
    Find all joint vectors within the limits that put the chain's tip at a target.

    An arm without redundancy has isolated solutions, at most 16 for six revolute joints. For arms
    of six revolute joints with a spherical wrist, or whose second to fourth axes are parallel and
    the last two meet (Universal Robots), at either end, closed forms give all of them, and for
    other arms of six revolute joints, calibrated ones among them, an elimination does. Where two
    solutions nearly meet, and for other chains, there are searches from random postures until 300
    in a row have found nothing new, so that a solution may be missed. Two solutions of which no
    joint differs by more than 1e-4 are one.

    A redundant arm has self-motions, and so has any arm at some singular postures. They are walked
    along in steps, so that any posture on them is within the resolution of a solution that is
    returned, as far as sampling can say.

    :param chain: the chain.
    :param target: (4, 4) T_base_tip.
    :param seed: (n,) solutions near it come first [rad] or [m]; mid-range when left out. One
        outside the limits is brought inside.
    :param options: the tolerances, ``task_weights``, ``timeout``, ``joint_limits`` (other than
        'ignore' they mean the same), ``max_joint_motion`` and ``random_seed`` count; the defaults
        when left out. The same request gives the same answer, unless the time runs out.
    :param resolution: largest joint difference between a posture on a self-motion and the nearest
        solution [rad] or [m]; no coarser than 1.
    :param turns: whether a solution moved by full turns of its joints within the limits counts as
        another one. Otherwise, and for continuous joints always, there is the one whose joints are
        nearest to the seed.
    :param max_solutions: largest number of solutions.
    :returns: (k, n) solutions [rad] or [m]; the one whose largest joint difference from the seed
        is smallest comes first. None for a target that cannot be reached.
    :raises ArgumentError: when an argument is of another type or shape, or not finite.
    :raises OptionError: when an option is given that does not count here.
    :raises IncompleteSolutionsError: when the time runs out, there are more solutions than
        ``max_solutions``, or they have no end, as those of a joint without limits that others
        mimic by ratios that are not whole; its ``partial`` holds those found.
    """
    return list_solutions(chain, target, seed, options, resolution, turns, max_solutions).q


def list_solutions(
    chain: KinematicChain,
    target: ArrayLike,
    seed: ArrayLike | None = None,
    options: IkOptions | None = None,
    resolution: float = DEFAULT_RESOLUTION,
    turns: bool = False,
    max_solutions: int = DEFAULT_MOST,
) -> AllSolutions:
    """
    Find the solutions of :func:`solve_ik_all`, and say whether there are no others.

    :param chain: see :func:`solve_ik_all`, as the others are.
    :param target: (4, 4) T_base_tip.
    :param seed: (n,) [rad] or [m].
    :param options: of the search.
    :param resolution: of self-motions [rad] or [m].
    :param turns: whether full turns make other solutions.
    :param max_solutions: largest number of solutions.
    """
    options = _DEFAULTS if options is None else options
    check_kinds(chain, options)
    if not isinstance(chain, KinematicChain):
        raise ArgumentError('chain', 'has to be a KinematicChain: of a tree there is no such list')
    truth_value(turns, 'turns')
    try:
        finder = _prepared(chain, options, resolution, max_solutions)
    except TypeError:  # from unhashable arguments, among others
        finder = _finder(chain, options, resolution, max_solutions)
    return finder.find(target, seed, turns)


def solution_finder(chain: KinematicChain) -> SolutionFinder:
    """Return the finder of all solutions of a chain with the defaults."""
    return _finder(chain, _DEFAULTS, DEFAULT_RESOLUTION, DEFAULT_MOST)


def _finder(
    chain: KinematicChain, options: IkOptions, resolution: float, most: int
) -> SolutionFinder:
    solver = Solver(chain, options=_loop_options(options))
    return SolutionFinder(chain, options, solver.problem, resolution, most)


def _loop_options(options: IkOptions) -> IkOptions:
    """Return the options of the loop's problem; raise an error for one that does not count."""
    for field in fields(options):
        unused = field.name not in (*USED_OPTIONS, 'prefer')
        if unused and getattr(options, field.name) != field.default:
            uses = ', '.join(USED_OPTIONS)
            raise OptionError(field.name, f'is not used for all solutions, which use {uses}')
    ignored = options.joint_limits == 'ignore'
    return replace(options, joint_limits='ignore' if ignored else IkOptions.joint_limits)


# Typed, because True is 1 otherwise, and would not be refused.
_prepared = lru_cache(maxsize=16, typed=True)(_finder)
