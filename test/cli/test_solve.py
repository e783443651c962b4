"""The program as a whole: what it prints, how it ends, and solutions free of collisions."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.solids import folding_arm_xml

import ik_service as iks
from ik_service.common.resources import urdf_path

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
    code, out, err = ik_solve('panda', '--xyz', 400, 100, 500)
    assert (code, err) == (1, '')
    assert 'UNREACHABLE' in out
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


# All solutions of this pose that there are put a wrist link into the base.
INTO_THE_BASE = ['--joints', -1.43, 1.08, -0.78, -2.53, 0.75, 0.97, -2.51]
FEW = ['--set', 'max_searches=20']


@pytest.fixture(scope='module')
def checker():
    pytest.importorskip('coal', reason='Coal comes with the extra collision')
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
    code, out, _ = ik_solve('panda', *INTO_THE_BASE)
    assert code == 0, 'nothing is checked without the option'
    assert 'Collision' not in out


@pytest.mark.usefixtures('checker')
def test_a_robot_without_collision_shapes_has_a_note(ik_solve, rail_urdf):
    words = ('--tip-link', 'tool', '--random', '--position-only', '--avoid-collisions')
    code, out, _ = ik_solve(rail_urdf, *words)
    assert code == 0
    assert 'no link of the robot has a collision shape' in ' '.join(out.split())


@pytest.mark.usefixtures('checker')
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
