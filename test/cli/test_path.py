"""ik_solve for paths: files of poses, what is printed, written and drawn."""

import csv
import json

import numpy as np
import pytest
from support.chains import arm

from ik_service.cli.solve import path_file
from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.path_file import read_poses
from ik_service.common.transforms import rigid_transform, rotation_from_rpy

HOME = (0.0, -0.4, 0.1, -2.0, 0.0, 1.8, 0.8)
HEAD = 't,x,y,z,qx,qy,qz,qw\n'


@pytest.fixture
def line(tmp_path):
    """File of poses on a line of 10 cm, 20 mm a second."""
    return _file(tmp_path / 'line.csv', np.linspace(0.0, 0.1, 21))


@pytest.fixture
def far_line(tmp_path):
    """File of poses on a line that leaves the reach."""
    return _file(tmp_path / 'far.csv', np.linspace(0.0, 1.5, 201))


def _file(path, along):
    T = arm('panda').forward(HOME)
    rows = [f'{50 * way:.4f},{T[0, 3]:.6f},{way:.6f},{T[2, 3]:.6f},1,0,0,0\n' for way in along]
    path.write_text(HEAD + ''.join(rows))
    return path


def test_a_path_is_found_and_written(line, tmp_path, ik_solve):
    output = tmp_path / 'joints.csv'
    code, out, err = ik_solve('panda', '--path', line, '--output', output)
    assert code == 0, err
    assert 'Path      21 poses of' in out
    assert 'SUCCESS: every target is reached without a jump' in out
    assert '21 of 21 poses, 100 %' in out
    assert out.endswith(f'Joints    {output}\n')
    with output.open(newline='') as file:
        names, *rows = csv.reader(file)
    chain = arm('panda')
    assert names == ['t', *chain.joint_names]
    assert [float(row[0]) for row in rows[:2]] == [0.0, 0.25]
    q = np.array(rows, dtype=float)[:, 1:]
    tips = np.array([chain.forward(row)[:3, 3] for row in q])
    np.testing.assert_allclose(tips[:, 1], np.linspace(0.0, 0.1, 21), atol=2e-5)
    assert np.abs(np.diff(q, axis=0)).max() < 0.1


def test_times_and_velocities(line, tmp_path, ik_solve):
    output = tmp_path / 'joints.csv'
    _, out, _ = ik_solve('panda', '--path', line, '--timing', '0.5', '--output', output)
    assert 'Duration  ' in out
    with output.open(newline='') as file:
        names, *rows = csv.reader(file)
    chain = arm('panda')
    velocities = [f'{name}_velocity' for name in chain.joint_names]
    assert names == ['t', *chain.joint_names, *velocities]
    values = np.array(rows, dtype=float)
    assert (np.diff(values[:, 0]) > 0).all()
    np.testing.assert_array_equal(values[[0, -1], 8:], 0.0)
    assert (np.abs(values[:, 8:]) <= 0.5 * chain.velocity + 1e-9).all()
    assert np.abs(values[:, 8:]).max() > 0.01


def test_a_path_that_ends_early_says_where_and_why(far_line, tmp_path, ik_solve):
    output = tmp_path / 'joints.csv'
    code, out, _ = ik_solve('panda', '--path', far_line, '--json', '--output', output)
    answer = json.loads(out)
    assert code == 1
    assert not answer['solved']
    assert 0.2 < answer['fraction'] < 1.0
    assert answer['ending']['row'] == answer['reached'] == len(answer['q'])
    assert answer['ending']['status'] != 'SUCCESS'
    assert len(output.read_text().splitlines()) == answer['reached'] + 1


def test_start_and_end_are_those_given(line, ik_solve):
    _, out, _ = ik_solve('panda', '--path', line, '--json')
    q = json.loads(out)['q']
    words = ['--seed', *q[0], '--end', *q[-1]]
    code, out, _ = ik_solve('panda', '--path', line, '--json', *words)
    answer = json.loads(out)
    assert code == 0
    np.testing.assert_allclose(answer['q'][0], q[0], atol=1e-4)
    np.testing.assert_allclose(answer['q'][-1], q[-1], atol=1e-4)


def test_a_seed_that_is_far_away_is_no_start(line, ik_solve):
    far = ['--seed', '1.5', '1', '-1', '-1', '1', '1', '-1']
    code, out, _ = ik_solve('panda', '--path', line, *far)
    assert code == 1
    assert 'target 0 is not reached' in out
    code, out, _ = ik_solve('panda', '--path', line, *far, '--start', 'free')
    assert code == 0
    assert 'best near the seed' in out


