"""Places for a base from the command line: what is printed, written, drawn and refused."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from support.chains import arm
from support.robots import SCARA

from ik_service.cli import programs
from ik_service.extras.reach import capability_map, InverseMap
from ik_service.extras.scale import ChainSpec

HEAD = 'x,y,z,roll,pitch,yaw\n'


@pytest.fixture
def ik_place(capsys):
    """Runs the program in this process; returns the exit code, its output, and its errors."""

    def run(*words):
        code = programs.ik_place([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def poses(tmp_path):
    """File of three poses above a table."""
    path = tmp_path / 'poses.csv'
    path.write_text(HEAD + ''.join(f'{x},0.1,0.3,180,0,0\n' for x in (0.0, 0.1, 0.2)))
    return path


@pytest.fixture
def far_poses(tmp_path):
    """File of three poses, of which one is far from the others."""
    path = tmp_path / 'far.csv'
    path.write_text(HEAD + ''.join(f'{x},0.1,0.3,180,0,0\n' for x in (0.0, 0.1, 5.0)))
    return path


def pose_at(x):
    T = np.eye(4)
    T[:3, 3] = x, 0.3, 0.1
    return T


def test_places_are_printed_and_written(poses, tmp_path, ik_place):
    output = tmp_path / 'places.json'
    code, out, err = ik_place('panda', poses, '--candidates', 300, '--output', output)
    assert code == 0, err
    assert 'all 3 poses are reached from each of 5 places' in out
    assert 'any heading' in out
    assert out.endswith(f'Places    {output}\n')
    written = json.loads(output.read_text())
    assert written['solved'] is True
    assert len(written['places']) == 5
    chain = arm('panda')
    for found in written['places']:
        for T_world_tip, pose in zip(written['poses']['T_world_tip'], found['poses'], strict=True):
            assert pose['status'] == 'SUCCESS'
            T = np.array(found['T_world_base']) @ chain.forward(pose['q'])
            np.testing.assert_allclose(T, T_world_tip, atol=5e-5)


def test_poses_that_are_not_reached_are_listed_with_their_distance(far_poses, ik_place):
    code, out, _ = ik_place('panda', far_poses, '--candidates', 300, '--best', 2)
    assert code == 1
    assert 'no place was found that reaches all poses; the best reaches 2 of 3' in out
    row = next(line for line in out.splitlines() if 'x 5.000' in line)
    assert row.split()[0] == '3'
    assert 'the target lies outside the reach of the chain' in row


def test_an_arm_of_few_joints_is_told_to_reach_poses_from_exact_places_only(far_poses, ik_place):
    locked = '--lock', 'panda_joint3=0.3', 'panda_joint5=0.2'
    five = 'panda', far_poses, '--candidates', 100, *locked
    _, out, _ = ik_place(*five)
    assert 'no pose is reached from any of these places' in out
    assert '5 joints cannot meet 6 conditions at will' in ' '.join(out.split())
    _, out, _ = ik_place(*five, '--position-only')
    assert 'the best reaches 2 of 3' in out
    assert 'conditions' not in out


def test_one_place_is_checked(poses, ik_place):
    words = ('--region', -0.3, -0.3, 0.1, 0.1, '--height', 0.1, '--yaw', 90, '--json')
    code, out, _ = ik_place('panda', poses, *words)
    found = json.loads(out)
    assert code == 0
    assert found['candidates']['count'] == 1
    (only,) = found['places']
    assert [only['x'], only['y'], only['z']] == [-0.3, 0.1, 0.1]
    assert only['yaw'] == pytest.approx(math.pi / 2)


def test_an_arm_hangs_from_the_ceiling(poses, ik_place):
    words = ('--mounting', 'ceiling', '--height', 1.1, '--candidates', 300, '--json')
    code, out, _ = ik_place('panda', poses, *words)
    assert code == 0
    for found in json.loads(out)['places']:
        np.testing.assert_allclose(np.array(found['T_world_base'])[:3, 2], [0, 0, -1], atol=1e-9)
    _, out, _ = ik_place('panda', poses, *words[:-1])
    assert 'mounted at roll, pitch, yaw 180.0, 0.0, 0.0°' in ' '.join(out.split())


def test_quaternions_are_normalised_and_positions_may_stand_alone(tmp_path, ik_place):
    longer = tmp_path / 'longer.csv'
    longer.write_text('x,y,z,qx,qy,qz,qw\n0,0,0.4,2,0,0,0\n')
    code, out, _ = ik_place('panda', longer, '--candidates', 100)
    assert code == 0
    assert 'are normalised' in out
    alone = tmp_path / 'alone.csv'
    alone.write_text('x,y,z\n0,0,0.4\n')
    code, out, _ = ik_place('panda', alone, '--candidates', 100)
    assert code == 0
    assert 'in any orientation' in ' '.join(out.split())


def test_places_are_compared_with_a_map(tmp_path, ik_place):
    pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
    urdf = tmp_path / 'scara.urdf'
    urdf.write_text(SCARA)
    found = capability_map(
        ChainSpec.of(urdf), tmp_path / 's', spacing=0.1, orientations=4, progress=False
    )
    found.save(tmp_path / 'map.zarr')
    InverseMap.of(found).save(tmp_path / 'inverse.zarr')
    path = tmp_path / 'poses.npy'
    np.save(path, [pose_at(x) for x in (0.0, 0.2)])
    outputs = []
    for name in ('map.zarr', 'inverse.zarr'):
        code, out, err = ik_place(urdf, path, '--map', tmp_path / name, '--candidates', 500)
        assert code == 0, err
        assert 'with the map' in out
        outputs.append(out)
    assert outputs[0] == outputs[1]
    code, _, err = ik_place('panda', path, '--map', tmp_path / 'map.zarr')
    assert code == 2
    assert 'is that of another arm' in err


@pytest.mark.parametrize('name', ['poses', 'far_poses'])
def test_places_are_drawn(name, request, tmp_path, ik_place):
    pytest.importorskip('matplotlib', reason='matplotlib is not installed (extra plot)')
    file = tmp_path / 'places.png'
    words = ('--candidates', 200, '--plot', file)
    _, out, err = ik_place('panda', request.getfixturevalue(name), *words)
    assert err == ''
    assert out.endswith(f'Plot      {file}\n')
    assert file.read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--region', 1, 0, 0, 1), 'x: ends at 0 before it begins, at 1'),
        (('--region', 'nan', 1, 0, 1), 'is no number'),
        (('--polygon', 0, 0, 1, 1), '--polygon takes three pairs'),
        (('--height', 0, 1, 2), '--height takes one or two numbers'),
        (('--mounting', 'moon'), '--mounting takes floor, ceiling, wall'),
        (('--best', 0), 'is no whole number of at least 1'),
        (('--map', 'nowhere.zarr'), 'is no inverse map'),
        (('--plot', 'places.pdf'), '--plot: the file has to end in .png'),
        (('--output', 'nowhere/places.json'), '--output: there is no folder'),
        (('--position-only', '--set', 'task_weights=1,1,1,0,0,1'), 'contradict each other'),
    ],
)
def test_wrong_commands_are_explained(words, message, poses, ik_place):
    code, out, err = ik_place('panda', poses, *words)
    assert code == 2
    assert out == ''
    assert message in err
    assert 'ik_place --help' in err


def test_wrong_files_are_named(tmp_path, ik_place):
    file = tmp_path / 'wrong.csv'
    file.write_text('x,y\n0,0\n')
    code, _, err = ik_place('panda', file)
    assert code == 2
    assert f'POSES: {file}, line 1 has no column z' in err


def test_a_file_without_orientations_needs_a_task_without(tmp_path, ik_place):
    file = tmp_path / 'alone.csv'
    file.write_text('x,y,z\n0,0,0.4\n')
    code, _, err = ik_place('panda', file, '--set', 'task_weights=1,1,1,0,0,1')
    assert code == 2
    assert 'need an orientation' in err
