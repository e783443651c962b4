import numpy as np
import pytest

from ik_service.viewer.scene.raycast import BOX, Camera, CYLINDER, Shape, SPHERE, take_picture

HALF = np.array([0.2, 0.2, 0.2])
RED = (1.0, 0.0, 0.0)


def at(*position):
    T = np.eye(4)
    T[:3, 3] = position
    return T


@pytest.fixture
def camera():
    """Two metres along x from a point one metre above the ground, which it looks at."""
    return Camera(np.array([2.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0]), 1.0, (41, 41))


@pytest.mark.parametrize('kind', [BOX, CYLINDER, SPHERE])
def test_the_distance_to_each_solid_is_exact(camera, kind):
    picture = take_picture(camera, [Shape(kind, HALF, at(0.0, 0.0, 1.0), RED)], 0.0, (1, 1))
    assert picture.distance[20, 20] == pytest.approx(1.8)
    assert picture.alpha[20, 20] == 1.0
    assert picture.color[20, 20, 0] > 0.0
    assert picture.color[20, 20, 1:].tolist() == [0.0, 0.0]
    assert np.isinf(picture.distance[0, 0])
    assert picture.alpha[0, 0] == 0.0


def test_points_are_seen_where_they_are(camera):
    shape = Shape(SPHERE, np.full(3, 0.03), at(0.0, 0.2, 1.3), RED)
    rows, columns = np.isfinite(take_picture(camera, [shape], 0.0, (1, 1)).distance).nonzero()
    expected = camera.project(np.array([0.0, 0.2, 1.3]))
    assert [columns.mean(), rows.mean()] == pytest.approx(expected.tolist(), abs=0.6)
    assert rows.mean() < 20  # up is up
    assert columns.mean() > 20  # and looking along −x, y is right


def test_a_nearer_solid_hides_another(camera):
    far = Shape(BOX, HALF, at(-1.0, 0.0, 1.0), (0.0, 1.0, 0.0))
    near = Shape(SPHERE, HALF, at(0.5, 0.0, 1.0), RED)
    picture = take_picture(camera, [far, near], 0.0, (2, 2))
    assert picture.distance[20, 20] == pytest.approx(1.3)
    assert picture.color[20, 20, 1] == 0.0


def test_solids_throw_shadows_on_the_ground_around_the_origin():
    above = Camera(np.array([0.1, 0.0, 5.0]), np.zeros(3), 4.0, (61, 61))
    shape = Shape(BOX, HALF, at(0.0, 0.0, 0.2), RED)
    shadow = take_picture(above, [shape], 1.5, (4, 8)).alpha
    none = take_picture(above, [shape], 0.0, (4, 8)).alpha
    assert ((shadow > 0.05) & (shadow < 1.0)).sum() > 50
    assert not ((none > 0.0) & (none < 1.0)).any()
    assert shadow[0, 0] == 0.0  # beyond the radius
