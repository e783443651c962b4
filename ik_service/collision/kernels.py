"""Compiled part of collision checks."""

from __future__ import annotations

import math

from ik_service.kinematics.compile import inlined_kernel, kernel


@kernel
def place_bodies(bodies, q, frames):
    """
    Compute the frames of the rigid bodies.

    :param bodies: a BodyArrays of b bodies.
    :param q: (m,) positions of the variables [rad] or [m].
    :param frames: (b, 12) is filled.
    """
    for k in range(12):
        frames[0, k] = 1.0 if k == 0 or k == 4 or k == 8 else 0.0
    for j in range(bodies.parents.shape[0]):
        parent = bodies.parents[j]
        value = q[bodies.variables[j]]
        compose(frames, parent, bodies.before, j, frames, j + 1)
        angle = bodies.moves[j, 0] * value
        if angle != 0.0:
            c, s = math.cos(angle), math.sin(angle)
            for k in range(3):
                x, y = frames[j + 1, k], frames[j + 1, 3 + k]
                frames[j + 1, k] = c * x + s * y
                frames[j + 1, 3 + k] = c * y - s * x
        slide = bodies.moves[j, 1] * value
        for k in range(3):
            frames[j + 1, 9 + k] += slide * frames[j + 1, 6 + k]


@inlined_kernel
def compose(outer, i, inner, j, frames, k):
    """
    Express a frame in another one's frame of reference.

    :param outer: frames; its row i is in the wanted frame of reference.
    :param i: row.
    :param inner: frames; its row j is in the frame of that row.
    :param j: row.
    :param frames: its row k is filled.
    :param k: row.
    """
    for axis in range(4):
        x, y, z = inner[j, 3 * axis], inner[j, 3 * axis + 1], inner[j, 3 * axis + 2]
        for r in range(3):
            value = outer[i, r] * x + outer[i, 3 + r] * y + outer[i, 6 + r] * z
            if axis == 3:
                value += outer[i, 9 + r]
            frames[k, 3 * axis + r] = value