def test_orientation_is_free_where_there_is_none(tmp_path, ik_solve):
    path = tmp_path / 'positions.csv'
    path.write_text('x,y,z\n0.4,0,0.4\n0.4,0.01,0.4\n')
    code, out, _ = ik_solve('panda', '--path', path)
    assert code == 0
    assert 'any orientation' in out
    code, _, err = ik_solve('panda', '--path', path, '--set', 'task_weights=1,1,1,1,1,1')
    assert code == 2
    assert 'need an orientation' in err


def test_one_pose_is_a_path(tmp_path, ik_solve):
    path = tmp_path / 'few.csv'
    path.write_text('x,y,z\n0.4,0,0.4\n')
    code, out, _ = ik_solve('panda', '--path', path)
    assert code == 0
    assert '1 of 1 poses, 100 %' in out


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['--random', '--output', 'a.csv'], '--output goes with --path'),
        (['--random', '--max-step', '0.2'], '--max-step goes with --path'),
        (['--path', 'LINE', '--all'], '--all is for one pose'),
        (['--path', 'LINE', '--solver', 'ccd'], '--solver is for one pose'),
        (['--path', 'LINE', '--rpy', '0', '0', '0'], '--rpy goes with --xyz'),
        (['--path', 'LINE', '--start', 'given'], '--start given needs a --seed'),
        (['--path', 'LINE', '--timing', '2'], '--timing: a share above 0, at most 1, not 2'),
        (['--path', 'LINE', '--output', 'a.txt'], 'has to end in .csv'),
        (['--path', 'LINE', '--output', 'none/a.csv'], "there is no folder 'none'"),
        (['--path', 'LINE', '--output', 'LINE'], 'line.csv is the file of the poses'),
        (['--path', 'LINE', '--max-step', '-1'], 'max_step: has to be'),
        (['--path', 'LINE', '--set', 'damping=1'], 'damping: is not used by paths'),
        (['--path', 'LINE', '--seed', '1', '2'], '--seed needs 7 values'),
        (['--path', 'LINE', '--end', '1', '2'], '--end needs 7 values'),
        (['--path', 'LINE', '--end', 'nowhere'], 'nowhere'),
        (['--path', 'none.csv'], 'none.csv cannot be read'),
    ],
)
def test_an_invalid_command_is_told(line, ik_solve, words, message):
    code, out, err = ik_solve('panda', *(line if word == 'LINE' else word for word in words))
    assert code == 2
    assert out == ''
    assert message in err


@pytest.mark.filterwarnings('error::UserWarning', 'error::RuntimeWarning')
def test_the_picture_shows_limits_near_by_steps_and_the_end(far_line, tmp_path, ik_solve):
    pytest.importorskip('matplotlib', reason='pictures need Matplotlib')
    from matplotlib.image import imread

    picture = tmp_path / 'path.png'
    assert ik_solve('panda', '--path', far_line, '--plot', picture)[0] == 1
    image = imread(picture)
    assert image.shape[0] > 700
    assert image.shape[1] > 1500
    for part in np.array_split(image[:, :, :3], 3, axis=1):
        assert (part.min(axis=2) < 0.5).mean() > 0.002


TURNED = rigid_transform(rotation_from_rpy(0.1, 0.2, 0.3), (1.0, 2.0, 3.0))


def written(folder, text, name='poses.csv'):
    path = folder / name
    path.write_text(text)
    return path


def test_positions_and_quaternions(tmp_path):
    read = read_poses(written(tmp_path, 'x,y,z,qx,qy,qz,qw\n1,2,3,0,0,0,1\n0,0,0,1,0,0,0\n'))
    np.testing.assert_array_equal(read.poses[0, :3, 3], [1, 2, 3])
    np.testing.assert_allclose(read.poses[1, :3, :3], np.diag([1, -1, -1]))
    assert read.turned
    assert read.times is None
    assert read.notes == ()


def test_angles_are_degrees_about_fixed_axes(tmp_path):
    read = read_poses(written(tmp_path, 'x,y,z,roll,pitch,yaw\n0,0,0,10,20,30\n'))
    expected = rotation_from_rpy(*np.radians([10, 20, 30]))
    np.testing.assert_allclose(read.poses[0, :3, :3], expected)


def test_angles_that_look_like_radians_are_told(tmp_path):
    read = read_poses(written(tmp_path, 'x,y,z,roll,pitch,yaw\n0,0,0,3.14,0,1.57\n'))
    assert 'are read as degrees' in read.notes[0]


