"""Figures of arms, and their shapes."""

import math

import numpy as np
import pytest
from support.chains import (
    arm,
    forward_by_tree,
    joint_xml,
    limit_xml,
    planar,
    postures,
    robot_xml,
    snake,
)

from ik_service import Robot
from ik_service.drawing.arm_shape import plane_of, skeleton, solid_arm

pytest.importorskip('matplotlib', reason='pictures need Matplotlib')

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ik_service.drawing import arm_figure
from ik_service.drawing.arm_figure import AXIS_COLORS

SIZE = 400  # of a picture [pixels]


@pytest.fixture
def figure():
    figure = Figure(figsize=(4, 4), dpi=SIZE // 4)
    FigureCanvasAgg(figure)
    return figure


def pixels(figure):
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[:, :, :3] / 255.0


def space(figure, chain, q):
    axes = figure.add_subplot(projection='3d')
    arm_figure.show_space(axes, skeleton(chain, q).points, chain.forward(q)[:3, 3])
    return axes


def bluish(image):
    return int((image[:, :, 2] > image[:, :, 0] + 0.2).sum())


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_an_arm_is_drawn_in_its_colour(figure, name):
    chain = arm(name)
    q = chain.mid_range()
    axes = space(figure, chain, q)
    assert bluish(pixels(figure)) == 0
    arm_figure.draw_arm(axes, chain, q, color='#0000ff', alpha=1.0, label='an arm')
    assert bluish(pixels(figure)) > 0.01 * SIZE * SIZE
    assert axes.get_legend_handles_labels()[1] == ['an arm']


def test_a_paler_arm_is_paler_and_one_drawn_later_covers_it(figure):
    chain = arm('panda')
    q = chain.mid_range()
    axes = space(figure, chain, q)
    arm_figure.draw_arm(axes, chain, q, color='#0000ff', alpha=0.1)
    assert bluish(pixels(figure)) == 0
    arm_figure.draw_arm(axes, chain, q, color='#0000ff', alpha=1.0)
    covered = bluish(pixels(figure))
    arm_figure.draw_arm(axes, chain, q, color='#ffffff', alpha=1.0)
    assert bluish(pixels(figure)) < 0.2 * covered


def test_the_tip_is_drawn_where_it_is(figure):
    chain = arm('ur5e')
    q = np.array([0.3, -1.0, 1.2, -0.4, 0.8, 0.1])
    axes = space(figure, chain, q)
    arm_figure.draw_arm(axes, chain, q)
    T = chain.forward(q)
    for line, axis, color in zip(axes.lines[-3:], T[:3, :3].T, AXIS_COLORS, strict=True):
        start, end = np.transpose(line.get_data_3d())
        np.testing.assert_allclose(start, T[:3, 3], atol=1e-12)
        np.testing.assert_allclose(np.cross(end - start, axis), 0.0, atol=1e-12)
        assert (end - start) @ axis > 0.0
        np.testing.assert_allclose(line.get_color(), to_rgb(color))


def test_everything_is_seen(figure):
    chain = arm('panda')
    points = skeleton(chain, chain.mid_range()).points
    axes = figure.add_subplot(projection='3d')
    ground = arm_figure.show_space(axes, points, points[-1])
    limits = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
    assert np.all(limits[:, 0] <= points.min(axis=0))
    assert np.all(limits[:, 1] >= points.max(axis=0))
    assert ground == limits[2, 0]


@pytest.mark.parametrize('turned', [True, False])
def test_a_target_has_a_ring_and_if_it_matters_a_frame(figure, turned):
    chain = arm('panda')
    T = chain.forward(chain.mid_range())
    points = skeleton(chain, chain.mid_range()).points
    view = arm_figure.ArmView(figure, chain, points, T[:3, 3])
    view.draw_target(T, 0.1, turned)
    axes = view.axes
    assert axes.get_legend_handles_labels()[1] == ['target']
    assert [text.get_text() for text in axes.texts] == (['x', 'y', 'z'] if turned else [])


def test_a_planar_arm_is_drawn_in_its_plane(figure):
    chain = planar(0.3, 0.2, 0.1)
    q = np.array([0.4, -0.9, 1.1])
    view = arm_figure.ArmView(figure, chain, skeleton(chain, q).points, np.ones(3))
    axes = view.axes
    view.draw_shadow(q)
    assert not axes.lines
    view.draw_arm(q, label='an arm')
    links = next(line for line in axes.lines if line.get_label() == 'an arm')
    tip = links.get_xydata()[-1]
    np.testing.assert_allclose(tip, chain.forward(q)[:2, 3], atol=1e-12)
    drawn = np.vstack([line.get_xydata() for line in axes.lines if line.get_marker() == 'o'])
    angles = np.cumsum(q)[:2]
    elbows = np.cumsum(
        np.array([[0.3], [0.2]]) * np.stack([np.cos(angles), np.sin(angles)], 1), axis=0
    )
    np.testing.assert_allclose(drawn, [[0.0, 0.0], *elbows], atol=1e-12)


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_a_planar_picture_shows_everything_to_scale(figure):
    chain = planar(0.3, 0.2, 0.1)
    q = np.zeros(3)
    T = chain.forward(q)
    view = arm_figure.ArmView(figure, chain, skeleton(chain, q).points, T[:3, 3])
    view.draw_arm(q)
    view.draw_target(T, 0.1, True)
    axes = view.axes
    pixels(figure)
    assert axes.get_aspect() == 1.0
    assert axes.get_xlim()[0] < 0.0 < 0.6 < axes.get_xlim()[1]
    # The z axis stands on the plane and has no name there.
    assert [text.get_text() for text in axes.texts] == ['x', 'y']
    assert axes.get_xlabel() == 'x [m]'


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_the_line_leads_from_the_base_to_the_tip(name):
    chain = arm(name)
    for q in postures(chain, 5):
        points = skeleton(chain, q).points
        np.testing.assert_array_equal(points[0], np.zeros(3))
        np.testing.assert_allclose(points[-1], forward_by_tree(chain, q)[:3, 3], atol=1e-12)


def test_joints_are_where_their_axes_are():
    chain = snake(8)
    q = postures(chain, 1)[0]
    J = chain.jacobian(q)
    tip = chain.forward(q)[:3, 3]
    joints = skeleton(chain, q).joints
    assert len(joints) == chain.n
    for joint, column in zip(joints, J.T, strict=True):
        if joint.slides:
            np.testing.assert_allclose(joint.axis, column[:3], atol=1e-12)
        else:
            np.testing.assert_allclose(joint.axis, column[3:], atol=1e-12)
            around = np.cross(joint.axis, tip - joint.position)
            np.testing.assert_allclose(around, column[:3], atol=1e-12)


def test_a_chain_that_climbs_and_descends_is_drawn_along_its_way():
    fork = Robot.from_urdf(
        robot_xml(
            ['root', 'left', 'right'],
            [
                joint_xml('a', 'revolute', 'root', 'left', (0, 1, 0), inner=limit_xml(-2.0, 2.0)),
                joint_xml(
                    'b', 'revolute', 'root', 'right', (0, -1, 0), inner=limit_xml(-2.0, 2.0)
                ),
            ],
        )
    )
    chain = fork.chain('left', 'right')
    q = np.array([0.3, -0.5])
    shape = skeleton(chain, q)
    np.testing.assert_allclose(shape.points[-1], chain.forward(q)[:3, 3], atol=1e-12)
    lengths = np.linalg.norm(np.diff(shape.points, axis=0), axis=1)
    np.testing.assert_allclose(lengths[lengths > 1e-9], [1.0, 1.0])


def test_locked_joints_are_part_of_the_links_and_what_is_before_the_first_is_the_mount():
    chain = arm('panda').robot.chain('panda_link0', 'panda_hand_tcp', {'panda_joint1': 0.5})
    q = chain.mid_range()
    shape = skeleton(chain, q)
    assert len(shape.joints) == 6
    np.testing.assert_allclose(shape.points[shape.mount], shape.joints[0].position, atol=1e-12)
    still = skeleton(chain, q + 0.3).points[: shape.mount + 1]
    np.testing.assert_array_equal(shape.points[: shape.mount + 1], still)


def test_solids_enclose_the_line_and_their_normals_point_outwards():
    chain = arm('ur5e')
    q = postures(chain, 1)[0]
    shape, solid = skeleton(chain, q), solid_arm(chain, q)
    for faces in (solid.mount, solid.links, solid.joints):
        assert len(faces.polygons) == len(faces.normals)
        assert {polygon.shape for polygon in faces.polygons} == {(4, 3)}
        np.testing.assert_allclose(np.linalg.norm(faces.normals, axis=1), 1.0)
    joint = shape.joints[2]
    count = len(solid.joints.polygons) // len(shape.joints)
    drum = slice(2 * count, 3 * count)
    outwards = [polygon.mean(axis=0) - joint.position for polygon in solid.joints.polygons[drum]]
    assert all(np.sum(outwards * solid.joints.normals[drum], axis=1) > 0.0)


@pytest.mark.parametrize(
    ('axis', 'right', 'up'),
    [
        ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
        ((0, 0, -1), (1, 0, 0), (0, 1, 0)),
        ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
        ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ((0, -math.sqrt(0.5), math.sqrt(0.5)), (1, 0, 0), (0, math.sqrt(0.5), math.sqrt(0.5))),
    ],
)
def test_a_planar_arm_is_seen_in_its_plane(axis, right, up):
    slide = limit_xml(-1.0, 1.0)
    robot = Robot.from_urdf(
        robot_xml(
            ['a', 'b', 'c', 'd'],
            [
                joint_xml('first', 'continuous', 'a', 'b', axis=axis),
                joint_xml('second', 'continuous', 'b', 'c', right, axis=np.negative(axis)),
                joint_xml('third', 'prismatic', 'c', 'd', axis=up, inner=slide),
            ],
        )
    )
    np.testing.assert_allclose(plane_of(robot.chain()), [right, up], atol=1e-12)


def test_an_arm_in_space_has_no_plane():
    assert plane_of(arm('panda')) is None
    rails = [
        joint_xml('x', 'prismatic', 'a', 'b', axis=(1, 0, 0), inner=limit_xml(0.0, 1.0)),
        joint_xml('z', 'continuous', 'b', 'c', axis=(1, 0, 0)),
    ]
    assert plane_of(Robot.from_urdf(robot_xml(['a', 'b', 'c'], rails)).chain()) is None
