"""Every example runs as a program of its own, and prints what the page of the examples shows."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY

PAGE = (REPOSITORY / 'docs' / 'examples.md').read_text(encoding='utf-8')
EXAMPLES = sorted((REPOSITORY / 'examples').glob('[0-9]*.py'))
LONGEST = 80  # lines


def run(number, folder, *arguments):
    """Run an example in a folder, and return what it printed, which is what the page shows."""
    (path,) = (path for path in EXAMPLES if path.name.startswith(number))
    ended = subprocess.run(
        [sys.executable, path, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, 'PYTHONPATH': str(REPOSITORY), 'MPLBACKEND': 'Agg'},
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    if not arguments and number != '07':  # that prints as many lines as it has time for
        expected = shape(shown(number))
        assert shape(ended.stdout) == expected, 'run: python docs/write_examples.py'
    return ended.stdout


def shown(number):
    """Return what the page of the examples shows as the output of one."""
    return re.search(rf'<!-- output {number} -->\n```text\n(.*?)```', PAGE, re.DOTALL)[1]


def numbers(pattern, text):
    """Return the number that each match of a pattern captures."""
    return [float(number) for number in re.findall(pattern, text)]


def shape(text):
    """Return a text without its numbers, which differ from machine to machine."""
    text = re.sub(r'-?\d+(\.\d*)?(e[-+]?\d+)?', '#', text.replace('searches', 'search'))
    return [line.split() for line in text.splitlines()]


@pytest.mark.parametrize('path', EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short_and_on_the_page(path):
    assert len(path.read_text(encoding='utf-8').splitlines()) < LONGEST
    assert f'(../examples/{path.name})' in PAGE
    assert shown(path.name[:2])


def test_the_examples_are_numbered_without_a_gap():
    assert [path.name[:2] for path in EXAMPLES] == [f'{n + 1:02}' for n in range(len(EXAMPLES))]


def test_forward_kinematics_and_jacobian_agree(tmp_path):
    text = run('01', tmp_path)
    (moved,) = re.findall(r'tool moves by +\[(.*)\] µm', text)
    (linear,) = re.findall(r'Jacobian says +\[(.*)\] µm', text)
    expected = [float(number) for number in moved.split()]
    assert [float(number) for number in linear.split()] == pytest.approx(expected, abs=0.002)
    assert numbers(r'stretched arm: (.*)', text) == [0.0]


def test_inverse_kinematics_solves_and_says_what_is_out_of_reach(tmp_path):
    import ik_service as iks

    text = run('02', tmp_path)
    assert 'Solved: True' in text
    assert 'Two metres up: UNREACHABLE' in text
    (error,) = numbers(r'difference to the target: (.*)', text)
    assert error < 1e-5
    for name in iks.solver_names():
        assert re.search(rf'^{name} +reached within', text, re.MULTILINE), name


def test_free_axes_are_free(tmp_path):
    near, far = run('03', tmp_path).split('20 cm farther')
    assert near.count(' True ') == 4
    motions = numbers(r'(\d\.\d\d)\n', near)
    assert motions == sorted(motions, reverse=True)
    assert re.search(r'full pose +no search reached', far)
    assert re.search(r'position only +reached within', far)


def test_the_batch_shows_its_progress_and_leaves_a_plot(tmp_path):
    pytest.importorskip('matplotlib')
    pytest.importorskip('tqdm')
    text = run('04', tmp_path)
    (reached, total), *_ = re.findall(r'(\d+) of (\d+) reached', text)
    assert 2000 < int(reached) < int(total)
    assert (tmp_path / '04_batch.png').stat().st_size > 10_000


def test_the_robot_of_ones_own(tmp_path):
    text = run('05', tmp_path)
    assert 'reached within' in text
    assert re.search(r'full pose: +no search reached', text)
    assert re.search(r'tilt free: +reached within', text)
    assert 'with shoulder locked: elbow, lift, spin' in text
    assert "UnknownLinkError: unknown link 'hand'" in text


def test_the_robot_of_ones_own_is_any_urdf(tmp_path):
    text = run('05', tmp_path, str(REPOSITORY / 'urdf' / 'ur5e.urdf'), 'base_link', 'tool0')
    assert "KinematicChain('base_link' → 'tool0', 6 joints" in text
    assert 'reached within' in text


@pytest.mark.dds
def test_the_client_of_compute_ik(ros_context, tmp_path):
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    text = run('06', tmp_path)
    assert numbers(r'error_code (-?\d+)', text) == [1, 1, -31]
    assert len(re.findall(r'^ +panda_joint\d +-?\d\.\d{4}$', text, re.MULTILINE)) == 3 * 7


@pytest.mark.dds
def test_the_client_with_a_box_in_the_way(ros_context, tmp_path):
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    pytest.importorskip('coal', reason='Coal is needed for collisions')
    text = run('11', tmp_path)
    assert numbers(r'error_code (-?\d+)', text) == [1, 1, -12]
    elbow, hand = re.findall(r'box touches (.*)', text)
    assert 'panda_link4' in elbow
    assert 'panda_hand' in hand


@pytest.mark.dds
def test_many_poses(ros_context, tmp_path):
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    pytest.importorskip('matplotlib')
    text = run('15', tmp_path)
    assert numbers(r'pose \d: error code (-?\d+)', text) == [1, -31, -16, 1]
    assert numbers(r'moved by more than (\d+) rad', text) == [0]
    assert (tmp_path / '15_many_poses.png').stat().st_size > 10_000


@pytest.mark.dds
@pytest.mark.slow
def test_the_moving_target_is_followed(ros_context, tmp_path):
    text = run('07', tmp_path)
    distances = numbers(r'([\d.]+) mm away', text)
    assert len(distances) > 6
    # A lap of 0.94 m in 6 s; a tenth of a second behind is 16 mm.
    assert sorted(distances)[len(distances) // 2] < 16.0


def test_an_example_for_ros_says_what_is_missing_without_it(tmp_path):
    (tmp_path / 'rclpy.py').write_text('raise ImportError("no rclpy here")')
    for number in ('06', '07', '11', '15', '17'):
        (path,) = (path for path in EXAMPLES if path.name.startswith(number))
        ended = subprocess.run(
            [sys.executable, path],
            capture_output=True,
            text=True,
            env={**os.environ, 'PYTHONPATH': f'{tmp_path}:{REPOSITORY}'},
            timeout=60,
        )
        assert ended.returncode == 1
        assert ended.stderr.startswith('This example needs ROS 2')
        assert 'Traceback' not in ended.stderr


@pytest.mark.slow
def test_the_solver_of_ones_own_is_a_solver_like_any_other(tmp_path):
    text = run('08', tmp_path)
    shares = dict(re.findall(r'^(\w+) +(\d+)%', text, re.MULTILINE))
    assert int(shares['momentum']) > 0
    assert int(shares['levenberg_marquardt']) >= 90


def test_solutions_free_of_collisions(tmp_path):
    pytest.importorskip('coal')
    text = run('10', tmp_path)
    ((solved, of, colliding),) = re.findall(r'without.*: (\d+) of (\d+) solved, (\d+) ', text)
    ((free, left),) = re.findall(r'with a test: +(\d+) solved, (\d+) collide', text)
    assert 0 < int(colliding) <= int(of)
    assert 0 < int(free) <= int(solved)
    assert int(left) == 0
    assert re.search(r"^IN_COLLISION \('\w+', 'table'\)", text, re.MULTILINE)
    assert re.findall(r'rod of [\d.]+ m: (\w+)', text) == ['SUCCESS', 'IN_COLLISION']


def test_the_follower_without_ros_keeps_its_limits(tmp_path):
    text = run('12', tmp_path)
    distances = numbers(r'([\d.]+) mm away', text)
    assert max(distances[1:]) < 4.0
    assert distances[-1] < 0.1
    assert text.count('away, REACHED') >= 1
    accelerations, jerks = numbers(r'([\d.]+) rad/s²', text), numbers(r'([\d.]+) rad/s³', text)
    assert np.less_equal(accelerations, [7.5, 4.0, 6.0]).all()
    assert max(jerks[1:]) <= 100.0


def test_the_trajectory_is_played_slower_canceled_and_refused(tmp_path):
    pytest.importorskip('matplotlib')
    text = run('13', tmp_path)
    runs = re.findall(r': ([\d.]+) m in ([\d.]+) s, at most ([\d.]+) mm', text)
    (full, fast, _), (same, slow, _), (less, soon, _) = np.array(runs, dtype=float)
    assert full == same == 0.3
    assert less < full
    assert soon < fast < slow
    assert max(float(off) for *_, off in runs) < 0.1
    assert 'is refused: ' in text
    assert (tmp_path / '13_trajectory.png').stat().st_size > 10_000


def test_the_map_of_what_an_arm_reaches(tmp_path):
    pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
    pytest.importorskip('matplotlib')
    text = run('14', tmp_path)
    ((reached, tried),) = re.findall(r'reaches (\d+) of (\d+) positions', text)
    assert 0 < int(reached) < int(tried)
    ((searched, given_up),) = re.findall(r'(\d+) of (\d+) poses without a solution', text)
    assert 0 < int(searched) <= int(given_up)
    assert 'after saving and loading: True' in text
    assert (tmp_path / '14_capability_map.png').stat().st_size > 10_000
    ((first, second, both),) = re.findall(r'Panda ([\d.]+) .*UR5e ([\d.]+) .*both ([\d.]+)', text)
    assert 0.0 < float(both) < min(float(first), float(second))


def test_the_motion_leads_around_the_box(tmp_path):
    pytest.importorskip('ompl', reason='OMPL is not installed (extra plan)')
    text = run('16', tmp_path)
    assert numbers(r'collisions on the way: (\d+)', text) == [0.0]
    assert numbers(r'(\d+) corners', text)[0] > 2


@pytest.mark.dds
def test_the_client_of_move_action(ros_context, tmp_path):
    pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')
    pytest.importorskip('ompl', reason='OMPL is not installed (extra plan)')
    text = run('17', tmp_path)
    assert numbers(r'error_code (-?\d+)', text) == [1, 1, -12]
