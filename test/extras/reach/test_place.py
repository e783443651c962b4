"""Inverse reachability maps, and the program ik_place that uses them."""

import json
import math
import re

import numpy as np
import pytest
from support.chains import arm
from support.robots import GANTRY, SCARA, TWO_LINKS

from ik_service.cli import programs
from ik_service.common.resources import urdf_path
from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.reach import capability_map, InverseMap, place, Region, search_places
from ik_service.extras.reach.inverse_map import tip_poses
from ik_service.extras.scale import ChainSpec

zarr = pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')


def survey(spec, folder, **arguments):
    return capability_map(spec, folder / 's', progress=False, **arguments)


@pytest.fixture(scope='module')
def scara_map(tmp_path_factory):
    folder = tmp_path_factory.mktemp('scara')
    return survey(ChainSpec.of(SCARA), folder, spacing=0.1, orientations=6)


@pytest.fixture(scope='module')
def scara(scara_map):
    return InverseMap.of(scara_map)


@pytest.fixture(scope='module')
def panda(tmp_path_factory):
    spec = ChainSpec.of(urdf_path('panda'), 'panda_link0', 'panda_hand_tcp')
    folder = tmp_path_factory.mktemp('panda')
    return InverseMap.of(survey(spec, folder, spacing=0.3, orientations=6))


def test_a_scara_may_stand_on_a_ring_around_its_tip(scara):
    T = rigid_transform(rotation_from_rpy(0.0, 0.0, 0.7), (0.4, -0.2, 0.1))
    found = scara.query(T, headings=6)
    radius = np.hypot(*(found[:, :2] - T[:2, 3]).T)
    assert radius.min() > 0.1 - 0.1
    assert radius.max() < 0.7 + 0.1
    assert (found[:, 4] == 1.0).all()
    assert len(scara.query(T, base_height=0.5)) == 0
    with pytest.raises(ArgumentError, match='headings: has to be a whole number'):
        scara.query(T, headings=0)
    clear = Region((0.75, 0.75), (-0.2, -0.2))
    assert len(scara.query(T, clear, headings=6)) == 6


def test_places_of_the_base_are_reached_poses_turned_round(panda):
    bases, quality = panda.bases
    assert len(bases) == len(quality) == (panda.quality > 0.0).sum()
    assert ((quality > 0.0) & (quality <= 1.0)).all()
    chain = arm('panda')
    for T_tip_base in bases[:: len(bases) // 20]:
        T_base_tip = np.linalg.inv(T_tip_base)
        assert chain.arrays.reach[3] >= np.linalg.norm(T_base_tip[:3, 3] - chain.arrays.reach[:3])
        place_there = Region((0, 0), (0, 0), (0, 0), yaw=(0, 0))
        assert len(panda.query(T_base_tip, place_there)) == 1


def test_a_look_up_is_that_of_the_nearest_cell_and_rotation(panda):
    rng = np.random.default_rng(1)
    region = Region((-1, 1), (-1, 1), (-0.2, 0.2), mounting=(0.3, 0.2, 0.1))
    places = rng.uniform(region.lower, region.upper, (200, 4))
    poses = np.array(
        [
            rigid_transform(rotation_from_rpy(*rng.uniform(-3, 3, 3)), rng.uniform(-0.8, 0.8, 3))
            for _ in range(5)
        ]
    )
    seen = tip_poses(region.poses(places), poses).reshape(200, 5, 4, 4)
    cells = np.floor((seen[..., :3, 3] - panda.origin) / panda.spacing + 0.5).astype(int)
    shape = np.array(panda.quality.shape[:3])
    inside = ((cells >= 0) & (cells < shape)).all(axis=-1)
    turn = np.einsum('rij,ckij->ckr', panda.rotations, seen[..., :3, :3]).argmax(axis=-1)
    x, y, z = np.moveaxis(np.clip(cells, 0, shape - 1), -1, 0)
    for turned in (True, False):
        value = panda.quality[x, y, z, turn] if turned else panda.quality[x, y, z].max(axis=-1)
        value = np.where(inside, value, 0.0)
        scores = panda.scores(region, places, poses, turned)
        np.testing.assert_allclose(scores.share, (value > 0.0).mean(axis=1))
        least = np.where(value > 0.0, value, np.inf).min(axis=1)
        np.testing.assert_allclose(scores.quality, np.where(np.isfinite(least), least, 0.0))
    assert 0.0 < scores.share.mean() < 1.0


def test_what_a_map_finds_is_solved_for(panda):
    chain = arm('panda')
    q = chain.middle + 0.3 * np.random.default_rng(0).uniform(-1, 1, (5, 7))
    poses = np.array([chain.forward(row) for row in q])
    region = Region((-0.3, 0.3), (-0.3, 0.3))
    by_map = search_places(panda, poses, region=region, candidates=2000)
    by_solves = search_places(panda.spec, poses, region=region, candidates=500)
    assert by_map.best.share == by_solves.best.share == 1.0
    for pose, row in zip(poses, by_map.best.q, strict=True):
        T = by_map.best.T_world_base @ chain.forward(row)
        np.testing.assert_allclose(T, pose, atol=5e-5)


def test_a_map_for_whole_poses_tells_about_positions(panda):
    pose = rigid_transform(position=(0.3, 0.0, 0.5))
    options = {**vars(panda.spec.options), 'task_weights': (1, 1, 1, 0, 0, 0)}
    found = place(panda, [pose], candidates=500, options=type(panda.spec.options)(**options))
    assert found[0].share == 1.0


def test_a_map_comes_back_from_its_file(scara, tmp_path):
    path = tmp_path / 'scara.zarr'
    scara.save(path)
    scara.save(path)  # replaces it
    loaded = InverseMap.load(path)
    assert loaded.spec == scara.spec
    assert loaded.spacing == scara.spacing
    for name in ('origin', 'rotations', 'quality'):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(scara, name))
    assert [each.name for each in tmp_path.iterdir()] == ['scara.zarr']
    with pytest.raises(ValueError, match='read-only'):
        loaded.quality[0, 0, 0, 0] = 1.0


