"""Compiled look-up of poses in inverse reachability maps."""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel


@kernel
def look_up(bases, tips, origin, spacing, rotations, cells, turned, share, quality):
    """
    Write which share of some poses of the tip a map calls reached from each base.

    :param bases: (C, 12) frames of the bases in the world: axes x, y, z, then the origin [m].
    :param tips: (K, 12) frames of the tip in the world.
    :param origin: (3,) first position of the grid in the base frame [m].
    :param spacing: of the grid [m].
    :param rotations: (R, 9) rotation matrices R_base_tip, row by row.
    :param cells: (X, Y, Z, R) quality; 0 where a pose is not reached.
    :param turned: whether the orientation counts; otherwise the best one does.
    :param share: (C,) out: share of the poses that are reached.
    :param quality: (C,) out: the least quality of those; 0 without one.
    """
    for c in range(bases.shape[0]):
        reached = 0
        least = math.inf
        for k in range(tips.shape[0]):
            value = _cell_value(bases[c], tips[k], origin, spacing, rotations, cells, turned)
            if value > 0.0:
                reached += 1
                least = min(least, value)
        share[c] = reached / tips.shape[0]
        quality[c] = least if reached > 0 else 0.0


@inner_kernel
def _cell_value(base, tip, origin, spacing, rotations, cells, turned):
    """Return the quality of a pose of the tip for a base; 0 outside of the grid."""
    dx = tip[9] - base[9]
    dy = tip[10] - base[10]
    dz = tip[11] - base[11]
    x = _cell(base[0] * dx + base[1] * dy + base[2] * dz, origin[0], spacing)
    y = _cell(base[3] * dx + base[4] * dy + base[5] * dz, origin[1], spacing)
    z = _cell(base[6] * dx + base[7] * dy + base[8] * dz, origin[2], spacing)
    if not (0 <= x < cells.shape[0] and 0 <= y < cells.shape[1] and 0 <= z < cells.shape[2]):
        return 0.0
    if not turned:
        best = 0.0
        for r in range(cells.shape[3]):
            best = max(best, float(cells[x, y, z, r]))
        return best
    return float(cells[x, y, z, _nearest(base, tip, rotations)])


@inner_kernel
def _cell(coordinate, first, spacing):
    """Return the number of the nearest position along an axis; −1 far outside."""
    number = (coordinate - first) / spacing + 0.5
    return math.floor(number) if abs(number) < 1e9 else -1


@inner_kernel
def _nearest(base, tip, rotations):
    """Return the number of the rotation nearest to that of the tip in the base frame."""
    nearest = 0
    largest = -math.inf
    for r in range(rotations.shape[0]):
        trace = 0.0  # of R_mapᵀ R_base_tip, which falls with the angle between them
        for i in range(3):
            for j in range(3):
                element = (
                    base[3 * i] * tip[3 * j]
                    + base[3 * i + 1] * tip[3 * j + 1]
                    + base[3 * i + 2] * tip[3 * j + 2]
                )
                trace += rotations[r, 3 * i + j] * element
        if trace > largest:
            largest = trace
            nearest = r
    return nearest
