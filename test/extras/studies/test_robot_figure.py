"""Drawings of a whole robot, and how figures are made."""

import builtins
import math

import numpy as np
import pytest

import ik_service as iks
from ik_service import Robot
from ik_service.common.resources import urdf_path
from ik_service.drawing import figures
from ik_service.exceptions import MissingExtraError
from ik_service.extras.studies.robot_figure import draw_robot, prepare, View

BALL = (
    '<robot name="ball"><material name="red"><color rgba="1 0 0 1"/></material>'
    '<link name="base"><visual>{}<material name="red"/></visual></link>'
    '<link name="tip"/><joint name="turn" type="revolute"><parent link="base"/>'
    '<child link="tip"/><axis xyz="0 0 1"/>'
    '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)
FRONT = View(0.0, 0.0)


def drawn(tmp_path, geometry, view):
    pytest.importorskip('matplotlib')
    robot = Robot.from_urdf(BALL.format(geometry))
    with figures.sheet(tmp_path / 'robot.png', 3.0, 3.0) as figure:
        axes = figure.subplots()
        prepare(axes, (-1, 1), (-1, 1))
        draw_robot(axes, robot, {}, view)
    return [patch.get_xy() for patch in axes.patches]


def test_axes_of_a_view_are_right_up_and_towards_the_eye():
    np.testing.assert_allclose(FRONT.axes, [[0, 1, 0], [0, 0, 1], [1, 0, 0]], atol=1e-15)
    axes = View(0.7, 0.3).axes
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[1, 2] > 0.0


def test_a_sphere_is_a_circle(tmp_path):
    geometry = '<origin xyz="0 0.2 0.1"/><geometry><sphere radius="0.3"/></geometry>'
    (outline,) = drawn(tmp_path, geometry, FRONT)
    np.testing.assert_allclose(np.linalg.norm(outline - [0.2, 0.1], axis=1), 0.3)


def test_a_box_from_the_front_is_its_front(tmp_path):
    outlines = drawn(tmp_path, '<geometry><box size="0.2 0.4 0.6"/></geometry>', FRONT)
    points = np.vstack(outlines)
    np.testing.assert_allclose(np.ptp(points, axis=0), [0.4, 0.6], atol=1e-12)


def test_a_cylinder_seen_from_above_is_its_end(tmp_path):
    above = View(0.0, math.pi / 2)
    geometry = '<geometry><cylinder radius="0.25" length="0.8"/></geometry>'
    points = np.vstack(drawn(tmp_path, geometry, above))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 0.25, atol=1e-9)


def test_every_shape_of_the_upper_body_is_drawn(tmp_path):
    pytest.importorskip('matplotlib')
    robot = Robot.from_urdf(urdf_path('upper_body'))
    shapes = robot.urdf_text.count('<visual>')
    with figures.sheet(tmp_path / 'body.png', 3.0, 3.0) as figure:
        axes = figure.subplots()
        prepare(axes, (-1, 1), (-1, 1))
        draw_robot(axes, robot, {'right_elbow': 1.0}, View(-0.6, 0.2))
        assert len(axes.patches) > shapes


def test_each_method_has_a_colour_of_its_own():
    colors = [figures.method_color(name) for name in iks.solver_names()]
    assert len(set(colors)) == len(colors)


def test_a_sheet_is_written_in_the_style_and_the_style_ends_with_it(tmp_path):
    matplotlib = pytest.importorskip('matplotlib')
    before = matplotlib.rcParams['axes.spines.top']
    with figures.sheet(tmp_path / 'figure.png', 4.0, 3.0) as figure:
        assert not figure.subplots().spines['top'].get_visible()
    assert matplotlib.rcParams['axes.spines.top'] == before
    pixels = matplotlib.image.imread(tmp_path / 'figure.png').shape
    assert pixels[:2] == (3 * figures.DPI, 4 * figures.DPI)


def test_the_same_figure_is_the_same_file(tmp_path):
    pytest.importorskip('matplotlib')
    for name in ('a.png', 'b.png'):
        with figures.sheet(tmp_path / name, 4.0, 3.0) as figure:
            figure.subplots().plot([0, 1], [0, 1])
    assert (tmp_path / 'a.png').read_bytes() == (tmp_path / 'b.png').read_bytes()


def test_nothing_is_written_of_a_figure_that_fails(tmp_path):
    pytest.importorskip('matplotlib')
    with pytest.raises(ZeroDivisionError), figures.sheet(tmp_path / 'figure.png', 4.0, 3.0):
        raise ZeroDivisionError
    assert not (tmp_path / 'figure.png').exists()


def test_missing_matplotlib_is_named_with_its_extra(monkeypatch):
    original = builtins.__import__

    def refuse(name, *rest, **named):
        if name.split('.')[0] == 'matplotlib':
            raise ImportError(name)
        return original(name, *rest, **named)

    monkeypatch.setattr(builtins, '__import__', refuse)
    with pytest.raises(MissingExtraError, match=r'ik_service\[plot\]'):
        figures.check_installed()
