"""The pictures are made, of the right size, and show what they should."""

from dataclasses import replace

import numpy as np
import pytest
from support.chains import arm_path, snake_xml
from support.solve_helpers import solved_request

from ik_service.cli import programs

pytest.importorskip('matplotlib', reason='pictures need Matplotlib')
from matplotlib.figure import Figure
from matplotlib.image import imread

from ik_service.cli.solve.plot import draw, draw_errors, draw_joints
from ik_service.drawing.figures import PALETTE


@pytest.fixture
def panel():
    return Figure().subfigures(1, 1)


@pytest.mark.parametrize(
    'words',
    [
        ['planar_6r', '--xyz', '-0.3', '0.2', '0', '--position-only'],
        ['panda', '--xyz', '0', '0', '50'],
        ['ur5e', '--random', '7', '--solver', 'all'],
    ],
    ids=['planar', 'far away', 'all methods'],
)
@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_a_picture_is_written(tmp_path, words, capsys):
    path = tmp_path / 'picture.png'
    programs.ik_solve([*words, '--plot', str(path)])
    assert capsys.readouterr().out.endswith(f'Plot      {path}\n')
    image = imread(path)
    assert image.shape[0] > 700
    assert image.shape[1] > 1500
    # All three parts hold something else than white paper.
    for part in np.array_split(image[:, :, :3], 3, axis=1):
        assert (part.min(axis=2) < 0.5).mean() > 0.002


@pytest.mark.filterwarnings('error::UserWarning')
def test_names_are_neither_mathematics_nor_wider_than_the_figure(tmp_path):
    text, name = arm_path('planar_6r').read_text(), r' $\nope{$ 关节 ' + 100 * 'long '
    urdf = tmp_path / 'arm.urdf'
    for own in ('planar_6r', 'joint_1', 'joint_2'):
        text = text.replace(f'"{own}"', f'"{own}{name}"')
    urdf.write_text(text)
    assert programs.ik_solve([str(urdf), '--random', '--plot', str(tmp_path / 'picture.png')]) == 0


def test_a_picture_that_cannot_be_written_is_an_error_of_the_command(tmp_path, capsys):
    path = tmp_path / 'folder.png'
    path.mkdir()
    assert programs.ik_solve(['panda', '--random', '--plot', str(path)]) == 2
    assert f'--plot: {path} cannot be written: it is no regular file' in capsys.readouterr().err


def test_errors_are_drawn_over_the_iterations_with_the_tolerance(panel):
    request, (outcome,) = solved_request('ur5e', '--random', 7)
    draw_errors(panel, request, outcome)
    position, orientation = panel.axes
    curve = position.lines[1].get_xydata()
    np.testing.assert_array_equal(curve[:, 0], np.arange(len(outcome.trace.search)))
    np.testing.assert_allclose(curve[:, 1], 1e3 * outcome.trace.position_error, rtol=1e-12)
    assert position.get_yscale() == orientation.get_yscale() == 'log'
    assert position.lines[0].get_ydata()[0] == pytest.approx(0.01)
    assert orientation.lines[0].get_ydata()[0] == pytest.approx(np.degrees(1e-5))
    mark = position.lines[2].get_xydata()[0]
    np.testing.assert_allclose(
        mark, [outcome.result.iterations, 1e3 * outcome.result.position_error], rtol=1e-6
    )


def test_restarts_are_marked(panel):
    request, (outcome,) = solved_request(
        'ur5e', '--random', 7, '--solver', 'transpose', '--set', 'variant=classical'
    )
    starts = np.flatnonzero(np.diff(outcome.trace.search)) + 1
    assert 1 <= len(starts) < 12
    draw_errors(panel, request, outcome)
    marks = [line.get_xdata()[0] for line in panel.axes[0].lines if len(line.get_xdata()) == 2]
    for start in starts:
        assert start - 0.5 in marks
    assert 'restart' in [text.get_text() for text in panel.axes[0].texts]


def test_many_searches_lie_upon_each_other_and_that_of_the_answer_stands_out(panel):
    request, (outcome,) = solved_request('panda', '--random', 2, '--set', 'prefer=nearest')
    assert outcome.result.searches > 12
    draw_errors(panel, request, outcome)
    bold = [line for line in panel.axes[0].lines if line.get_color() == PALETTE[0]]
    assert len(bold) == 1
    last = bold[0].get_ydata()[-1]
    assert last == pytest.approx(1e3 * outcome.result.position_error, rel=1e-3)


def test_joints_are_drawn_between_their_limits(panel):
    request, (outcome,) = solved_request('panda', '--random', 1)
    draw_joints(panel, request, outcome)
    for axes, lower, upper in zip(
        panel.axes, request.chain.lower, request.chain.upper, strict=True
    ):
        low, high = axes.get_ylim()
        assert low < np.degrees(lower) < np.degrees(upper) < high
    assert [axes.get_title(loc='left') or axes.get_title() for axes in panel.axes] == [
        f'panda_joint{number} [°]' for number in range(1, 8)
    ]


def test_of_many_joints_those_that_move_most_are_drawn(panel, tmp_path):
    path = tmp_path / 'snake.urdf'
    path.write_text(snake_xml(20))
    request, (outcome,) = solved_request(path, '--random')
    draw_joints(panel, request, outcome)
    assert sum(axes.get_visible() for axes in panel.axes) == 16
    assert '4 that move less are left out' in panel.get_suptitle()


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_a_method_that_diverged_leaves_a_gap(tmp_path):
    request, (outcome,) = solved_request('panda', '--random', 1)
    errors, q = outcome.trace.position_error.copy(), outcome.trace.q.copy()
    errors[2], q[2] = np.inf, np.nan
    trace = replace(outcome.trace, position_error=errors, q=q)
    diverged = replace(outcome, result=replace(outcome.result, trace=trace))
    draw(tmp_path / 'diverged.png', request, [diverged])
    figure = Figure().subfigures(1, 1)
    draw_errors(figure, request, diverged)
    drawn = figure.axes[0].lines[1].get_ydata()
    assert np.isnan(drawn[2])
    assert np.isfinite(np.delete(drawn, 2)).all()
