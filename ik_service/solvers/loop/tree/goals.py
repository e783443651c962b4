"""
Goals of the tips: their rows, the errors until each tip is in its region, and random starts.

The package docstring, :mod:`ik_service.solvers.loop.tree`, lists the arguments of these kernels.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inlined_kernel, inner_kernel, variant
from ik_service.kinematics.joint_path import ChainArrays
from ik_service.kinematics.kernels import copy_vector, last_frame
from ik_service.kinematics.pose_error import frame_error, transform_fault
from ik_service.kinematics.tree import TreeArrays
from ik_service.solvers.loop.iteration import (
    beyond_reach,
    errors,
    errors_at,
    goal_fault,
    progresses,
    set_goal,
    within_tolerance,
)
from ik_service.solvers.loop.search import EASY_SEARCHES, random_position, random_start, uniform
from ik_service.solvers.loop.tree.problem import (
    ARRIVED,
    COST,
    END,
    EULER_XYZ,
    EXACT,
    EXTENTS,
    FREE,
    GROUP,
    KIND,
    ORIENTATION,
    POINT,
    POSITION,
    REFERENCE,
    REGION,
    ROTATION_VECTOR,
    SHARED,
    SIZE,
    TARGET,
    TOLERANCES,
    TreeWorkspace,
    TURNING,
    WAITS,
)
from ik_service.solvers.loop.tree.tolerances import along_axes, angle_excess, region_excess
from ik_service.solvers.options import LimitStrategy
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
    """Write the goal of a tip, by its row of ``TreeArrays.ends`` and its block of the target."""
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
    """Whether no point within reach is in the region, however the tip's point is turned."""
    dx, dy, dz = end[2] - goal[9], end[3] - goal[10], end[4] - goal[11]
    if goal[KIND] != 0.0:
        x, y, z = along_axes(goal[REGION : REGION + 9], dx, dy, dz)
        dx, dy, dz = region_excess(goal, 0.0, x, y, z)
    point = goal[POINT : POINT + 3]
    offset = math.sqrt(point[0] * point[0] + point[1] * point[1] + point[2] * point[2])
    reach = end[5] * (1.0 + 1e-9) + tolerance + offset
    return dx * dx + dy * dy + dz * dz > reach * reach


# Inset of the loop's targets in wide tolerances, in units of the solver's own: a target reached
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
    Return the largest errors at ``work.frame``, those of the inset tolerances, and the cost.

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
def group_of(work, tip):
    """Return the number of the group of a tip."""
    return int(work.groups[tip, GROUP])


@variant(progresses, TreeWorkspace)
def _any_group_progresses(chain, settings, work, cost, reference):
    """Return whether the cost of a group that has not arrived, or of the only one, has fallen."""
    falls, tips = False, work.groups.shape[0]
    for group in range(tips):
        own, before = work.groups[group, COST], work.groups[group, REFERENCE]
        if work.groups[group, SIZE] > 0.0 and not (
            reference < math.inf and own > (1.0 - settings.progress) * before
        ):
            falls |= work.groups[group, SIZE] == tips or not _is_done(chain, settings, work, group)
        work.groups[group, REFERENCE] = own
    return falls


@inner_kernel
def _is_done(chain, settings, work, group):
    """Return whether all tips of a group are within tolerance, at joints within the limits."""
    for tip in range(work.groups.shape[0]):
        if group_of(work, tip) != group:
            continue
        position, orientation = work.reached[tip, POSITION], work.reached[tip, ORIENTATION]
        if not within_tolerance(settings, position, orientation):
            return False
        for i in range(work.q.shape[0] if settings.limits >= LimitStrategy.PENALTY else 0):
            if chain.moves[tip, i] != 0.0 and not chain.lower[i] <= work.q[i] <= chain.upper[i]:
                return False
    return True


@inner_kernel
def errors_within(settings, work, position_margin, orientation_margin):
    """
    Return the largest position error [m] and orientation error [rad] of a tip, and the cost.

    :param position_margin: inset of the targets in the regions [m].
    :param orientation_margin: inset in the tolerances of the angles [rad].
    """
    largest = turned = total = 0.0
    for tip in range(work.frame.shape[0]):
        work.groups[tip, COST] = 0.0
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
        work.reached[tip, POSITION] = math.sqrt(position)
        work.reached[tip, ORIENTATION] = math.sqrt(orientation)
        largest = max(largest, work.reached[tip, POSITION])
        turned = max(turned, work.reached[tip, ORIENTATION])
        total += cost
        work.groups[group_of(work, tip), COST] += cost
    if math.isnan(total):
        largest = turned = total
    work.cost[0] = 0.5 * total
    return largest, turned, 0.5 * total


