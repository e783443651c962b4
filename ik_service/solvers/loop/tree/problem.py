"""
Tree, settings of the loop and workspace of a solve, packed into few arrays.

The goal of a tip is a row of 43 numbers:

======  ===========================================================================================
0–11    the goal frame of the last joint: x, y, z axes; origin of the region
12–20   axes of the target, about which the angles count
21–29   axes of the region
30–32   the point of the tip, in the frame behind the last joint
33–35   extents of the region: half lengths, or radius, radius and half the height
36–38   tolerances of the angles
39      number of the region; 0: the point has to be at the target
40      kind of the orientation: one of the numbers below
41–42   cosine and sine of the rotation about z from the frame behind the last joint to the tip
======  ===========================================================================================
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any, NamedTuple

import numpy as np

from ik_service.jit.compile import inlined_kernel, variant
from ik_service.kinematics.tree import groups_of, KinematicTree, TreeArrays
from ik_service.solvers.loop.problem import (
    INTEGERS,
    open_problem,
    reach_without_limits,
    read_settings,
    Settings,
    settings_views,
    width,
    Workspace,
)

TARGET, REGION, POINT, EXTENTS, TOLERANCES = 12, 21, 30, 33, 36
KIND, TURNING, END, GOAL_SIZE = 39, 40, 41, 43
EXACT, ROTATION_VECTOR, EULER_XYZ, FREE = range(4)  # kinds of orientation


class TreeProblem(NamedTuple):
    """
    Arrays of a problem with t tips, as Python passes them to a kernel.

    :ivar floats: all fields of a size that does not depend on the tree.
    :ivar integers: likewise, int64.
    :ivar vectors: (…, n) all fields with a number for each variable [rad] or [m].
    :ivar sixes: (…, 6) all fields with six numbers in a row.
    :ivar twelves: (…, 12) all fields with a frame in a row.
    :ivar wides: (…, 6t) all fields with a row of six numbers for each tip.
    :ivar goals: (t, 43) goals of the tips.
    :ivar joints: (m, 8), see :class:`~ik_service.kinematics.tree.TreeArrays`.
    :ivar variables: (m,) int64, likewise.
    :ivar spans: (t + 1,) int64, likewise.
    """

    floats: np.ndarray
    integers: np.ndarray
    vectors: np.ndarray
    sixes: np.ndarray
    twelves: np.ndarray
    wides: np.ndarray
    goals: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    spans: np.ndarray


# Columns of ``reached``, of each tip: position error [m], orientation error [rad], whether it has
# arrived or is held off, and the damping of its step; two are unused.
POSITION, ORIENTATION, ARRIVED, DAMPING = range(4)
# Columns of ``groups``. Tips with joints in common are a group, whose number is that of its first
# tip. Of each tip: the number of its group. Of each group, in the row of its number: how many tips
# it has, the sum of their squared errors, that sum at the last test for progress; at a restart,
# whether tips that have arrived keep their joints, and also those that they share with others.
GROUP, SIZE, COST, REFERENCE, WAITS, SHARED = range(6)
# Fields that are there only for trees: the two above; and scratch, the latter two 3 × 3 matrices.
TreeWorkspace: Any = namedtuple(  # type: ignore[misc]
    'TreeWorkspace', (*Workspace._fields, 'reached', 'groups', 'solution', 'maps')
)
TreeWorkspace.__doc__ = """State and scratch of a solve for several tips."""
# Numbers of `floats`, and rows of `vectors` and `wides`, that every problem has.
_FLOATS, _VECTORS, _WIDES = 53, 12, 3


def _cut(problem):
    """Return the tree and the workspace as arrays, which are views of those of a problem."""
    floats, integers, vectors, sixes, twelves, wides, goals, joints, variables, spans = problem
    n, m, t = vectors.shape[1], joints.shape[0], goals.shape[0]
    moves = 12 + 6 * t
    tree = TreeArrays(
        base=twelves[0:t], joints=joints, variables=variables, spans=spans,
        ends=sixes[m : m + t], moves=vectors[moves : moves + t],
        lower=vectors[0], upper=vectors[1], turn=vectors[2],
    )  # fmt: skip
    work = TreeWorkspace(  # type: ignore[call-arg]  # the fields of Workspace
        q=vectors[3], rows=wides[3 : 3 + n], error=wides[0], cost=floats[13:14],
        twist=floats[14:20], step=vectors[4], memory=vectors[moves + t :],
        iteration=integers[11:12], start=vectors[5], seed_cost=floats[20:21],
        fixed_at=vectors[6], scale=vectors[7], penalty_shift=vectors[8],
        unfinished=integers[12:13], seeks_seed=integers[13:14], matrix=wides[3 + n :],
        vector=wides[1], columns=vectors[12:moves], axes=sixes[0:m], frame=twelves[t : 2 * t],
        goal=goals, best_q=vectors[9], probe_frame=floats[21:33], random=integers[14:15],
        recorded=integers[15:16], clock=integers[16:18], lower=vectors[10], upper=vectors[11],
        searched=integers[18:19], spent=integers[19:20], kept=floats[33:34],
        motion=floats[34:35], goes_on=integers[20:21], reached=sixes[m + t : m + 2 * t],
        groups=sixes[m + 2 * t :],
        solution=wides[2], maps=floats[35:53],
    )  # fmt: skip
    return tree, work


_cut_out = inlined_kernel(_cut)


def tree_views(problem: TreeProblem) -> tuple[TreeArrays, Settings, Any]:
    """Return the parts of a problem by name, as arrays that are views of it."""
    tree, work = _cut(problem)
    return tree, settings_views(problem.floats, problem.integers), work


@variant(open_problem, TreeProblem)
def _open_tree_problem(problem):
    tree, work = _cut_out(problem)
    return tree, read_settings(problem.floats, problem.integers), work


@variant(width, TreeWorkspace)
def _width(work):
    return work.error.shape[0]


def allocate_tree(tree: KinematicTree, memory: int = 0, limited: bool = True) -> TreeProblem:
    """
    Allocate a problem, with the tree filled in.

    :param memory: rows of n numbers that the method keeps.
    :param limited: whether the limits of the joints count.
    :returns: the problem, for one thread; its settings are to be set yet.
    """
    n, m, t = tree.n, len(tree.arrays.variables), len(tree.tips)
    problem = TreeProblem(
        floats=np.zeros(_FLOATS),
        integers=np.zeros(INTEGERS, np.int64),
        vectors=np.zeros((_VECTORS + t + 6 * t + memory, n)),
        sixes=np.zeros((m + 3 * t, 6)),
        twelves=np.zeros((2 * t, 12)),
        wides=np.zeros((_WIDES + n + 6 * t, 6 * t)),
        goals=np.zeros((t, GOAL_SIZE)),
        joints=np.zeros((m, 8)),
        variables=np.zeros(m, np.int64),
        spans=np.zeros(t + 1, np.int64),
    )
    arrays, _, work = tree_views(problem)
    work.scale[:] = 1.0
    for own, given in zip(arrays, tree.arrays, strict=True):
        own[:] = given
    work.lower[:], work.upper[:] = tree.lower, tree.upper
    work.groups[:, GROUP] = groups = groups_of(tree.arrays.moves != 0.0)
    work.groups[:, SIZE] = np.bincount(groups, minlength=t)
    if not limited:
        for end, chain in zip(arrays.ends, tree.chains, strict=True):
            end[5] = reach_without_limits(chain.arrays.joints, end[5])
    return problem