def test_any_order_separator_comment_and_case(tmp_path):
    text = '\ufeff# by hand\n\nT;Z;Y;X;speed\n0;3;2;1;9\n\n0.5;6;5;4;9\n'
    read = read_poses(written(tmp_path, text))
    np.testing.assert_array_equal(read.poses[:, :3, 3], [[1, 2, 3], [4, 5, 6]])
    np.testing.assert_array_equal(read.times, [0.0, 0.5])
    assert not read.turned
    assert read.notes == ('columns that are not used: speed',)


def test_quaternions_of_another_length_are_normalised(tmp_path):
    read = read_poses(written(tmp_path, 'x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,1\n0,0,0,0,0,3,4\n'))
    np.testing.assert_allclose(read.poses[1, 0, :2], [0.28, -0.96])
    assert '1 of 2: line 3 has 5' in read.notes[0]


def test_matrices(tmp_path):
    poses = np.array([np.eye(4), TURNED])
    np.save(tmp_path / 'poses.npy', poses)
    text = written(tmp_path, json.dumps(poses.tolist()), 'poses.json')
    for path in (tmp_path / 'poses.npy', text):
        read = read_poses(path)
        np.testing.assert_allclose(read.poses, poses)
        assert read.turned


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('', 'is empty'),
        ('x,y,z\n', 'poses.csv holds no pose'),
        ('t,x,y,z,roll,pitch,yaw\n# the first one\n', 'holds no pose'),
        ('x,y\n1,2\n', 'line 1 has no column z'),
        ('1,2,3\n', 'line 1 has no column x'),
        ('x,y,z,qx\n', 'line 1 has no column qy'),
        ('x,y,z,x\n', 'line 1: column x stands twice'),
        ('x,y,z,qx,qy,qz,qw,roll,pitch,yaw\n', 'exclude each other'),
        ('x,y,z\n1,2,3\n1,2\n', 'line 3 has 2 cells, and the first one names 3 columns'),
        ('x,y,z\n1,2,3\n\n1,two,3\n', 'line 4, column y: a number up to 1e+09 is needed'),
        ('x,y,z\n1,2,nan\n', 'line 2, column z: a number'),
        ('x,y,z\n1,2,inf\n', 'line 2, column z: a number'),
        ('x,y,z\n1,2,\n', 'line 2, column z: a number'),
        ('x,y,z,qx,qy,qz,qw\n0,0,0,0,0,0,0\n', 'line 2, column qx, qy, qz, qw: is the zero'),
        ('t,x,y,z\n0,0,0,0\n1,0,0,0\n1,0,0,0\n', 'line 4, column t: is no later than the line'),
    ],
)
def test_what_is_wrong_is_named(tmp_path, text, message):
    with pytest.raises(UsageError) as caught:
        read_poses(written(tmp_path, text))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ('name', 'text', 'message'),
    [
        ('a.json', '[[1, 2', r'a\.json is no JSON: .*line 1 column 7'),
        ('a.json', '[1, 2]', 'poses'),
        ('a.json', '{}', r'holds no matrices \(N, 4, 4\): .* lists of rows of numbers$'),
        ('a.npy', 'no array', r'holds no matrices .* as numpy\.save writes it$'),
        ('a.json', json.dumps([(2 * np.eye(4)).tolist()]), 'poses'),
    ],
)
def test_matrices_that_are_none(tmp_path, name, text, message):
    with pytest.raises(UsageError, match=message):
        read_poses(written(tmp_path, text, name))


def test_an_array_with_a_damaged_header_is_refused(tmp_path):
    file = tmp_path / 'a.npy'
    np.save(file, np.eye(4)[None])
    file.write_bytes(file.read_bytes().replace(b')', b'(', 1))  # its shape
    with pytest.raises(UsageError, match='holds no matrices'):
        read_poses(file, 'POSES')


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / 'none.csv'):
        with pytest.raises(UsageError, match='cannot be read'):
            read_poses(path)
    (tmp_path / 'a.csv').write_bytes(b'x,y,z\n\xff\xfe')
    with pytest.raises(UsageError, match='is not UTF-8 text'):
        read_poses(tmp_path / 'a.csv')


def test_more_poses_than_can_be_held(tmp_path, monkeypatch):
    monkeypatch.setattr(path_file, 'MOST_POSES', 2)
    read_poses(written(tmp_path, 'x,y,z\n' + '0,0,0\n' * 2))
    with pytest.raises(UsageError, match='more than 2 poses'):
        read_poses(written(tmp_path, 'x,y,z\n' + '0,0,0\n' * 3))
