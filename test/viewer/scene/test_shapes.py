import numpy as np
import pytest

from ik_service import Robot
from ik_service.viewer.scene.parts import Part
from ik_service.viewer.scene.raycast import BOX, CYLINDER, SPHERE
from ik_service.viewer.scene.shapes import arm_shapes, triad
from ik_service.viewer.scene.visuals import Box, Cylinder, Sphere

TEXT = """<robot name="r"><link name="a"/><link name="b"/>
  <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" velocity="1" effort="1"/></joint></robot>"""
PARTS = [
    Part('a', Box((2.0, 4.0, 6.0)), np.eye(4), None),
    Part('b', Cylinder(0.1, 0.6), np.eye(4), (1.0, 0.0, 0.0)),
    Part('b', Sphere(0.3), np.eye(4), (0.0, 1.0, 0.0)),
]


def test_parts_become_shapes_where_the_joints_put_them():
    box, cylinder, sphere = arm_shapes(Robot.from_urdf(TEXT), PARTS, {'lift': 0.7})
    assert [shape.kind for shape in (box, cylinder, sphere)] == [BOX, CYLINDER, SPHERE]
    assert box.half.tolist() == [1.0, 2.0, 3.0]
    assert cylinder.half.tolist() == [0.1, 0.1, 0.3]
    assert sphere.half.tolist() == [0.3, 0.3, 0.3]
    assert box.T_world_shape[2, 3] == 0.0
    assert sphere.T_world_shape[2, 3] == pytest.approx(0.7)
    assert sphere.color == (0.0, 1.0, 0.0)


def test_the_root_can_be_left_out():
    moving = arm_shapes(Robot.from_urdf(TEXT), PARTS, {}, still=False)
    assert [shape.kind for shape in moving] == [CYLINDER, SPHERE]


def test_a_triad_points_along_the_axes():
    angle = 0.4
    T = np.eye(4)
    T[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    T[:3, 3] = 1.0, 2.0, 3.0
    for axis, shape in enumerate(triad(T, 0.2)):
        assert shape.half[2] == 0.1
        assert np.allclose(shape.T_world_shape[:3, 2], T[:3, axis])
        assert np.allclose(shape.T_world_shape[:3, 3], T[:3, 3] + 0.1 * T[:3, axis])
        assert np.linalg.det(shape.T_world_shape[:3, :3]) == pytest.approx(1.0)
