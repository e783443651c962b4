"""Large batches on a Dask cluster of two processes, one of which is killed."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from support.repository import REPOSITORY

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
pytest.importorskip('distributed', reason='dask is not installed (extra scale)')

import distributed

import ik_service as iks
from ik_service.exceptions import ArgumentError
from ik_service.scale import ChainSpec, PoseGrid, solve_to_store

pytestmark = pytest.mark.slow

URDF = REPOSITORY / 'urdf' / 'panda.urdf'


@pytest.fixture(scope='module')
def spec():
    return ChainSpec.of(URDF, 'panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def targets(spec):
    chain = spec.build().chain
    rng = np.random.default_rng(5)
    return np.array([chain.forward(q) for q in rng.uniform(chain.lower, chain.upper, (2000, 7))])


@pytest.fixture(scope='module')
def client(spec):
    settings = {'n_workers': 2, 'threads_per_worker': 1, 'dashboard_address': None}
    with distributed.LocalCluster(**settings) as cluster, distributed.Client(cluster) as client:
        client.run(spec.build)  # compiled or loaded in every worker
        yield client


def test_answers_are_those_of_a_batch(client, spec, targets, tmp_path):
    done = []
    report = solve_to_store(
        spec, targets, tmp_path / 's', chunk=150, client=client,
        progress=lambda count, all_: done.append((count, all_)),
    )  # fmt: skip
    expected = iks.solve_ik_batch(spec.build().chain, targets)
    np.testing.assert_array_equal(report.store.read('q'), expected.q)
    assert done[-1] == (2000, 2000)
    assert [path.name for path in tmp_path.iterdir()] == ['s']


def test_killed_worker_loses_nothing(client, spec, targets, tmp_path):
    workers = list(client.run(os.getpid).values())
    counts = []

    def kill_one(done, _):
        counts.append(done)
        if done >= 200 and workers:
            os.kill(workers.pop(), signal.SIGKILL)
            workers.clear()

    path = tmp_path / 'targets.npy'
    np.save(path, targets)
    of_file = np.load(path, mmap_mode='r')
    report = solve_to_store(
        spec, of_file, tmp_path / 's', chunk=50, client=client, progress=kill_one
    )
    assert not workers
    assert counts == sorted(set(counts))  # every chunk was counted once
    assert counts[-1] == 2000
    expected = iks.solve_ik_batch(spec.build().chain, targets)
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


def test_grid_goes_on_where_a_single_machine_stopped(client, spec, tmp_path):
    def interrupt(done, _):
        if done >= 60:
            raise KeyboardInterrupt

    axis = np.linspace(0.3, 0.5, 5)
    turns = [np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, 1.0, -1.0])]
    grid = PoseGrid.over((axis, axis - 0.4, axis), turns)
    with pytest.raises(KeyboardInterrupt):
        solve_to_store(spec, grid, tmp_path / 's', chunk=20, progress=interrupt)
    report = solve_to_store(spec, grid, tmp_path / 's', client=client, progress=False)
    assert report.count == 250
    assert 0 < report.solved_before < 250
    assert (report.store.read('status') == iks.IkStatus.SUCCESS.number).all()


def test_iterators_are_refused(client, spec, targets, tmp_path):
    with pytest.raises(ArgumentError, match='iterator'):
        solve_to_store(spec, iter([targets]), tmp_path / 's', client=client)
