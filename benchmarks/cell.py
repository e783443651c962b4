"""
Many arms on one machine: processor time, memory, and how steadily commands come.

Pandas and UR5e in turn, each with a node at 100 Hz that follows a target on a circle. The nodes
are those of ``ik_cell``: in one process, in some, or each in its own. Arms and targets are one
more process (``cell_arms.py``), which is not counted. The intervals are between the times at which
a node published one command and the next. Rows that were measured while others used the machine
tell the truth about neither: ``busy`` is the share of the time in which the cores did other work.

    .venv/bin/python benchmarks/cell.py [--arms 10] [--processes 1 2 10] [--seconds 20]
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
import json
import math
import os
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
import time

import numpy as np
from records import own_ros_domain, progress, save

import ik_service as iks
from ik_service.common.child_process import ChildProcess
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.tables import show

HERE = Path(__file__).resolve().parent
KINDS = {
    'panda': ('panda_link0', 'panda_hand_tcp', (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, math.pi / 4)),
    'ur5e': ('base_link', 'tool0', (0.0, -1.57, 1.57, -1.57, -1.57, 0.0)),
}
RATE = 100.0  # of the commands [Hz]
LATE = 1.5  # periods; a longer interval is a late one
_READY = 180.0  # time that the nodes may take to start: kernels may have to be compiled [s]
_WARM_UP = 4.0  # [s]


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--arms', type=int, nargs='+', default=[10])
    parser.add_argument('--processes', type=int, nargs='+', default=[1, 2, 10])
    parser.add_argument('--seconds', type=float, default=20.0, help='of each measurement')
    args = parser.parse_args()
    rows = []
    with own_ros_domain(HERE.parent):
        for count in args.arms:
            for processes in args.processes:
                if processes <= count:
                    rows.append(measure(count, processes, args.seconds))
                    progress(f'{count} arms, {processes} processes')
    show(rows)
    save('cell', rows, **vars(args))


def cell_file(folder: Path, count: int) -> tuple[Path, dict[str, object]]:
    """Write a cell of so many arms; return its file, and what :mod:`cell_arms` needs of them."""
    entries, arms = {}, {}
    for i in range(count):
        kind = (*KINDS,)[i % len(KINDS)]
        base, tip, start = KINDS[kind]
        name = f'arm{i}'
        entries[name] = {
            'urdf': str(urdf_path(kind)),
            'base': {'xyz': [1.5 * (i % 5), 1.5 * (i // 5), 0.0]},
            'base_link': base,
            'tip_link': tip,
            'parameters': {'publish_rate': RATE},
        }
        chain = iks.Robot.from_urdf(urdf_path(kind)).chain(base, tip)
        T = chain.forward(np.array(start))
        arms[name] = {
            'joints': [f'{name}_{joint}' for joint in chain.joint_names],
            'start': start,
            'frame': f'{name}_{base}',
            'pose': [*T[:3, 3].tolist(), *quaternion_xyzw_from_rotation(T[:3, :3])],
        }
    file = folder / 'cell.yaml'
    file.write_text(json.dumps({'arms': entries}))  # JSON is YAML
    return file, arms


def measure(count: int, processes: int, seconds: float) -> dict[str, object]:
    """Run a cell and return what is measured, a row of the table."""
    with TemporaryDirectory() as scratch, ExitStack() as stack:
        file, arms = cell_file(Path(scratch), count)
        words = [str(file), '--processes', str(processes)]
        began = time.monotonic()
        cell = stack.enter_context(ChildProcess('cell', 'ik_service.extras.cells.main', words))
        _until_ready(cell, count)
        started = time.monotonic() - began
        around = stack.enter_context(_around(arms))
        time.sleep(_WARM_UP)
        pids = [cell.pid, *_lasting_children(cell.pid)]
        mine = [*pids, around.pid, os.getpid()]
        _tell(around, 'clear')
        begin, used, own, busy = time.monotonic(), _used(pids), _used(mine), _busy()
        time.sleep(seconds)
        length = time.monotonic() - begin
        cpu, own, busy = _used(pids) - used, _used(mine) - own, _busy() - busy
        memory = _memory(pids)
        report = json.loads(_tell(around, 'report', answer=True))
    intervals = [np.diff(arm['times']) * 1e-6 for arm in report.values()]
    every = np.concatenate(intervals)
    late = np.concatenate([arm['late'] for arm in report.values()]) * 1e-6
    return {
        'arms': count,
        'processes': processes,
        'cpu_percent': 100.0 * cpu / length,
        'cpu_percent_per_arm': 100.0 * cpu / length / count,
        'pss_mib': memory[0],
        'rss_mib': memory[1],
        'slowest_hz': min(len(each) for each in intervals) / length,
        'median_ms': float(np.median(every)),
        'p99_ms': float(np.percentile(every, 99.0)),
        'max_ms': float(every.max()),
        'late_percent': 100.0 * float((every > LATE * 1e3 / RATE).mean()),
        'delivery_ms': float(np.median(late)),
        'start_s': started,
        'busy_percent': 100.0 * max(busy - own, 0.0) / length,
        'still': sum(arm['moved'] < 1e-3 for arm in report.values()),
    }


def _until_ready(cell: ChildProcess, count: int) -> None:
    deadline = time.monotonic() + _READY
    while cell.output.count(': ready after') < count:
        cell.check()
        if time.monotonic() > deadline:
            raise SystemExit(f'the cell is not ready:\n{cell.output}')
        time.sleep(0.05)


def _around(arms: dict[str, object]) -> subprocess.Popen[str]:
    program = [sys.executable, str(HERE / 'cell_arms.py'), json.dumps(arms)]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _tell(process: subprocess.Popen[str], word: str, answer: bool = False) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f'{word}\n')
    process.stdin.flush()
    return process.stdout.readline() if answer else ''


def _lasting_children(pid: int) -> list[int]:
    """Children but for compilers, once those are done."""
    while True:
        children = _children(pid)
        if not any('compilation' in _words(child) for child in children):
            return children
        time.sleep(0.5)


def _words(pid: int) -> str:
    try:
        return Path(f'/proc/{pid}/cmdline').read_text()
    except OSError:  # it has ended
        return 'compilation'


def _children(pid: int) -> list[int]:
    found = []
    for task in Path(f'/proc/{pid}/task').iterdir():
        found += [int(child) for child in (task / 'children').read_text().split()]
    return [*found, *(grandchild for child in found for grandchild in _children(child))]


def _used(pids: list[int]) -> float:
    """Processor time of processes [s]."""
    ticks = 0
    for pid in pids:
        fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf('SC_CLK_TCK')


def _busy() -> float:
    """Time that the cores were busy since the machine started [s]."""
    fields = [int(word) for word in Path('/proc/stat').read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf('SC_CLK_TCK')


def _memory(pids: list[int]) -> tuple[float, float]:
    """Memory of processes with shared pages divided among them, and counted fully [MiB]."""
    sums = {'Pss:': 0, 'Rss:': 0}
    for pid in pids:
        for line in Path(f'/proc/{pid}/smaps_rollup').read_text().splitlines():
            key, *values = line.split()
            if key in sums:
                sums[key] += int(values[0])
    return sums['Pss:'] / 1024, sums['Rss:'] / 1024


if __name__ == '__main__':
    main()
