"""
Closed forms of arms of six revolute joints, as kernels.

The axes and the pose of the tip are those at q = 0, so that the tip's motion from there is a
product of exponentials, G = e₁ e₂ … e₆, one turn about a fixed axis each: R. W. Brockett,
"Robotic manipulators and the product of exponentials formula", 1984. Where what an arm needs for a
closed form is at its other end, the inverse of G is taken, whose axes come in the other order.

The angles are starts of an iteration, so what the axes of a real description miss by rounding does
not matter.
"""

from __future__ import annotations

from ik_service.kinematics.compile import inner_kernel
from ik_service.solvers.all_solutions.arm_geometry import NO_FORM, SPHERICAL_WRIST
from ik_service.solvers.all_solutions.spherical_wrist import wrist_starts
from ik_service.solvers.all_solutions.three_parallel import parallel_starts
from ik_service.solvers.all_solutions.vectors import rotated_back, vector_at


@inner_kernel
def closed_form_starts(arm, target, starts):
    """
    Write the solutions of the closed form.

    :param arm: :class:`~ik_service.solvers.all_solutions.arm_geometry.ClosedForm`.
    :param target: (4, 4) T_base_tip.
    :param starts: (``MOST_STARTS``, 6) out [rad].
    :returns: their number, and whether these are all isolated solutions.
    """
    complete = True
    if arm.kind == NO_FORM:
        return 0, False
    _displacement(arm, target)
    if arm.kind == SPHERICAL_WRIST:
        count = wrist_starts(arm, starts)
    else:
        count, complete = parallel_starts(arm, starts)
    for k in range(count):
        if arm.inverted != 0:
            for i in range(3):
                starts[k, i], starts[k, 5 - i] = -starts[k, 5 - i], -starts[k, i]
    return count, complete


@inner_kernel
def _displacement(arm, target):
    """Write G = target · home, or its inverse, to the scratch as twelve numbers."""
    G = arm.scratch
    for i in range(3):
        for j in range(4):
            value = target[i, 3] if j == 3 else 0.0
            for k in range(3):
                value += target[i, k] * arm.home[k, j]
            G[3 * j + i] = value
    if arm.inverted != 0:
        p = rotated_back(G, vector_at(G, 9))
        G[1], G[3] = G[3], G[1]
        G[2], G[6] = G[6], G[2]
        G[5], G[7] = G[7], G[5]
        G[9], G[10], G[11] = -p[0], -p[1], -p[2]
