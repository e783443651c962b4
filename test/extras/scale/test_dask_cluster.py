"""Large batches on Dask clusters: of two processes, one of which is killed, and far away."""

from contextlib import contextmanager, suppress
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.chains import REPOSITORY
from support.harness import until

pytest.importorskip('zarr', reason='zarr is not installed (extra scale)')
pytest.importorskip('distributed', reason='dask is not installed (extra scale)')

import distributed

from ik_service.exceptions import ArgumentError, ClusterError, StoreInterruptedError
from ik_service.extras.scale import dask_cluster, solve_to_store

pytestmark = pytest.mark.slow


@contextmanager
def cluster(**settings):
    settings = {'threads_per_worker': 1, 'dashboard_address': ':0'} | settings
    with distributed.LocalCluster(**settings) as made, distributed.Client(made) as client:
        yield client


@pytest.fixture(autouse=True)
def bounded():
    """Let a test fail that waits for a task which Dask has lost with its killed workers."""

    def expire(*_):
        raise TimeoutError('the cluster has not answered within 3 minutes')

    before = signal.signal(signal.SIGALRM, expire)
    signal.alarm(180)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope='module')
def client(spec):
    with cluster(n_workers=2) as client:
        client.run(spec.build)  # compiled or loaded in every worker
        yield client


@pytest.fixture(scope='module')
def killable():
    """Client of a cluster for the tests that kill workers."""
    with cluster(n_workers=2) as client:
        yield client


@pytest.fixture
def mortal(killable):
    """The same, with all its workers."""
    killable.wait_for_workers(2, timeout=60.0)
    return killable


def test_answers_are_those_of_a_batch(client, spec, targets, expected, tmp_path):
    done = []
    report = solve_to_store(
        spec, targets, tmp_path / 's', chunk=150, client=client,
        progress=lambda count, all_: done.append((count, all_)),
    )  # fmt: skip
    np.testing.assert_array_equal(report.store.read('q'), expected.q)
    assert done[-1] == (2000, 2000)
    assert [path.name for path in tmp_path.iterdir()] == ['s']


def test_another_client_of_the_process_changes_nothing(client, spec, targets, tmp_path):
    with cluster(n_workers=1, processes=False):  # its client is the default one from now on
        for number in range(3):
            report = solve_to_store(
                spec, targets[:600], tmp_path / f'{number}', chunk=20, client=client
            )
            assert report.count == 600


def test_killed_worker_loses_nothing(mortal, spec, targets, expected, tmp_path):
    workers = list(mortal.run(os.getpid).values())
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
        spec, of_file, tmp_path / 's', chunk=50, client=mortal, progress=kill_one
    )
    assert not workers
    assert counts == sorted(set(counts))  # every chunk was counted once
    assert counts[-1] == 2000
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


def test_cluster_goes_on_where_a_single_machine_stopped_and_back(
    client, spec, targets, expected, tmp_path
):
    def interrupt(done, _):
        if done >= 600:
            raise KeyboardInterrupt

    options = {'chain_spec': spec, 'targets': targets, 'store': tmp_path / 's'}
    with pytest.raises(StoreInterruptedError):
        solve_to_store(**options, chunk=200, progress=interrupt)
    before = []
    with pytest.raises(StoreInterruptedError):
        solve_to_store(
            **options,
            client=client,
            progress=lambda done, all_: (before.append(done), interrupt(done - 600, all_)),
        )
    assert 600 <= before[0] < before[-1] < 2000
    report = solve_to_store(**options, progress=False)
    assert before[-1] <= report.solved_before
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


def test_workers_that_cannot_take_part_are_refused(client, spec, targets, tmp_path):
    class OfProcess:
        """Targets that are others in every process."""

        digest = property(lambda self: str(os.getpid()))
        block = staticmethod(lambda first, last: targets[first:last])

        def __len__(self):
            return 100

    with pytest.raises(ClusterError, match=r'worker tcp://.* reads other targets'):
        solve_to_store(spec, OfProcess(), tmp_path / 's', client=client)
    with pytest.raises(ClusterError, match=r'worker tcp://.* cannot take part: .*No module'):
        solve_to_store(spec, Unknown(), tmp_path / 't', client=client)


def test_worker_that_ends_while_it_is_asked_is_named(mortal, spec, targets, expected, tmp_path):
    flag, here = tmp_path / 'flag', os.getpid()
    flag.touch()

    class Deadly:
        """Targets that end one of the processes that read them."""

        digest = 'deadly'

        def __len__(self):
            return 100

        def block(self, first, last):
            if os.getpid() != here:
                try:
                    flag.unlink()
                except FileNotFoundError:
                    pass
                else:
                    os._exit(1)
            return targets[first:last]

    workers = mortal.nthreads()
    call = {'store': tmp_path / 's', 'client': mortal, 'progress': False}
    text = r'worker (tcp://\S+) has ended while it was asked .* its log, and call again'
    with pytest.raises(ClusterError, match=text) as caught:
        solve_to_store(spec, Deadly(), **call)
    ended = re.match(text, str(caught.value))[1]
    assert ended in workers
    until(lambda: mortal.nthreads() and ended not in mortal.nthreads(), what='other workers')
    np.testing.assert_array_equal(
        solve_to_store(spec, Deadly(), **call).store.read('q'), expected.q[:100]
    )


