"""Clients of Dask that cannot be used, and threads of one process as workers."""

from __future__ import annotations

import numpy as np
import pytest
from support.repository import REPOSITORY

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
pytest.importorskip('distributed', reason='dask is not installed (extra scale)')

import distributed

import ik_service as iks
from ik_service.exceptions import ArgumentError, ClusterError
from ik_service.scale import ChainSpec, solve_to_store


@pytest.fixture(scope='module')
def spec():
    return ChainSpec.of(REPOSITORY / 'urdf' / 'panda.urdf', 'panda_link0', 'panda_hand_tcp')


@pytest.fixture(scope='module')
def targets(spec):
    chain = spec.build().chain
    rng = np.random.default_rng(5)
    return np.array([chain.forward(q) for q in rng.uniform(chain.lower, chain.upper, (300, 7))])


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
