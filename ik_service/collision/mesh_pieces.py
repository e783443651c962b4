"""
Meshes in pieces of neighbouring triangles.

Coal keeps Python's lock while it prepares a mesh, which for a large one would stop all threads for
seconds, and with them the commands of a moving arm.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ik_service.collision.shapes import Mesh, Shape

_LARGEST = 1000  # triangles of a piece


def pieces_of(shape: Shape) -> Iterator[Shape]:
    """
    Yield the pieces of a large mesh, or a shape as it is.

    :param shape: the shape.
    """
    if not isinstance(shape, Mesh) or len(shape.triangles) <= _LARGEST:
        yield shape
        return
    for cluster in clusters(shape.vertices[shape.triangles], _LARGEST):
        corners, triangles = np.unique(shape.triangles[cluster], return_inverse=True)
        yield Mesh(shape.vertices[corners], triangles.reshape(-1, 3))


def clusters(corners: np.ndarray, largest: int) -> Iterator[np.ndarray]:
    """
    Yield groups of neighbouring triangles: halves, halved again and again.

    :param corners: (m, 3, 3) corners of the triangles [m].
    :param largest: triangles of a group, at most.
    :returns: indices of the triangles of each group.
    """
    middles = corners.mean(axis=1)
    pending = [np.arange(len(corners))]
    while pending:
        group = pending.pop()
        if len(group) <= largest:
            yield group
            continue
        own = middles[group]
        axis = int(np.argmax(np.ptp(own, axis=0)))
        order = np.argpartition(own[:, axis], len(group) // 2)
        pending += [group[order[len(group) // 2 :]], group[order[: len(group) // 2]]]