@inner_kernel
def tip_error(frame, goal, position_margin, orientation_margin, twist):
    """
    Write the shortest twist that carries a tip into its goal region.

    :param frame: (12,) frame behind the last joint.
    :param position_margin: inset of the target in the region [m].
    :param orientation_margin: inset in the tolerances of the angles [rad].
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
    a, b, c = along_axes(goal[REGION : REGION + 9], dx, dy, dz)
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


# Errors [m] and [rad] below which a tip has arrived but for the effect of the others on it.
_CLOSE = 0.02
# Share of the error of a tip below which another one on some of the same joints is only held off.
_HELD_OFF = 0.3
# Share of the starts at which no joint is kept: where one tip is can hinder another.
_ALL_AT_ONCE = 0.05


@variant(random_start, TreeArrays)
def _tree_random_start(chain, settings, work, radius, searches):
    """
    Write a random posture to ``work.q``, but for joints that need not move.

    Those that move only tips that have arrived keep the position that the last search found for
    them: to find all tips at once by chance would take as many searches as the product of those
    that each of them needs. Of three tips and more, and of two where the target is a hard one, the
    joints that move some tip that has arrived are often kept, too, such as those of a torso:
    without them all arms would be lost again. The start is the one of least cost of several
    postures then: tips far away take the others along.
    """
    last_frame(chain, work.q, work.axes, work.frame)
    position, orientation, _ = errors(settings, work)
    every = within_tolerance(settings, position, orientation)
    draws = 1
    for group in range(work.groups.shape[0]):
        size = int(work.groups[group, SIZE])
        if size == 0:
            continue
        many = size > (2 if searches < EASY_SEARCHES else 1)
        away = radius == math.inf and _any_away(chain, work, group, many)
        waits = radius == math.inf and not every and _is_done(chain, settings, work, group)
        work.groups[group, WAITS] = waits or (away and uniform(work.random) > _ALL_AT_ONCE)
        work.groups[group, SHARED] = many and uniform(work.random) * max(size, 3) > 2.0
        if many and radius == math.inf:
            draws = max(draws, size - 1, 2)
    lowest = math.inf
    for draw in range(draws):
        for i in range(work.q.shape[0]):
            if not _is_kept(chain, work, i):
                work.q[i] = random_position(chain, work, radius, i)
        if draws == 1:
            return
        last_frame(chain, work.q, work.axes, work.frame)
        _, _, cost = errors(settings, work)
        if draw == 0 or cost < lowest:
            lowest = cost
            copy_vector(work.q, work.best_q)
    copy_vector(work.best_q, work.q)


@inner_kernel
def _any_away(chain, work, group, many):
    """Write which tips of a group have arrived, or are held off; return whether some are away."""
    away, tips = False, work.reached.shape[0]
    for tip in range(tips):
        if group_of(work, tip) != group:
            continue
        error = _error(work, tip)
        arrived = error < _CLOSE
        for other in range(tips if many else 0):
            if not arrived and error < _HELD_OFF * _error(work, other):
                arrived = _share_joints(chain, tip, other)
        work.reached[tip, ARRIVED] = arrived
        away |= not arrived
    return away


@inner_kernel
def _error(work, tip):
    """Return the larger one of both errors of a tip [m] or [rad]."""
    return max(work.reached[tip, POSITION], work.reached[tip, ORIENTATION])


@inner_kernel
def _share_joints(chain, tip, other):
    """Return whether a variable moves both of two tips."""
    for i in range(chain.moves.shape[1]):
        if chain.moves[tip, i] != 0.0 and chain.moves[other, i] != 0.0:
            return True
    return False


@inner_kernel
def _is_kept(chain, work, i):
    """Return whether a group waits for its other tips, and a variable moves those that arrived."""
    some, every, group = False, True, 0
    for tip in range(work.reached.shape[0]):
        if chain.moves[tip, i] != 0.0:
            arrived = work.reached[tip, ARRIVED] != 0.0
            some |= arrived
            every &= arrived
            group = group_of(work, tip)
    return work.groups[group, WAITS] != 0.0 and (
        some if work.groups[group, SHARED] != 0.0 else every
    )
