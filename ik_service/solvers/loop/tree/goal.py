"""
Goals of the tips: from targets to rows of :mod:`~ik_service.solvers.loop.tree.goal_row`.

The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, variant
from ik_service.kinematics.kernels import transform_fault
from ik_service.kinematics.tree import TreeArrays
from ik_service.solvers.loop.iteration import beyond_reach, goal_fault, set_goal
from ik_service.solvers.loop.tree.goal_row import (
    END,
    EULER_XYZ,
    EXACT,
    EXTENTS,
    FREE,
    KIND,
    POINT,
    REGION,
    ROTATION_VECTOR,
    TARGET,
    TOLERANCES,
    TURNING,
)
from ik_service.solvers.loop.tree.regions import region_excess
from ik_service.solvers.task import BLOCK_ROWS


@variant(goal_fault, TreeArrays)
def _tree_goal_fault(chain, target):
    """Whether a target is none: of another shape, or with a transform that is not rigid."""
    tips = chain.base.shape[0]
    if target.shape != (BLOCK_ROWS * tips, 4):
        return True
    for tip in range(tips):
        first = BLOCK_ROWS * tip
        if transform_fault(target[first : first + 4]) != 0:
            return True
    return False


@variant(set_goal, TreeArrays)
def _tree_set_goal(chain, target, goal):
    """Write the goals of all tips."""
    for tip in range(goal.shape[0]):
        first = BLOCK_ROWS * tip
        _set_tip_goal(chain.ends[tip], target[first : first + BLOCK_ROWS], goal[tip])


@inner_kernel
def _set_tip_goal(end, block, goal):
    """
    Write the goal of a tip.

    :param end: (6,) row of ``TreeArrays.ends``.
    :param block: (11, 4) of the target.
    :param goal: (43,) out.
    """
    c, s = end[0], end[1]
    kind = block[8, 0]
    origin = 0 if kind == 0.0 else 4
    for i in range(3):
        goal[i] = c * block[i, 0] - s * block[i, 1]
        goal[3 + i] = s * block[i, 0] + c * block[i, 1]
        goal[6 + i] = block[i, 2]
        goal[9 + i] = block[origin + i, 3]
        for j in range(3):
            goal[TARGET + 3 * j + i] = block[i, j]
            goal[REGION + 3 * j + i] = block[4 + i, j]
    goal[POINT] = c * block[9, 0] - s * block[9, 1]
    goal[POINT + 1] = s * block[9, 0] + c * block[9, 1]
    goal[POINT + 2] = block[9, 2]
    goal[KIND] = kind
    goal[END], goal[END + 1] = c, s
    exact, free = 0, 0
    for i in range(3):
        goal[EXTENTS + i] = block[8, 1 + i]
        tolerance = block[10, i]
        goal[TOLERANCES + i] = tolerance
        exact += tolerance == 0.0
        free += tolerance == math.inf
    goal[TURNING] = ROTATION_VECTOR if block[9, 3] == 0.0 else EULER_XYZ
    if exact == 3:
        goal[TURNING] = EXACT
    if free == 3:
        goal[TURNING] = FREE


@variant(beyond_reach, TreeArrays)
def _tree_beyond_reach(chain, settings, goal):
    """Whether the goal of a tip lies farther away than the tip reaches."""
    for j in range(3):
        if settings.weights[j] == 0.0:
            return False
    for tip in range(goal.shape[0]):
        if _tip_beyond_reach(chain.ends[tip], settings.tolerances[0], goal[tip]):
            return True
    return False


@inner_kernel
def _tip_beyond_reach(end, tolerance, goal):
    """Whether no place within reach is in the region, whatever way the tip's point is turned."""
    dx, dy, dz = end[2] - goal[9], end[3] - goal[10], end[4] - goal[11]
    if goal[KIND] != 0.0:
        g = goal[REGION : REGION + 9]
        dx, dy, dz = region_excess(
            goal,
            0.0,
            g[0] * dx + g[1] * dy + g[2] * dz,
            g[3] * dx + g[4] * dy + g[5] * dz,
            g[6] * dx + g[7] * dy + g[8] * dz,
        )
    point = goal[POINT : POINT + 3]
    offset = math.sqrt(point[0] * point[0] + point[1] * point[1] + point[2] * point[2])
    reach = end[5] * (1.0 + 1e-9) + tolerance + offset
    return dx * dx + dy * dy + dz * dz > reach * reach