def test_other_and_damaged_files_are_refused(scara, tmp_path):
    with pytest.raises(StoreError, match='is no inverse map'):
        InverseMap.load(tmp_path / 'none')
    other = tmp_path / 'other.zarr'
    zarr.open_group(other, mode='w').attrs['kind'] = 'something'
    with pytest.raises(StoreError, match='holds something else'):
        InverseMap.load(other)
    with pytest.raises(StoreError, match='holds something else'):
        scara.save(other)
    path = tmp_path / 'scara.zarr'
    scara.save(path)
    zarr.open_group(path, mode='r+').attrs['format'] = 99
    with pytest.raises(StoreError, match='has layout 99'):
        InverseMap.load(path)
    for spacing in ('wide', -1.0):
        scara.save(path)
        zarr.open_group(path, mode='r+').attrs['spacing'] = spacing
        with pytest.raises(StoreError, match=r'is damaged: .*(spacing|wide)'):
            InverseMap.load(path)


def test_a_map_of_another_arm_is_refused(scara):
    with pytest.raises(ArgumentError, match='inverse_map: is that of another arm'):
        search_places(arm('panda'), [np.eye(4)], inverse_map=scara)


def test_a_map_needs_a_grid(tmp_path):
    spec = ChainSpec.of(TWO_LINKS)
    found = survey(spec, tmp_path, positions=[[0.3, 0, 0], [0.4, 0.11, 0]], orientations=2)
    with pytest.raises(ArgumentError, match='found: has other positions'):
        InverseMap.of(found)
    with pytest.raises(ArgumentError, match='found: has to be a CapabilityMap, not None'):
        InverseMap.of(None)


def test_a_gantry_may_stand_anywhere_in_a_box_whatever_the_orientation(tmp_path):
    found = InverseMap.of(survey(ChainSpec.of(GANTRY), tmp_path, spacing=0.25, orientations=4))
    T = rigid_transform(rotation_from_rpy(0.4, 1.0, 2.0), (1.0, 2.0, 0.0))
    facing = Region((0.0, 2.0), (1.0, 3.0), yaw=(0.0, 0.0))
    stands = found.query(T, facing)
    assert len(stands) == 25
    assert np.abs(stands[:, :2] - [1.0, 2.0]).max() == pytest.approx(0.5)


HEAD = 'x,y,z,roll,pitch,yaw\n'


@pytest.fixture
def ik_place(capsys):
    """Runs the program in this process; returns the exit code, its output, and its errors."""

    def run(*words):
        code = programs.ik_place([str(word) for word in words])
        return code, *capsys.readouterr()

    return run


def poses_at(path, *places):
    path.write_text(HEAD + ''.join(f'{x},0.1,0.3,180,0,0\n' for x in places))
    return path


@pytest.fixture
def poses(tmp_path):
    """File of three poses above a table."""
    return poses_at(tmp_path / 'poses.csv', 0.0, 0.1, 0.2)


