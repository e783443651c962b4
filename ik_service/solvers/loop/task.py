"""The task of a solve: where the tip shall be, and how far from there it is."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inner_kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.kinematics.pose import frame_error


@inner_kernel
def set_goal(chain, target, goal):
    """Where the frame behind the last joint shall be, for the tip to be at the target."""
    c = chain.tip[0]
    s = chain.tip[1]
    for i in range(3):
        goal[i] = c * target[i, 0] - s * target[i, 1]
        goal[3 + i] = s * target[i, 0] + c * target[i, 1]
        goal[6 + i] = target[i, 2]
        goal[9 + i] = target[i, 3]


@inner_kernel
def errors(settings, work):
    """
    Errors at ``work.frame``; the weighted one goes to ``work.error``.

    :returns: position error [m] and orientation error [rad] along the weighted axes, and the cost
        ½ eᵀWe, which also goes to ``work.cost``.
    """
    frame_error(work.frame, work.goal, work.twist)
    position = orientation = cost = 0.0
    for j in range(6):
        weight = settings.weights[j]
        value = weight * work.twist[j]
        work.error[j] = value
        cost += value * value
        if weight > 0.0:
            if j < 3:
                position += work.twist[j] * work.twist[j]
            else:
                orientation += work.twist[j] * work.twist[j]
    work.cost[0] = 0.5 * cost
    return math.sqrt(position), math.sqrt(orientation), 0.5 * cost


@inner_kernel
def errors_at(chain, settings, work, q):
    """Position error [m] and orientation error [rad] by forward kinematics of a joint vector."""
    last_frame(chain, q, work.axes, work.frame)
    position, orientation, _ = errors(settings, work)
    return position, orientation


@inner_kernel
def within_tolerance(settings, position_error, orientation_error):
    """Whether both errors are within tolerance; NaN is not."""
    return position_error <= settings.tolerances[0] and orientation_error <= settings.tolerances[1]


@inner_kernel
def beyond_reach(chain, settings, goal):
    """Whether the goal lies farther away than the chain is long."""
    for j in range(3):
        if settings.weights[j] == 0.0:
            return False
    x = goal[9] - chain.reach[0]
    y = goal[10] - chain.reach[1]
    z = goal[11] - chain.reach[2]
    reach = chain.reach[3] * (1.0 + 1e-9) + settings.tolerances[0]
    return x * x + y * y + z * z > reach * reach
