"""Files of poses: what is read, and what is said where that cannot be."""

import json

import numpy as np
import pytest

from ik_service.cli.solve import path_file
from ik_service.cli.solve.options import UsageError
from ik_service.cli.solve.path_file import read_poses
from ik_service.common.transforms import rigid_transform, rotation_from_rpy

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
        ('a.json', '[[1, 2', 'holds no matrices'),
        ('a.json', '[1, 2]', 'poses'),
        ('a.json', '{}', 'holds no matrices'),
        ('a.npy', 'no array', 'holds no matrices'),
        ('a.json', json.dumps([(2 * np.eye(4)).tolist()]), 'poses'),
    ],
)
def test_matrices_that_are_none(tmp_path, name, text, message):
    with pytest.raises(UsageError, match=message):
        read_poses(written(tmp_path, text, name))


def test_files_that_cannot_be_read(tmp_path):
    for path in (tmp_path, tmp_path / 'none.csv'):
        with pytest.raises(UsageError, match='cannot be read'):
            read_poses(path)
    (tmp_path / 'a.csv').write_bytes(b'x,y,z\n\xff\xfe')
    with pytest.raises(UsageError, match='no text in UTF-8'):
        read_poses(tmp_path / 'a.csv')


def test_more_poses_than_can_be_held(tmp_path, monkeypatch):
    monkeypatch.setattr(path_file, 'MOST_POSES', 2)
    read_poses(written(tmp_path, 'x,y,z\n' + '0,0,0\n' * 2))
    with pytest.raises(UsageError, match='more than 2 poses'):
        read_poses(written(tmp_path, 'x,y,z\n' + '0,0,0\n' * 3))
