import numpy as np
import pytest
from support.chains import arm, planar

pytest.importorskip('matplotlib', reason='pictures need Matplotlib')
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ik_service.drawing import arm_figure
from ik_service.drawing.arm_figure import AXIS_COLORS
from ik_service.drawing.arm_shape import skeleton

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


@pytest.mark.parametrize('sides', [(1.0, 0.2, 0.3), (0.3, 1.0, 0.1), (0.2, 0.2, 1.0)])
@pytest.mark.parametrize('ahead', [(1.0, 0.0), (0.3, -1.0), (-1.0, 0.5)])
def test_the_labels_beside_an_arm_of_any_shape_are_seen(figure, sides, ahead):
    axes = figure.add_subplot(projection='3d')
    arm_figure.show_space(axes, np.array([[0.0] * 3, sides]), np.array([*ahead, 0.0]))
    figure.canvas.draw()
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        box = axis.label.get_window_extent()
        assert 0.0 <= box.x0 < box.x1 <= SIZE
        assert 0.0 <= box.y0 < box.y1 <= SIZE


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