def test_file_that_is_replaced_before_workers_open_it(client, spec, targets, expected, tmp_path):
    """Answers of workers that have read another file are told, and solved by the next call."""
    file, call = tmp_path / 'targets.npy', {'chunk': 50, 'client': client}
    changed = targets.copy()
    changed[1990] = targets[0]
    np.save(file, targets)
    of_file = np.load(file, mmap_mode='r')

    def replace(done, _):
        """Replace the file before the workers are asked."""
        if not done:
            np.save(tmp_path / 'new.npy', changed)
            os.replace(tmp_path / 'new.npy', file)

    with pytest.raises(ArgumentError, match='1950 to 2000 are others'):
        solve_to_store(spec, of_file, tmp_path / 's', progress=replace, **call)
    np.save(file, targets)
    of_file = np.load(file, mmap_mode='r')
    report = solve_to_store(spec, of_file, tmp_path / 's', progress=False, **call)
    assert report.solved_before == 1950
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


class Unknown:
    """Targets of a module that the workers do not have."""

    digest = 'unknown'

    def block(self, first, last):
        return np.zeros((last - first, 4, 4))

    def __len__(self):
        return 100


def test_threads_are_for_workers_that_have_a_host_for_themselves(
    client, spec, targets, expected, tmp_path
):
    with pytest.raises(ArgumentError, match='threads'):
        solve_to_store(spec, targets, tmp_path / 's', client=client, threads=2)
    with cluster(n_workers=1) as alone:
        report = solve_to_store(
            spec, targets, tmp_path / 's', client=alone, threads=2, progress=False
        )
    np.testing.assert_array_equal(report.store.read('q'), expected.q)


@contextmanager
def program(name, *words):
    command = [sys.executable, '-m', f'distributed.cli.{name}', '--no-dashboard', *words]
    where = {'cwd': REPOSITORY, 'start_new_session': True, 'stderr': subprocess.DEVNULL}
    with subprocess.Popen(command, **where) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):  # where the test has killed it, and seen its end
                os.killpg(process.pid, signal.SIGKILL)


def test_tasks_are_made_while_killed_workers_have_not_come_back_yet():
    assert sum(dask_cluster.task_sizes(10, 0)) == 10


def test_task_that_the_cluster_has_lost_is_no_endless_wait(monkeypatch):
    monkeypatch.setattr(dask_cluster, '_PATIENCE', 0.3)
    with cluster(n_workers=1, processes=False) as client:
        slow = client.submit(time.sleep, 1.5, pure=False)
        until(lambda: any(client.run(dask_cluster._tasks_at_work).values()), what='work')
        ended = distributed.as_completed([slow, distributed.Future('lost', client=client)])
        dask_cluster._wait(client, ended)  # a worker is at work
        assert next(ended) is slow
        with pytest.raises(ClusterError, match='last 1 tasks: no worker is at work'):
            dask_cluster._wait(client, ended)


def test_scheduler_elsewhere_is_killed(spec, targets, expected, tmp_path):
    file, here, read = str(tmp_path / 'scheduler.json'), os.getpid(), tmp_path / 'read'

    class Half:
        """Targets of which a worker gets no more than half."""

        digest = 'half'

        def __len__(self):
            return len(targets)

        def block(self, first, last):
            if os.getpid() != here and last - first > 1:
                with read.open('a') as blocks:
                    blocks.write('.')
                if read.stat().st_size > 30:
                    time.sleep(600.0)  # until it is killed
            return targets[first:last]

    options = {'chain_spec': spec, 'targets': Half(), 'store': tmp_path / 's'}

    def kill(done, _):
        if done >= 100:
            scheduler.kill()

    at = ('--scheduler-file', file)
    folder = ('--local-directory', str(tmp_path / 'dask'))
    with (
        program('dask_scheduler', '--host', '127.0.0.2', '--port', '0', *at) as scheduler,
        program('dask_worker', '--no-nanny', '--nthreads', '1', *folder, *at),
        distributed.Client(scheduler_file=file) as client,
    ):
        client.wait_for_workers(1)
        assert '127.0.0.2' in client.scheduler.address
        with pytest.raises(ClusterError, match='same call goes on'):
            solve_to_store(**options, chunk=25, client=client, progress=kill)
    report = solve_to_store(**options, progress=False)
    assert 100 <= report.solved_before <= 1000
    np.testing.assert_array_equal(report.store.read('q'), expected.q)
