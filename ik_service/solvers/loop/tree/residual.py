"""
Errors of the tips: what has to be made good until each is in its goal region.

The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inlined_kernel, inner_kernel, variant
from ik_service.kinematics.kernels import ChainArrays, frame_error, last_frame
from ik_service.kinematics.tree import TreeArrays
from ik_service.solvers.loop.iteration import errors, errors_at
from ik_service.solvers.loop.tree.angles import angle_excess
from ik_service.solvers.loop.tree.goal_row import (
    EXACT,
    FREE,
    KIND,
    POINT,
    REGION,
    TARGET,
    TURNING,
)
from ik_service.solvers.loop.tree.problem import TreeWorkspace
from ik_service.solvers.loop.tree.regions import region_excess

# How far inside wide tolerances the loop aims, in the solver's own: what it then calls reached
# lies within them, in spite of rounding.
INSET = 1.01


@inlined_kernel
def tip_chain(chain, tip):
    """Return the constants of the chain of one tip."""
    first, last = chain.spans[tip], chain.spans[tip + 1]
    return ChainArrays(
        chain.base[tip],
        chain.joints[first:last],
        chain.variables[first:last],
        chain.ends[tip],
        chain.lower,
        chain.upper,
        chain.turn,
        chain.ends[tip],
    )


@variant(last_frame, TreeArrays)
def _last_frames(chain, q, axes, frame):
    """Write the frame behind the last joint of each tip, and the axes of all joints."""
    for tip in range(frame.shape[0]):
        first, last = chain.spans[tip], chain.spans[tip + 1]
        last_frame(tip_chain(chain, tip), q, axes[first:last], frame[tip])


@variant(errors, TreeWorkspace)
def _tree_errors(settings, work):
    """
    Return the largest errors at ``work.frame``, those of the tolerances to aim at, and the cost.

    The weighted errors go to ``work.error``, those of each tip to ``work.reached``.
    """
    return errors_within(
        settings, work, INSET * settings.tolerances[0], INSET * settings.tolerances[1]
    )


@variant(errors_at, TreeArrays)
def _tree_errors_at(chain, settings, work, q):
    """Return the largest errors of a joint vector, of the tolerances that were asked for."""
    last_frame(chain, q, work.axes, work.frame)
    position, orientation, _ = errors_within(settings, work, 0.0, 0.0)
    return position, orientation


@inner_kernel
def errors_within(settings, work, position_margin, orientation_margin):
    """
    Return the largest position error [m] and orientation error [rad] of a tip, and the cost.

    :param position_margin: how far inside the regions to aim [m].
    :param orientation_margin: how far inside the tolerances of the angles [rad].
    """
    largest = turned = total = 0.0
    for tip in range(work.frame.shape[0]):
        tip_error(work.frame[tip], work.goal[tip], position_margin, orientation_margin, work.twist)
        position = orientation = cost = 0.0
        for j in range(6):
            weight = settings.weights[j]
            value = weight * work.twist[j]
            work.error[6 * tip + j] = value
            cost += value * value
            if weight > 0.0:
                if j < 3:
                    position += work.twist[j] * work.twist[j]
                else:
                    orientation += work.twist[j] * work.twist[j]
        work.reached[tip, 0] = math.sqrt(position)
        work.reached[tip, 1] = math.sqrt(orientation)
        largest = max(largest, work.reached[tip, 0])
        turned = max(turned, work.reached[tip, 1])
        total += cost
    if math.isnan(total):
        largest = turned = total
    work.cost[0] = 0.5 * total
    return largest, turned, 0.5 * total


@inner_kernel
def tip_error(frame, goal, position_margin, orientation_margin, twist):
    """
    Write the shortest twist that carries a tip into its goal region.

    :param frame: (12,) frame behind the last joint.
    :param position_margin: how far inside the region to aim [m].
    :param orientation_margin: how far inside the tolerances of the angles [rad].
    :param twist: (6,) out, linear [m] before angular [rad], in the base frame.
    """
    turning = goal[TURNING]
    if turning == FREE:
        twist[3] = twist[4] = twist[5] = 0.0
    else:
        frame_error(frame, goal, twist)
    if turning != EXACT and turning != FREE:
        a, b, c = angle_excess(frame, goal, orientation_margin, twist)
        for j in range(3):
            x, y, z = goal[TARGET + j], goal[TARGET + 3 + j], goal[TARGET + 6 + j]
            twist[3 + j] = -(x * a + y * b + z * c)
    dx, dy, dz = point_offset(frame, goal)
    if goal[KIND] == 0.0:
        twist[0], twist[1], twist[2] = -dx, -dy, -dz
        return
    a, b, c = in_region(goal, dx, dy, dz)
    a, b, c = region_excess(goal, position_margin, a, b, c)
    for j in range(3):
        x, y, z = goal[REGION + j], goal[REGION + 3 + j], goal[REGION + 6 + j]
        twist[j] = -(x * a + y * b + z * c)


@inner_kernel
def point_offset(frame, goal):
    """
    Return the vector from the origin of a region to the point of the tip [m], in the base frame.

    :param frame: (12,) frame behind the last joint.
    """
    x, y, z = goal[POINT], goal[POINT + 1], goal[POINT + 2]
    return (
        frame[9] - goal[9] + frame[0] * x + frame[3] * y + frame[6] * z,
        frame[10] - goal[10] + frame[1] * x + frame[4] * y + frame[7] * z,
        frame[11] - goal[11] + frame[2] * x + frame[5] * y + frame[8] * z,
    )


@inner_kernel
def in_region(goal, dx, dy, dz):
    """
    Return a vector in the frame of the region.

    :param dx: x in the base frame; ``dy`` and ``dz`` likewise.
    """
    g = goal[REGION : REGION + 9]
    return (
        g[0] * dx + g[1] * dy + g[2] * dz,
        g[3] * dx + g[4] * dy + g[5] * dz,
        g[6] * dx + g[7] * dy + g[8] * dz,
    )
