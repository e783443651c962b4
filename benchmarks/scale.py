"""Large batches: rates of the plain batch, of a store and of Dask clusters in turns; memory."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from records import progress, save
from robots import all_robots
from timing import quartiles

import ik_service as iks
from ik_service.extras.scale import ChainSpec, PoseGrid, solve_to_store

if TYPE_CHECKING:
    from distributed import Client

QUIET = {
    'distributed.worker.profile.enabled': False,
    'distributed.admin.tick.interval': '500ms',
    'distributed.admin.system-monitor.interval': '10s',
    'distributed.worker.memory.monitor-interval': '1s',
}
"""Settings of a cluster that watches itself less often than by default."""


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--count', type=int, default=1_000_000, help='targets of a batch')
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--chunk', type=int, default=50_000, help='targets of a chunk')
    parser.add_argument('--memory', default='1000000,10000000', help="numbers of targets, or ''")
    parser.add_argument('--folder', type=Path, help='where stores are made; a temporary one')
    parser.add_argument('--peak-of', type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peak_of:
        print(json.dumps(_peak(args.peak_of, args.folder)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        if args.repeats:
            rows = measure_rates(args.count, args.chunk, args.repeats, Path(folder))
            save('scale', rows, count=args.count, chunk=args.chunk, repeats=args.repeats)
        counts = [int(count) for count in args.memory.split(',') if count]
        save('scale_memory', [measure_memory(count, Path(folder)) for count in counts])


def specification() -> ChainSpec:
    """The arm."""
    panda = all_robots()['panda']
    return ChainSpec.of(panda.path, panda.base_link, panda.tip_link)


def grid_of(count: int) -> PoseGrid:
    """At least so many poses in front of the arm, 20 orientations at each place; none is held."""
    rng = np.random.default_rng(1)
    side = int(np.ceil((count / 20) ** (1 / 3)))
    axes = np.linspace(0.3, 0.6, side), np.linspace(-0.3, 0.3, side), np.linspace(0.2, 0.6, side)
    turns = []
    for roll, pitch in rng.uniform(-0.5, 0.5, (20, 2)):
        about_x = [[1, 0, 0], [0, np.cos(roll), -np.sin(roll)], [0, np.sin(roll), np.cos(roll)]]
        about_y = [
            [np.cos(pitch), 0, np.sin(pitch)],
            [0, 1, 0],
            [-np.sin(pitch), 0, np.cos(pitch)],
        ]
        turns.append(np.array(about_x) @ about_y @ np.diag([1.0, -1.0, -1.0]))
    return PoseGrid.over(axes, turns)


def measure_rates(count: int, chunk: int, repeats: int, folder: Path) -> list[dict[str, object]]:
    """Rows of the table: ways to solve, each compared with the batch on the same cores."""
    spec, grid = specification(), grid_of(count)
    targets, chain = grid.block(0, len(grid)), spec.build().chain
    path = folder / 'rate.zarr'

    def plain(cores: int) -> Callable[[], object]:
        return lambda: iks.solve_ik_batch(chain, targets, threads=cores)

    def stored(**how: object) -> Callable[[], object]:
        def call() -> None:
            shutil.rmtree(path, ignore_errors=True)
            solve_to_store(spec, grid, path, chunk=chunk, progress=False, **how)

        return call

    all_, rows = len(os.sched_getaffinity(0)), []
    for cores in dict.fromkeys((1, all_)):
        calls = {'batch': plain(cores), 'store': stored(threads=cores)}
        rows += _in_turns(calls, cores, len(grid), repeats)
    for way, workers, cores, settings in (
        ('Dask, a worker with one thread', 1, 1, {}),
        ('Dask, a worker with our threads', 1, all_, {}),
        ('Dask, a worker with our threads, less watched', 1, all_, QUIET),
        (f'Dask, {all_} workers with one thread', all_, all_, {}),
        (f'Dask, {all_} workers with one thread, less watched', all_, all_, QUIET),
    ):
        with cluster_of(workers, settings) as client:
            threads = {'threads': 1} if cores == 1 else {}
            calls = {'batch': plain(cores), way: stored(client=client, **threads)}
            rows += _in_turns(calls, cores, len(grid), repeats)[1:]
    return rows


@contextmanager
def cluster_of(workers: int, settings: dict[str, object]) -> Iterator[Client]:
    """Client of workers with one thread each; only for its time, as idle ones take some, too."""
    import dask
    from distributed import Client, LocalCluster

    quiet = {'processes': True, 'dashboard_address': ':0', 'threads_per_worker': 1}
    with (
        dask.config.set(settings),
        LocalCluster(n_workers=workers, **quiet) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _in_turns(
    calls: dict[str, Callable[[], object]], cores: int, poses: int, repeats: int
) -> list[dict[str, object]]:
    """Rows of calls, of which the first is what the others are compared with."""
    seconds = {way: [] for way in calls}
    for number in range(repeats + 1):
        progress(f'rates, {" and ".join(calls)}: round {number} of {repeats}')
        for way, call in calls.items():
            began = perf_counter()
            call()
            if number:  # the first round compiles
                seconds[way].append(perf_counter() - began)
    first = next(iter(calls))
    return [
        {
            'way': way,
            'cores': cores,
            'poses': poses,
            'poses_per_second': poses / float(np.median(times)),
            **quartiles('times_batch', np.divide(seconds[first], times)),
        }
        for way, times in seconds.items()
    ]


def measure_memory(count: int, folder: Path) -> dict[str, object]:
    """Row of the table: the peak of a process of its own that fills a store."""
    progress(f'memory: {count} poses')
    command = [sys.executable, __file__, '--peak-of', str(count), '--folder', str(folder)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _peak(count: int, folder: Path) -> dict[str, object]:
    spec, grid = specification(), grid_of(count)
    spec.build().solve(grid.block(0, 1)[0])
    before = _peak_megabytes()
    path = folder / 'memory.zarr'
    report = solve_to_store(spec, grid, path, progress=False)
    row = {
        'poses': report.count,
        'solved_percent': 100.0 * float(np.mean(report.store.read('status') == 0)),
        'peak_before_mb': before,
        'peak_mb': _peak_megabytes(),
        'poses_per_second': report.rate,
        'bytes_per_pose': sum(f.stat().st_size for f in path.rglob('*') if f.is_file())
        / report.count,
    }
    began = perf_counter()
    solve_to_store(spec, grid, path, progress=False)
    row['verified_s'] = perf_counter() - began
    shutil.rmtree(path)
    return row


def _peak_megabytes() -> float:
    """Peak of this program; that of ``getrusage`` counts the process that has started it, too."""
    status = Path('/proc/self/status').read_text(encoding='utf-8')
    return float(status.split('VmHWM:')[1].split()[0]) / 1024


if __name__ == '__main__':
    main()
