"""Tree, settings of the loop and workspace of a solve, packed into few arrays."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ik_service.jit.compile import variant
from ik_service.kinematics.tree import KinematicTree, TreeArrays
from ik_service.solvers.loop.fields import Settings, Workspace
from ik_service.solvers.loop.layout import (
    floats,
    Layout,
    per_joint,
    places,
    rows_of,
    six,
    SIZES,
)
from ik_service.solvers.loop.problem import open_problem, reach_without_limits
from ik_service.solvers.loop.tree.goal_row import GOAL_SIZE
from ik_service.solvers.loop.width import width


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


# Fields of the workspace that are larger than those for one tip, or only there for several:
# `reached`: position error [m] and orientation error [rad] of each tip, and four numbers unused;
# `solution` and `maps`: scratch, the latter two 3 × 3 matrices.
_FIELDS = {
    **places(Workspace),
    'rows': rows_of('wides', 'w', 'n'),
    'error': rows_of('wides', 'w'),
    'matrix': rows_of('wides', 'w', 'w'),
    'vector': rows_of('wides', 'w'),
    'solution': rows_of('wides', 'w'),
    'columns': per_joint('w'),
    'frame': rows_of('twelves', 12, 't'),
    'goal': 'problem.goals',
    'reached': six('t'),
    'maps': floats(18),
}
TreeWorkspace: Any = namedtuple('TreeWorkspace', tuple(_FIELDS))  # type: ignore[misc]
TreeWorkspace.__doc__ = """State and scratch of a solve for several tips."""
_SIZES = {
    't': 'problem.goals.shape[0]',
    'w': '6 * t',
    **SIZES,
    'k': 'problem.vectors.shape[0] - {vectors} - t - w',
}
_layout = Layout(
    {
        TreeArrays: {
            'base': rows_of('twelves', 12, 't'),
            'joints': 'problem.joints',
            'variables': 'problem.variables',
            'spans': 'problem.spans',
            'ends': six('t'),
            'moves': per_joint('t'),
            'lower': per_joint(),
            'upper': per_joint(),
            'turn': per_joint(),
        },
        Settings: places(Settings),
        TreeWorkspace: _FIELDS,
    }
)
tree_views: Callable[[TreeProblem], tuple[TreeArrays, Settings, Any]] = _layout.function(
    'tree_views', sizes=_SIZES
)
"""Parts of a problem by name, as arrays that are views of it."""
variant(open_problem, TreeProblem)(_layout.function('open_problem', Settings, _SIZES))


@variant(width, TreeWorkspace)
def _width(work):
    return work.error.shape[0]


def allocate_tree(tree: KinematicTree, memory: int = 0, limited: bool = True) -> TreeProblem:
    """
    Allocate a problem, with the tree filled in.

    :param tree: the tree.
    :param memory: rows of n numbers that the method keeps.
    :param limited: whether the limits of the joints count.
    :returns: the problem, for one thread; its settings are to be set yet.
    """
    n, m, t, size = tree.n, len(tree.arrays.variables), len(tree.tips), _layout.totals
    problem = TreeProblem(
        floats=np.zeros(size['floats']),
        integers=np.zeros(size['integers'], np.int64),
        vectors=np.zeros((size['vectors'] + t + 6 * t + memory, n)),
        sixes=np.zeros((m + 2 * t, 6)),
        twelves=np.zeros((2 * t, 12)),
        wides=np.zeros((size['wides'] + n + 6 * t, 6 * t)),
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
    if not limited:
        for end, chain in zip(arrays.ends, tree.chains, strict=True):
            end[5] = reach_without_limits(chain.arrays.joints, end[5])
    return problem
