"""What the program refuses, and what it says then."""

import sys

import pytest


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        ([], 'the following arguments are required: URDF'),
        (['panda'], 'one of the arguments --xyz --joints --random --path is required'),
        (['panda', '--xyz', '1', '2'], '--xyz: expected 3 arguments'),
        (['panda', '--xyz', 'nan', '0', '0'], "--xyz: 'nan' is no number"),
        (['panda', '--xyz', '0', '1e308', '0'], "--xyz: '1e308' is no number up to 1e+09"),
        (['panda', '--random', '--joints', '0'], 'not allowed with argument'),
        (['panda', '--random', '--tip', 'hand'], "no option '--tip'; closest: --tip-link"),
        (['panda', '--random', '0', 'hand'], 'unrecognized arguments: hand'),
        (['panda', '--random', '-1'], "'-1' is no whole number of at least 0"),
        (['--random', 'panda'], 'the URDF comes first'),
        (['panda', '--random', '--rpy', '0', '0', '0'], '--rpy goes with --xyz'),
        (['panda', '--joints', '1', '2', '3'], '--joints needs 7 values [rad or m], not 3: one'),
        (['panda', '--random', '--seed', '1'], '--seed needs 7 values [rad or m], not 1: one'),
        (['panda', '--random', '--seed', 'nan'], "--seed: 'nan' is no number"),
        (['pandas', '--random'], 'of our own arms none has that name: panda, planar_6r'),
        (['', '--random'], "there is no file ''"),
        (['panda', '--random', '--tip-link', 'nose'], "unknown link 'nose'; valid: panda_link0"),
        (['panda', '--random', '--tip-link', 'panda_link0'], 'no joint moves between'),
        (['panda', '--random', '--solver', 'magic'], "'levenberg_marquardt'"),
        (['panda', '--random', '--all', '--solver', 'ccd'], '--solver is for one solution'),
        (['panda', '--random', '--all', '--trace'], '--trace is for one solution'),
        (['panda', '--random', '--all', '--plot', 'a.png'], '--plot is for one solution'),
        (['panda', '--random', '--all', '--resolution', '0'], 'resolution: has to be a number'),
        (['panda', '--random', '--all', '--set', 'damping=1'], 'damping: is not used by solve_ik'),
        (['panda', '--random', '--resolution', '1'], '--resolution goes with --all'),
        (['panda', '--random', '--set', 'magic=1'], "unknown option 'magic'; valid: position_to"),
        (['panda', '--random', '--set', 'timeout'], '--set takes OPTION=VALUE'),
        (['panda', '--random', '--set', 'timeout=-1'], 'timeout: has to be a number above 0'),
        (['panda', '--random', '--set', 'step_gain=1'], 'step_gain: is not used by levenberg'),
        (['panda', '--random', '--lock', 'panda_joint1'], '--lock takes JOINT=VALUE [rad or m]'),
        (['panda', '--random', '--lock', 'panda_joint1=9'], 'outside its limits'),
        (['panda', '--random', '--lock', 'nose=0'], "unknown joint 'nose'; valid: panda_joint1"),
        (
            ['panda', '--random', '--lock', 'panda_joint1=0', 'panda_joint1=1'],
            '--lock names panda_joint1 twice',
        ),
        (
            ['panda', '--xyz', '0', '0', '1', '--quaternion', '0', '0', '0', '0'],
            '--quaternion: is the zero quaternion',
        ),
        (
            ['panda', '--random', '--position-only', '--set', 'task_weights=1,1,1,0,0,0'],
            'contradict each other',
        ),
        (
            ['panda', '--xyz', '0', '0', '1', '--set', 'task_weights=1,1,1,1,1,0'],
            'need an orientation: --rpy or --quaternion',
        ),
        (['panda', '--random', '--trace', '--solver', 'all'], '--trace shows one method'),
        (['panda', '--random', '--plot', 'x.pdf'], '--plot: the file has to end in .png'),
        (['panda', '--random', '--plot', 'no/such/x.png'], "--plot: there is no folder 'no/such'"),
    ],
)
def test_an_invalid_command_is_reported_with_the_valid_form(ik_solve, words, message):
    code, out, err = ik_solve(*words)
    assert code == 2
    assert out == ''
    assert err.startswith('ik_solve: ')
    assert message in err


def test_a_robot_with_two_equal_arms_begins_with_the_first_and_says_so(ik_solve):
    code, out, _ = ik_solve('upper_body', '--random')
    assert code == 0
    assert '→ left_grip' in out
    words = ' '.join(out.split())
    assert "Note equal arms are the groups 'left_arm' and 'right_arm': the first is" in words


def test_a_robot_with_several_leaves_lists_them(ik_solve, two_arms_urdf):
    code, _, err = ik_solve(two_arms_urdf, '--random')
    assert code == 2
    assert 'left, right (--tip-link)' in err


@pytest.mark.parametrize('before', [[], ['panda', '--srdf']], ids=['URDF', 'SRDF'])
def test_an_invalid_description_is_reported_with_its_path(ik_solve, tmp_path, before):
    path = tmp_path / 'robot.xml'
    path.write_text('<robot')
    code, _, err = ik_solve(*before, path, '--random')
    assert code == 2
    assert 'not well-formed' in err
    assert str(path) in err


def test_a_file_is_read_even_if_an_arm_of_ours_has_its_name(
    ik_solve, rail_urdf, tmp_path, monkeypatch
):
    rail_urdf.rename(tmp_path / 'panda')
    monkeypatch.chdir(tmp_path)
    code, out, _ = ik_solve('panda', '--tip-link', 'tool', '--random')
    assert code == 0
    assert 'Robot     test: 2 joints' in out


def test_ctrl_c_ends_it_without_a_traceback(ik_solve, monkeypatch):
    def interrupt(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr('ik_service.cli.solve.main.solve_request', interrupt)
    code, _, err = ik_solve('panda', '--random')
    assert code == 130
    assert err.strip() == 'stopped'


def test_without_matplotlib_a_picture_is_refused_before_anything_is_solved(
    ik_solve, monkeypatch, tmp_path
):
    monkeypatch.setitem(sys.modules, 'matplotlib', None)
    code, out, err = ik_solve('panda', '--random', '--plot', tmp_path / 'x.png')
    assert code == 2
    assert out == ''
    assert "pip install 'ik_service[plot]'" in err
    assert not (tmp_path / 'x.png').exists()
