"""Surfaces of cones and capsules."""

import math

import numpy as np
import pytest

from ik_service.common.revolved_surface import capsule_surface, cone_surface

SOLIDS = [
    (cone_surface(0.5, 2.0), math.pi * 0.5**2 * 2.0 / 3.0, (1.0, 1.0, 2.0)),
    (capsule_surface(0.5, 2.0), math.pi * 0.5**2 * (2.0 + 4.0 / 3.0 * 0.5), (1.0, 1.0, 3.0)),
    (capsule_surface(0.1, 0.01), math.pi * 0.1**2 * (0.01 + 4.0 / 3.0 * 0.1), (0.2, 0.2, 0.21)),
]


@pytest.mark.parametrize(('surface', 'volume', 'size'), SOLIDS)
def test_a_surface_is_closed_and_faces_outwards(surface, volume, size):
    vertices, triangles = surface
    edges = {(t[i], t[(i + 1) % 3]) for t in triangles.tolist() for i in range(3)}
    assert len(edges) == 3 * len(triangles)
    assert all((end, start) in edges for start, end in edges)
    a, b, c = np.moveaxis(vertices[triangles], 1, 0)
    assert np.einsum('ij,ij->', a, np.cross(b, c)) / 6 == pytest.approx(volume, rel=0.04)
    np.testing.assert_allclose(np.ptp(vertices, axis=0), size, atol=1e-12)
    assert set(triangles.flat) == set(range(len(vertices)))
