"""ik_solve for one pose: what is printed, what is drawn, and collisions."""

from dataclasses import replace
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY, snake_xml
from support.solids import folding_arm_xml
from support.solve_helpers import solved_request

import ik_service as iks
from ik_service.cli import programs
from ik_service.common.resources import urdf_path

pytest.importorskip('matplotlib', reason='pictures need Matplotlib')
pytest.importorskip('coal')

from matplotlib.figure import Figure
from matplotlib.image import imread

from ik_service.cli.solve.plot import draw, draw_errors, draw_joints
from ik_service.drawing.figures import PALETTE

PANDA = ['panda', '--xyz', '0.4', '0.1', '0.5', '--rpy', '180', '0', '0']


def as_program(*words, **options):
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY)}
    return subprocess.run(
        [sys.executable, '-m', 'ik_service.cli.programs', 'ik_solve', *words],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        **options,
    )


def test_as_a_program_it_prints_a_table_that_forward_kinematics_confirms():
    done = as_program(*PANDA)
    assert done.returncode == 0, done.stderr
    assert re.search(r'^Result +SUCCESS: ', done.stdout, re.MULTILINE)
    rows = re.findall(
        r'^panda_joint\d +(-?\d+\.\d{4}) rad +(-?\d+\.\d\d)°', done.stdout, re.MULTILINE
    )
    q, degrees = np.array(rows, dtype=float).T
    np.testing.assert_allclose(np.degrees(q), degrees, atol=0.01)
    T = iks.Robot.from_urdf(urdf_path('panda')).chain(None, 'panda_hand_tcp').forward(q)
    np.testing.assert_allclose(T[:3, 3], [0.4, 0.1, 0.5], atol=5e-4)
    np.testing.assert_allclose(T[:3, :3], np.diag([1.0, -1.0, -1.0]), atol=1e-3)


def test_as_a_program_it_ends_with_1_when_it_is_not_solved():
    done = as_program('panda', '--xyz', '0', '0', '2')
    assert done.returncode == 1
    assert 'UNREACHABLE' in done.stdout
    assert 'Traceback' not in done.stderr


def test_as_a_program_it_ends_with_2_and_a_sentence_when_the_command_is_wrong(tmp_path):
    done = as_program(str(tmp_path), '--random')
    assert done.returncode == 2
    assert done.stdout == ''
    assert done.stderr.startswith(f"ik_solve: file '{tmp_path}': cannot be read: it is a folder")
    assert len(done.stderr.splitlines()) == 2


def test_a_closed_pipe_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, '-m', 'ik_service.cli.programs', 'ik_solve', *PANDA, '--json'],
        stdout=writer,
        stderr=subprocess.PIPE,
        env={**os.environ, 'PYTHONPATH': str(REPOSITORY)},
        timeout=300,
    )
    os.close(writer)
    assert done.stderr == b''
    assert done.returncode == 141


