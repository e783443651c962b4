"""Chains by their description, and targets of files and grids: what workers get."""

import os
import pickle
import shutil

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.solids import cube, slider, solid, write_stl

import ik_service as iks
from ik_service.exceptions import ArgumentError, CollisionGeometryError, OptionError, SrdfError
from ik_service.extras.scale import ChainSpec
from ik_service.extras.scale.solving import BlockSolver

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

from ik_service.extras.scale import PoseGrid, solve_to_store
from ik_service.extras.scale.targets import block_targets

PANDA = REPOSITORY / 'urdf' / 'panda.urdf'
MESH = solid('<mesh filename="cube.stl"/>')
# What stores have noted about the specification below: with another one they would not go on.
DIGEST = '28e861475151a30535d59597f80a1ba090df8a05c35f9e2195d0235a0253251b'
SRDF = '<robot name="row"><disable_collisions link1="a" link2="b" reason="Never"/></robot>'


def test_specification_is_the_same_everywhere():
    spec = ChainSpec.of(PANDA, 'panda_link0', 'panda_hand_tcp')
    options = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0), max_searches=3)
    other = ChainSpec.of(
        PANDA, tip_link='panda_link8', options=options, locked={'panda_joint1': 0}
    )
    solid_row = ChainSpec.of(slider(solid(), solid()), srdf=SRDF.replace('a"', 'b"', 0))
    assert other.build().chain.n == 6
    for each in (spec, other, solid_row):
        assert pickle.loads(pickle.dumps(each)) == each
        assert ChainSpec.from_json(each.to_json()) == each
        assert ChainSpec.from_json(each.to_json()).urdf_file == each.urdf_file
        assert hash(pickle.loads(pickle.dumps(each))) == hash(each)
    assert len({spec.digest, other.digest, solid_row.digest}) == 3


@pytest.mark.parametrize(
    ('options', 'named'),
    [
        ({'record_trace': True}, 'record_trace'),
        ({'seed_source': 'table', 'seed_file': 'x'}, 'seed_file'),
        ({'objective': abs}, 'objective'),
    ],
)
def test_options_that_mean_something_else_elsewhere_are_refused(options, named):
    with pytest.raises(OptionError, match=named):
        ChainSpec('<robot/>', options=iks.IkOptions(**options))


@pytest.mark.parametrize(
    ('plain', 'other'),
    [
        ({'timeout': 1.0}, {'timeout': 1}),
        ({'timeout': 0.5}, {'timeout': np.float32(0.5)}),
        ({'max_searches': 3, 'random_seed': 4},
         {'max_searches': np.int64(3), 'random_seed': np.uint8(4)}),
        ({'damping': 0.0}, {'damping': -0.0}),
        ({'record_trace': False}, {'record_trace': np.bool_(False)}),
        ({'task_weights': (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)},
         {'task_weights': np.array([1, 1, 1, -0.0, 0, 0], np.float32)}),
    ],
)  # fmt: skip
def test_equal_options_of_other_types_have_the_same_digest(plain, other):
    first, second = (
        ChainSpec('<robot/>', options=iks.IkOptions(**options)) for options in (plain, other)
    )
    assert first == second
    assert first.digest == second.digest
    assert first.to_json() == second.to_json()
    assert ChainSpec.from_json(second.to_json()) == first


