"""Clients of Dask that cannot be used, and threads of one process as workers."""

import asyncio

import numpy as np
import pytest

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
pytest.importorskip('distributed', reason='dask is not installed (extra scale)')

import distributed

import ik_service as iks
from ik_service.exceptions import ArgumentError, ClusterError, StoreInterruptedError
from ik_service.extras.scale import solve_to_store


@pytest.fixture(scope='module')
def targets(targets):
    return targets[:300]


@pytest.fixture(scope='module')
def client():
    settings = {'n_workers': 1, 'threads_per_worker': 2, 'processes': False}
    with (
        distributed.LocalCluster(**settings, dashboard_address=':0') as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_threads_of_this_process_are_workers(client, spec, targets, tmp_path):
    store = solve_to_store(spec, targets, tmp_path / 's', chunk=40, client=client).store
    expected = iks.solve_ik_batch(spec.build().chain, targets)
    np.testing.assert_array_equal(store.read('q'), expected.q)


def test_files_of_the_user_stay_and_targets_leave_none(client, spec, targets, tmp_path):
    np.save(tmp_path / 's.targets.npy', targets[:3])

    def interrupt(done, _):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(StoreInterruptedError):
        solve_to_store(spec, targets, tmp_path / 's', chunk=40, client=client, progress=interrupt)
    assert not list((tmp_path / 's').glob('*.npy'))
    solve_to_store(spec, targets, tmp_path / 's', client=client)
    np.testing.assert_array_equal(np.load(tmp_path / 's.targets.npy'), targets[:3])
    assert {path.name for path in tmp_path.iterdir()} == {'s', 's.targets.npy'}
    assert not list((tmp_path / 's').glob('*.npy'))


def test_error_of_the_progress_comes_through(client, spec, targets, tmp_path):
    class DisplayError(Exception):
        pass

    def boom(done, _):
        if done >= 100:
            raise DisplayError

    with pytest.raises(DisplayError):
        solve_to_store(spec, targets, tmp_path / 's', chunk=20, client=client, progress=boom)
    report = solve_to_store(spec, targets, tmp_path / 's', client=client)
    assert report.solved_before >= 100
    assert (report.store.read('status') == iks.IkStatus.SUCCESS.number).all()


def test_iterators_are_refused(client, spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='iterator'):
        solve_to_store(spec, iter([targets]), tmp_path / 's', client=client)


def test_what_is_no_client_is_refused(spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='client'):
        solve_to_store(spec, targets, tmp_path / 's', client='scheduler:8786')


def test_cluster_without_workers_is_refused(spec, targets, tmp_path):
    settings = {'n_workers': 0, 'processes': False, 'dashboard_address': ':0'}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        with pytest.raises(ClusterError, match='no workers'):
            solve_to_store(spec, targets, tmp_path / 's', client=client)
        client.close()
        with pytest.raises(ClusterError, match='closed'):
            solve_to_store(spec, targets, tmp_path / 's', client=client)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('error', [OSError('closed'), asyncio.CancelledError()])
def test_cluster_that_is_lost_while_workers_are_asked_is_told(
    client, spec, targets, tmp_path, monkeypatch, error
):
    def lost(*words, **settings):
        raise error

    monkeypatch.setattr(client, 'run', lost)
    with pytest.raises(ClusterError, match='the scheduler, or a worker, has ended while'):
        solve_to_store(spec, targets, tmp_path / 's', client=client)
    monkeypatch.undo()
    assert solve_to_store(spec, targets, tmp_path / 's', client=client).count == 300