def test_imports_no_ros():
    probe = (
        'import sys; from ik_service.cli.solve.main import main; main(sys.argv[1:]); '
        "sys.exit('rclpy' in sys.modules or 'matplotlib' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, '-c', probe, *PANDA],
        capture_output=True,
        env={**os.environ, 'PYTHONPATH': str(REPOSITORY)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_the_pose_of_joint_values_is_solved_and_checked(ik_solve):
    code, out, _ = ik_solve('ur5e', '--joints', 0.5, -1, 1, -0.5, 1e-3, -2e-1, '--json')
    assert code == 0
    outcome = json.loads(out)
    chain = iks.Robot.from_urdf(urdf_path('ur5e')).chain(None, 'tool0')
    T = chain.forward([0.5, -1, 1, -0.5, 1e-3, -2e-1])
    np.testing.assert_allclose(outcome['target']['matrix'], T, atol=1e-12)
    np.testing.assert_allclose(chain.forward(outcome['results'][0]['q']), T, atol=2e-5)


def test_a_random_pose_is_the_same_again_and_another_with_another_seed(ik_solve):
    targets = []
    for words in ([], [0], [1]):
        code, out, _ = ik_solve('panda', '--random', *words, '--json')
        assert code == 0
        targets.append(json.loads(out)['target'])
    assert targets[0] == targets[1]
    assert targets[0]['matrix'] != targets[2]['matrix']
    assert targets[2]['random_seed'] == 1


@pytest.mark.parametrize('words', [['--xyz', 0.4, 0, 0.5], ['--random', '--position-only']])
def test_the_orientation_is_free_when_none_is_given_or_wanted(ik_solve, words):
    code, out, _ = ik_solve('panda', *words)
    assert code == 0
    assert re.search(r'^Target .* any orientation$', out, re.MULTILINE)
    assert re.search(r'^Off by +[\d.e-]+ mm   \(tolerance 0.01 mm\)$', out, re.MULTILINE)


def test_a_quaternion_is_read_in_the_order_of_ros(ik_solve):
    half = np.sqrt(0.5)
    by_quaternion = ik_solve(*PANDA[:5], '--quaternion', half, 0, 0, half, '--json')[1]
    by_rpy = ik_solve(*PANDA[:5], '--rpy', 90, 0, 0, '--json')[1]
    matrices = [json.loads(out)['target']['matrix'] for out in (by_quaternion, by_rpy)]
    np.testing.assert_allclose(*matrices, atol=1e-12)


def test_the_seed_chooses_among_the_answers(ik_solve):
    up, down = [0, -1.2, 1.5, 0, 1, 0], [0, 0.2, -1.5, 0, 1, 0]
    outcomes = []
    for seed in (up, down):
        pose = ['--joints', *up, '--seed', *seed]
        outcomes.append(json.loads(ik_solve('ur5e', *pose, '--json')[1])['results'][0])
    assert all(outcome['success'] for outcome in outcomes)
    assert outcomes[0]['iterations'] == 0
    assert outcomes[0]['q'] == up
    assert np.abs(np.subtract(outcomes[1]['q'], up)).max() > 0.5


def test_a_locked_joint_stands_still(ik_solve, rail_urdf):
    words = [rail_urdf, '--tip-link', 'tool', '--lock', 'rail=0.2', '--joints', 1.0]
    code, out, _ = ik_solve(*words, '--json')
    outcome = json.loads(out)
    assert code == 0
    assert outcome['robot']['locked'] == {'rail': 0.2}
    assert [joint['name'] for joint in outcome['joints']] == ['turn']
    assert outcome['results'][0]['reached']['position'][2] == pytest.approx(
        0.2 - 0.3 * np.sin(1.0), abs=2e-5
    )


def test_sliding_joints_are_in_metres_and_unlimited_ones_have_no_margin(ik_solve, rail_urdf):
    words = [rail_urdf, '--tip-link', 'tool', '--joints', 0.5, 0.3]
    code, out, _ = ik_solve(*words, '--seed', 0.5, 0.2)
    assert code == 0
    assert re.search(
        r'^rail +0\.5000 m +0\.0000 … +0\.5000 m +(at the limit|0\.0000 m) ', out, re.MULTILINE
    )
    assert re.search(r'^turn +0\.3000 rad +17\.19°  none +\+5\.73°$', out, re.MULTILINE)


def test_joint_values_beyond_the_limits_are_named_and_need_not_be_reached(ik_solve):
    code, out, _ = ik_solve('panda', '--joints', 0, 45, 0, 0, 0, 0, 0)
    assert '--joints lies outside the limits of panda_joint2, panda_joint4' in ' '.join(
        out.split()
    )
    assert ('SUCCESS' in out) == (code == 0)


def test_a_target_far_out_of_reach_has_a_note_about_metres(ik_solve):
    code, out, _ = ik_solve('panda', '--xyz', 400, 100, 500)
    assert code == 1
    assert 'the target is 647.8 m from the first joint, and the arm is 1.09 m long' in out
    assert '--xyz is in metres' in out


def test_limits_may_be_ignored_and_how_far_beyond_is_said(ik_solve):
    words = ['panda', '--joints', 0, 0, 0, -2, 0, 4.5, 0, '--seed', 0, 0, 0, -2, 0, 4.4, 0]
    code, out, _ = ik_solve(*words, '--set', 'joint_limits=ignore')
    assert code == 0
    assert re.search(r'panda_joint6 .*rad beyond', out)
    assert 'panda_joint6, which are ignored' in out


def test_all_methods_are_compared(ik_solve):
    code, out, _ = ik_solve('ur5e', '--joints', 0.1, -1, 1.2, -0.3, 0.9, 0.2, '--solver', 'all')
    assert code == 0
    for name in iks.solver_names():
        assert re.search(rf'^{name} +(solved|[A-Z_]+) +\S+ \w+ ', out, re.MULTILINE)


@pytest.fixture
def panel():
    return Figure().subfigures(1, 1)


@pytest.mark.parametrize(
    'words',
    [
        ['panda', '--random', '1'],
        ['planar_6r', '--xyz', '-0.3', '0.2', '0', '--position-only'],
        ['panda', '--xyz', '0', '0', '50'],
        ['ur5e', '--random', '7', '--solver', 'all'],
    ],
    ids=['in space', 'planar', 'far away', 'all methods'],
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


def test_a_picture_that_cannot_be_written_is_an_error_of_the_command(tmp_path, capsys):
    path = tmp_path / 'folder.png'
    path.mkdir()
    assert programs.ik_solve(['panda', '--random', '--plot', str(path)]) == 2
    assert f'--plot: {path} cannot be written: Is a directory' in capsys.readouterr().err


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


# All solutions of this pose that there are put a wrist link into the base.
INTO_THE_BASE = ['--joints', -1.43, 1.08, -0.78, -2.53, 0.75, 0.97, -2.51]
FEW = ['--set', 'max_searches=20']


@pytest.fixture(scope='module')
def checker():
    return iks.CollisionChecker(iks.Robot.from_urdf(urdf_path('panda')))


def test_the_answer_is_free_of_collisions_where_another_is_not(ik_solve, checker):
    turned = 0
    for seed in range(60):
        words = ('panda', '--random', seed, '--json')
        first = json.loads(ik_solve(*words)[1])['results'][0]
        if not checker.in_collision(first['q']):
            continue
        code, out, _ = ik_solve(*words, '--avoid-collisions')
        document = json.loads(out)
        (result,) = document['results']
        assert document['avoid_collisions'] is True
        assert (code == 0) == result['success'] == (result['collision'] is None)
        assert checker.in_collision(result['q']) == (not result['success'])
        turned += result['success']
    assert turned


def test_the_bodies_are_named_when_all_solutions_collide(ik_solve, checker):
    code, out, _ = ik_solve('panda', *INTO_THE_BASE, '--avoid-collisions', *FEW)
    assert code == 1
    assert 'IN_COLLISION: only colliding solutions were found' in out
    (line,) = (line for line in out.splitlines() if line.startswith('Collision'))
    code, out, _ = ik_solve('panda', *INTO_THE_BASE, '--avoid-collisions', *FEW, '--json')
    (result,) = json.loads(out)['results']
    assert result['status'] == 'IN_COLLISION'
    assert line.split()[1:] == [result['collision'][0], 'and', result['collision'][1]]
    assert tuple(result['collision']) in checker.contacts(result['q'])
    assert result['position_error_m'] < 1e-5


def test_without_the_option_nothing_is_checked(ik_solve):
    code, out, _ = ik_solve('panda', *INTO_THE_BASE)
    assert code == 0
    assert 'Collision' not in out


def test_a_robot_without_collision_shapes_has_a_note(ik_solve, rail_urdf):
    words = ('--tip-link', 'tool', '--random', '--position-only', '--avoid-collisions')
    code, out, _ = ik_solve(rail_urdf, *words)
    assert code == 0
    assert 'no link of the robot has a collision shape' in ' '.join(out.split())


def test_what_is_left_out_and_what_collides_at_home_is_told_by_names(ik_solve, tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(folding_arm_xml())
    words = (path, '--joints', '1.0', '2.3', '--set', 'task_weights=1,1,0,0,0,1')
    _, out, _ = ik_solve(*words, '--avoid-collisions')
    text = ' '.join(out.split())
    assert 'not checked with each other are adjacent: inner – post, inner – outer' in text
    assert 'post with outer' in text
    assert '<disable_collisions link1="post" link2="outer" reason="Default"/>' in text
    _, out, _ = ik_solve(*words)
    assert 'not checked' not in out
    assert 'disable_collisions' not in out


def test_is_for_one_solution(ik_solve):
    code, _, err = ik_solve('panda', '--random', '--all', '--avoid-collisions')
    assert code == 2
    assert '--avoid-collisions is for one solution' in err