def test_equal_parts_of_other_types_have_the_same_digest():
    first = ChainSpec('<robot/>', locked=(('a', 1.0), ('b', 0.0)), collisions=False)
    second = ChainSpec(
        '<robot/>', locked=[['a', np.int64(1)], ('b', -0.0)], collisions=np.bool_(False)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert first.digest == second.digest


def test_digests_stay_those_of_stores_that_are_there():
    options = iks.IkOptions(timeout=0.5, task_weights=(1, 1, 1, 0, 0, 0), max_searches=3)
    spec = ChainSpec('<robot/>', 'a', 'b', options=options, locked=(('c', 0.1),))
    assert spec.digest == DIGEST


@pytest.mark.parametrize('locked', [{'a': 1.0}, (('a', '1'),), ((1, 1.0),), 3, (('a', 10**400),)])
def test_faulty_locked_joints_are_named(locked):
    with pytest.raises(ArgumentError, match='locked'):
        ChainSpec('<robot/>', locked=locked)


def test_joints_that_are_locked_twice_are_named():
    with pytest.raises(ArgumentError, match='locked: has more than one position of b'):
        ChainSpec('<robot/>', locked=(('b', 0.1), ('a', 0.1), ('b', 0.2)))


@pytest.mark.parametrize('part', ['urdf', 'base_link', 'tip_link', 'solver', 'srdf', 'urdf_file'])
@pytest.mark.parametrize('value', [3, PANDA, b'<robot/>'])
def test_parts_that_are_no_text_are_named(part, value):
    with pytest.raises(ArgumentError, match=f'{part}: has to be text, not'):
        ChainSpec(**{'urdf': '<robot/>', part: value})


def test_faulty_parts_are_named():
    with pytest.raises(ArgumentError, match='collisions'):
        ChainSpec.of(PANDA, collisions='yes')
    with pytest.raises(ArgumentError, match='no specification'):
        ChainSpec.from_json('{"urdf": 3, "locked": []}')
    with pytest.raises(SrdfError, match='mismatched'):
        ChainSpec.of(PANDA, srdf='<robot name="panda"><group></robot>')


class TestCollisions:
    """With Coal."""

    @pytest.fixture(autouse=True)
    def _coal(self):
        pytest.importorskip('coal', reason='coal is not installed (extra collision)')

    @pytest.fixture
    def file(self, tmp_path):
        write_stl(tmp_path / 'cube.stl', *cube())
        path = tmp_path / 'row.urdf'
        # The tip's place along x, a third of the targets inside of the first block.
        path.write_text(slider(MESH, MESH, gap=0.5))
        return path

    def test_colliding_answers_do_not_count(self, file):
        targets = np.tile(np.eye(4), (3, 1, 1))
        targets[:, 0, 3] = -0.5, 0.03, 0.5
        options = iks.IkOptions(max_searches=3)
        # Neighbours are checked only where an SRDF says so.
        srdf = '<robot name="row"><enable_collisions link1="a" link2="b"/></robot>'
        answers = {
            given: BlockSolver(
                ChainSpec.of(file, options=options, srdf=srdf, collisions=given)
            ).solve(targets).status.tolist()
            for given in (False, True)
        }  # fmt: skip
        success, collision = iks.IkStatus.SUCCESS.number, iks.IkStatus.IN_COLLISION.number
        assert answers[False] == [success] * 3
        assert answers[True] == [success, collision, success]

    def test_missing_mesh_is_named(self, file, tmp_path):
        spec = ChainSpec.of(file, collisions=True)
        moved = pickle.loads(pickle.dumps(spec))
        object.__setattr__(moved, 'urdf_file', str(tmp_path / 'elsewhere' / 'row.urdf'))
        assert moved == spec
        assert moved.digest == spec.digest
        with pytest.raises(CollisionGeometryError, match=r'cube\.stl'):
            moved.build()
        shutil.copytree(tmp_path, tmp_path / 'elsewhere')
        assert moved.build().collisions.has_geometry

    def test_robot_without_geometry_is_refused(self):
        with pytest.raises(ArgumentError, match='no collision geometry'):
            ChainSpec.of(slider('', ''), collisions=True)


def test_folders_of_packages_are_for_meshes_and_decide_nothing(tmp_path):
    folders = ('/opt/robots', tmp_path)
    spec, other = ChainSpec.of(PANDA, package_dirs=folders), ChainSpec.of(PANDA)
    assert (
        spec.package_dirs
        == tuple(map(str, spec.robot.package_dirs))
        == ('/opt/robots', str(tmp_path))
    )
    assert ChainSpec.from_json(spec.to_json()).package_dirs == spec.package_dirs
    assert (spec, spec.digest) == (other, other.digest)


@pytest.fixture
def file(targets, tmp_path):
    np.save(tmp_path / 't.npy', targets)
    return tmp_path / 't.npy'


@pytest.mark.parametrize('rows', [slice(None), slice(7, 1900), slice(1500, 2000)])
def test_parts_of_a_map_are_read_where_they_are(targets, file, rows):
    read = block_targets(np.load(file, mmap_mode='r')[rows])
    again = pickle.loads(pickle.dumps(read))
    for each in (read, again):
        np.testing.assert_array_equal(each.block(3, 450), targets[rows][3:450])
    assert len(pickle.dumps(read)) < 1000
    assert again.digest == read.digest


def test_targets_in_memory_are_written_as_they_are(targets, tmp_path):
    for rows in (targets, targets[::-2], targets[:7].astype('>f4')):
        written = block_targets(np.asarray(rows)).save(tmp_path / 'rows.npy')
        np.testing.assert_array_equal(np.load(tmp_path / 'rows.npy'), rows)
        np.testing.assert_array_equal(written.block(0, len(rows)), rows)


def test_full_disk_is_told_with_its_reason(targets, tmp_path):
    (tmp_path / 'full.npy').symlink_to('/dev/full')
    with pytest.raises(OSError, match='No space left on device'):
        block_targets(targets).save(tmp_path / 'full.npy')


@pytest.mark.parametrize('rows', [slice(None, None, 2), slice(None, None, -1)])
def test_rows_out_of_order_are_taken_from_memory(targets, file, rows):
    read = block_targets(np.load(file, mmap_mode='r')[rows])
    np.testing.assert_array_equal(read.block(0, 1000), targets[rows][:1000])


def test_other_types_and_changed_maps_count(targets, tmp_path):
    np.save(tmp_path / 'f.npy', targets.astype('>f4'))
    read = block_targets(np.load(tmp_path / 'f.npy', mmap_mode='r'))
    np.testing.assert_array_equal(read.block(0, 9), targets[:9].astype(np.float32))
    changed = np.load(tmp_path / 'f.npy', mmap_mode='r+')
    changed[3] = 0.0
    assert not block_targets(changed).block(3, 4).any()


def test_file_that_is_removed_is_read_to_the_end(targets, file):
    read = block_targets(np.load(file, mmap_mode='r'))
    file.unlink()
    np.testing.assert_array_equal(read.block(0, 2000), targets)
    with pytest.raises(ArgumentError, match='No such file'):
        pickle.loads(pickle.dumps(read))


def test_map_of_a_file_that_was_replaced_is_what_is_solved(
    spec, expected, targets, file, tmp_path
):
    mapped = np.load(file, mmap_mode='r')
    for name, rows in (('other', targets[::-1]), ('short', targets[:7])):
        np.save(tmp_path / 'new.npy', rows)
        os.replace(tmp_path / 'new.npy', file)
        report = solve_to_store(spec, mapped[:1000], tmp_path / name, progress=False)
        np.testing.assert_array_equal(report.store.read('q'), expected.q[:1000])


def test_file_that_is_changed_meanwhile_is_told(spec, expected, targets, file, tmp_path):
    def change(done, _):
        if done == 600:
            written = np.load(file, mmap_mode='r+')
            written[5] = targets[6]
            written.flush()

    of_file = np.load(file, mmap_mode='r')
    with pytest.raises(ArgumentError, match=r'0 to 300 are others now .* solves 1 chunks again'):
        solve_to_store(spec, of_file, tmp_path / 's', chunk=300, progress=change)
    report = solve_to_store(spec, of_file, tmp_path / 's', progress=False)
    assert report.solved_before == 1700
    wanted = expected.q.copy()
    wanted[5] = expected.q[6]
    np.testing.assert_array_equal(report.store.read('q'), wanted)


def test_file_that_is_only_touched_meanwhile_is_no_fault(spec, file, tmp_path):
    of_file = np.load(file, mmap_mode='r')
    report = solve_to_store(
        spec, of_file, tmp_path / 's', chunk=300, progress=lambda *_: os.utime(file)
    )
    assert report.count == 2000


def test_file_that_is_cut_is_an_error(spec, expected, targets, file, tmp_path):
    def cut(done, _):
        if done == 600:
            os.truncate(file, 100_000)

    of_file = np.load(file, mmap_mode='r')
    with pytest.raises(ArgumentError, match='cut'):
        solve_to_store(spec, of_file, tmp_path / 's', chunk=300, progress=cut)
    np.save(file, targets)
    report = solve_to_store(spec, np.load(file, mmap_mode='r'), tmp_path / 's', progress=False)
    assert report.solved_before >= 600
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


def test_grid_has_every_rotation_at_every_position():
    turn = np.diag([-1.0, -1.0, 1.0])
    grid = PoseGrid.over(([0.1, 0.2], [0.3], [0.4, 0.5]), [np.eye(3), turn])
    poses = grid.block(0, len(grid))
    assert poses.shape == (8, 4, 4)
    np.testing.assert_array_equal(poses[::2, :3, 3], grid.positions)
    np.testing.assert_array_equal(poses[1::2, :3, 3], grid.positions)
    np.testing.assert_array_equal(poses[1, :3, :3], turn)
    np.testing.assert_array_equal(grid.block(3, 5), poses[3:5])


def test_huge_grid_is_never_made():
    axis = np.linspace(-1.0, 1.0, 100)
    rotations = np.tile(np.eye(3), (1000, 1, 1))
    grid = PoseGrid.over((axis, axis, axis), rotations)
    assert len(grid) == 10**9
    np.testing.assert_array_equal(grid.block(10**9 - 1, 10**9)[0, :3, 3], [1.0, 1.0, 1.0])


def test_grids_are_equal_when_their_numbers_are():
    first = PoseGrid.over(([0.1, 0.2], 0.3, [0.4]), [np.eye(3)])
    again = PoseGrid([[0.1, 0.3, 0.4], [0.2, 0.3, 0.4]], np.eye(3)[None])
    other = PoseGrid.over(([0.1, 0.2], [0.3], [0.5]), [np.eye(3)])
    assert first == again == pickle.loads(pickle.dumps(first))
    assert first != other
    assert first != 3
    assert {first, again, other} == {first, other}
    with pytest.raises(ValueError, match='read-only'):
        first.positions[0] = 0.0


@pytest.mark.parametrize('axes', [([0.0], [1.0]), ([0.0],) * 4, 3, None, (np.eye(2),) * 3])
def test_grids_of_other_than_three_axes_are_refused(axes):
    with pytest.raises(ArgumentError, match='axes: have to be coordinates along x, y and z'):
        PoseGrid.over(axes, [np.eye(3)])


@pytest.mark.parametrize(('count', 'size'), [(10**5, '24,000,000'), (10**7, '24,000,000,000,000')])
def test_grids_beyond_memory_are_told_with_their_size(count, size):
    axis = np.arange(count)
    with pytest.raises(
        ArgumentError, match=f'{count**3:,} positions, {size} GB, which do not fit'
    ):
        PoseGrid.over((axis, axis, axis), [np.eye(3)])
