"""Large batches into a store: interrupted, resumed, damaged, and refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from support.repository import REPOSITORY

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')

import ik_service as iks
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.scale import ChainSpec, PoseGrid, solve_to_store
from ik_service.scale.result_store import ResultStore
from ik_service.scale.solving import NO_POSE, UNSOLVED

URDF = REPOSITORY / 'urdf' / 'panda.urdf'
SUCCESS = iks.IkStatus.SUCCESS.number

INTERRUPTED = """
import sys
import numpy as np
from ik_service.scale import ChainSpec, solve_to_store
spec = ChainSpec.of(sys.argv[1], 'panda_link0', 'panda_hand_tcp')
targets = np.load(sys.argv[2], mmap_mode='r')
show = lambda done, count: print(done, flush=True)
solve_to_store(spec, targets, sys.argv[3], chunk=100, threads=1, progress=show)
"""


@pytest.fixture(scope='module')
def spec():
    return ChainSpec.of(URDF, 'panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def targets(spec):
    chain = spec.build().chain
    rng = np.random.default_rng(3)
    return np.array([chain.forward(q) for q in rng.uniform(chain.lower, chain.upper, (2000, 7))])


@pytest.fixture(scope='module')
def expected(spec, targets):
    return iks.solve_ik_batch(spec.build().chain, targets)


def test_answers_are_those_of_a_batch(spec, targets, expected, tmp_path):
    report = solve_to_store(spec, targets, tmp_path / 's', chunk=300, progress=False)
    store = report.store
    assert (report.count, report.solved_before) == (2000, 0)
    np.testing.assert_array_equal(store.read('q'), expected.q)
    np.testing.assert_array_equal(store.read('position_error'), expected.position_error)
    np.testing.assert_array_equal(store.read('iterations'), expected.iterations)
    assert (store.read('status') == SUCCESS).all()
    assert store.attributes['joint_names'] == list(spec.build().chain.joint_names)


def test_what_is_killed_goes_on_where_it_was(spec, targets, expected, tmp_path):
    path, file = tmp_path / 's', tmp_path / 'targets.npy'
    np.save(file, targets)
    command = [sys.executable, '-c', INTERRUPTED, str(URDF), str(file), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 300:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    status = ResultStore.existing(path).read('status')
    assert 300 <= (status == SUCCESS).sum() < 2000
    assert (status == UNSOLVED).any()
    report = solve_to_store(spec, np.load(file, mmap_mode='r'), path, progress=False)
    assert report.solved_before == (status == SUCCESS).sum()
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


def test_rows_that_are_no_poses_are_marked(spec, targets, tmp_path):
    bad = targets[:50].copy()
    bad[7], bad[20, :3, :3], bad[49, 3, 0] = np.nan, 2.0, 1.0
    store = solve_to_store(spec, bad, tmp_path / 's', chunk=16, progress=False).store
    status = store.read('status')
    assert np.flatnonzero(status == NO_POSE).tolist() == [7, 20, 49]
    assert np.isnan(store.read('q')[[7, 20, 49]]).all()
    assert (np.delete(status, [7, 20, 49]) == SUCCESS).all()


def test_arrays_of_zarr_and_streams_answer_alike(spec, targets, expected, tmp_path):
    import zarr

    array = zarr.create_array(tmp_path / 't', data=targets[:500], chunks=(64, 4, 4))
    of_array = solve_to_store(spec, array, tmp_path / 'a', chunk=200, progress=False)
    pieces = [targets[0], targets[1:130], targets[130:130], targets[130:500]]
    of_stream = solve_to_store(spec, iter(pieces), tmp_path / 'b', chunk=200, progress=False)
    for report in (of_array, of_stream):
        np.testing.assert_array_equal(report.store.read('q'), expected.q[:500])


def test_stream_goes_on_and_may_have_grown(spec, targets, expected, tmp_path):
    solve_to_store(spec, iter([targets[:250]]), tmp_path / 's', chunk=100, progress=False)
    report = solve_to_store(spec, iter([targets[:430]]), tmp_path / 's', progress=False)
    assert (report.count, report.solved_before) == (430, 200)
    np.testing.assert_array_equal(report.store.read('q'), expected.q[:430])


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


def test_store_of_something_else_is_refused_and_kept(spec, targets, tmp_path):
    path = tmp_path / 's'
    before = solve_to_store(spec, targets[:40], path, progress=False).store.read('q')
    with pytest.raises(StoreError, match='other targets'):
        solve_to_store(spec, targets[:41], path, progress=False)
    other = ChainSpec.of(URDF, 'panda_link0', 'panda_link8')
    with pytest.raises(StoreError, match='other chains'):
        solve_to_store(other, targets[:40], path, progress=False)
    np.testing.assert_array_equal(ResultStore.existing(path).read('q'), before)


def test_store_of_another_version_is_refused(spec, targets, tmp_path):
    import zarr

    solve_to_store(spec, targets[:40], tmp_path / 's', progress=False)
    zarr.open_group(tmp_path / 's', mode='r+').attrs['format'] = 99
    with pytest.raises(StoreError, match='layout 99'):
        solve_to_store(spec, targets[:40], tmp_path / 's', progress=False)


def test_folder_with_other_files_is_refused(spec, targets, tmp_path):
    (tmp_path / 'notes.txt').write_text('mine')
    with pytest.raises(StoreError, match='no store'):
        solve_to_store(spec, targets[:40], tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ['notes.txt']


def test_second_writer_is_refused(spec, targets, tmp_path):
    store = solve_to_store(spec, targets[:40], tmp_path / 's', progress=False).store
    with store.alone(), pytest.raises(StoreError, match='written by process'):
        solve_to_store(spec, targets[:40], tmp_path / 's', progress=False)
    assert solve_to_store(spec, targets[:40], tmp_path / 's', progress=False).count == 40


@pytest.mark.skipif(os.geteuid() == 0, reason='root may write everywhere')
def test_folder_that_cannot_be_written_is_named(spec, targets, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match='cannot be used'):
        solve_to_store(spec, targets[:40], tmp_path / 's', progress=False)


def test_full_disk_keeps_what_was_whole(spec, targets, expected, tmp_path, monkeypatch):
    def full(store, first, answers):
        if first >= 200:
            from ik_service.scale.store_files import disk_errors

            with disk_errors(store.path):
                raise OSError(28, 'No space left on device')
        return write(store, first, answers)

    write = ResultStore.write
    monkeypatch.setattr(ResultStore, 'write', full)
    with pytest.raises(StoreError, match='No space left'):
        solve_to_store(spec, targets[:500], tmp_path / 's', chunk=100, progress=False)
    monkeypatch.undo()
    report = solve_to_store(spec, targets[:500], tmp_path / 's', progress=False)
    assert report.solved_before == 200
    np.testing.assert_array_equal(report.store.read('q'), expected.q[:500])


@pytest.mark.parametrize(
    'targets', [3, np.eye(4), np.zeros((2, 3, 3)), [['a']], np.zeros((2, 4, 4), bool)]
)
def test_what_are_no_targets_is_refused(spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='targets'):
        solve_to_store(spec, targets, tmp_path / 's', progress=False)
    assert not (tmp_path / 's').exists()