@pytest.fixture
def far_poses(tmp_path):
    """File of three poses, of which one is far from the others."""
    return poses_at(tmp_path / 'far.csv', 0.0, 0.1, 5.0)


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


def test_places_are_compared_with_a_map(scara_map, scara, tmp_path, ik_place):
    urdf = tmp_path / 'scara.urdf'
    urdf.write_text(SCARA)
    scara_map.save(tmp_path / 'map.zarr')
    scara.save(tmp_path / 'inverse.zarr')
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
    point = survey(ChainSpec.of(SCARA), tmp_path, positions=[[0.2, 0.1, 0.0]], orientations=6)
    point.save(tmp_path / 'point.zarr')
    code, _, err = ik_place(urdf, path, '--map', tmp_path / 'point.zarr')
    assert code == 2
    assert re.search(r'--map: \S+ has other positions than those of a grid', err)


def test_places_of_a_tiny_arm_are_printed_and_drawn_to_its_scale(tmp_path, ik_place):
    pytest.importorskip('matplotlib', reason='matplotlib is not installed (extra plot)')
    tiny, file = tmp_path / 'tiny.urdf', tmp_path / 'places.json'
    tiny.write_text(GANTRY.replace('0.5', '0.0005'))
    poses = tmp_path / 'poses.csv'
    poses.write_text('x,y,z\n0.0004,0.0002,0.0001\n-0.0002,0.0001,0.0003\n')
    options = ['--candidates', 200, '--output', file, '--plot', tmp_path / 'places.png']
    code, out, err = ik_place(tiny, poses, *options)
    assert (code, err) == (0, '')
    rows = re.findall(r'^\d  +(\S+)  +(\S+)  +0.0', out, re.MULTILINE)
    places = [[place['x'], place['y']] for place in json.loads(file.read_text())['places']]
    np.testing.assert_allclose(np.array(rows, dtype=float), places, atol=1e-5)


def test_the_map_of_places_is_as_large_as_the_places(tmp_path):
    plot = pytest.importorskip('ik_service.extras.reach.place.plot')
    figures = pytest.importorskip('matplotlib.figure')
    tiny = ChainSpec.of(GANTRY.replace('0.5', '0.0005'))
    search = search_places(tiny, pose_at(0.0)[None] * 1e-3 + np.diag([0.999] * 4), candidates=50)
    panel = figures.Figure()
    plot._draw_map(panel, search, 1.5e-3)
    assert np.ptp(panel.axes[0].get_xlim()) < 0.01


def test_places_are_drawn(far_poses, tmp_path, ik_place):
    pytest.importorskip('matplotlib', reason='matplotlib is not installed (extra plot)')
    file = tmp_path / 'places.png'
    _, out, err = ik_place('panda', far_poses, '--candidates', 200, '--plot', file)
    assert err == ''
    assert out.endswith(f'Plot      {file}\n')
    assert file.read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (('--region', 1, 0, 0, 1), '--region: x: ends at 0 before it begins, at 1'),
        (('--region', 'nan', 1, 0, 1), 'is no number'),
        (('--polygon', 0, 0, 1, 1), '--polygon takes three pairs'),
        (('--polygon', 0, 0, 1, 1, 2, 2), '--polygon: corners: lie on one line'),
        (('--polygon', 0, 0, 1e8, 1, 2, 2), '--polygon: x: has to be two numbers'),
        (('--height', 1e7), '--height: has to be two numbers'),
        (('--candidates', 10**7), '--candidates: has to be a whole number'),
        (('--spacing', 0), '--spacing: has to be a length'),
        (('--height', 0, 1, 2), '--height takes one or two numbers'),
        (('--yaw', 10, -10), '--yaw ends at -10 before it begins, at 10'),
        (('--mounting', 'moon'), '--mounting takes floor, ceiling, wall'),
        (('--mounting', 1, -2), "not '1 -2'"),
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


@pytest.mark.parametrize(
    ('text', 'message'),
    [('x,y\n0,0\n', '{}, line 1 has no column z'), ('x,y,z\n0,0,0.4\n', 'need an orientation')],
)
def test_files_without_places_or_orientations_are_refused(tmp_path, ik_place, text, message):
    file = tmp_path / 'wrong.csv'
    file.write_text(text)
    code, _, err = ik_place('panda', file, '--set', 'task_weights=1,1,1,0,0,1')
    assert code == 2
    assert message.format(file) in err
