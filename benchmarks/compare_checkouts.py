"""
Times of two checkouts of this project in turns, and their ratios.

    .venv/bin/python benchmarks/compare_checkouts.py ../base .

Every group of measurements runs in a process of its own with one of the checkouts on PYTHONPATH,
the two checkouts one after the other, in alternating order, round after round. A time is that of
the processor, and the least of some repeats in a process. The table gives the least of all rounds
with their ratio, and the median and quartiles of the ratios of each round; a row is marked where
both ratios are above the limit. Only names of the public API are
used, so that the checkouts may differ in everything else; what one of them does not offer is left
out. The callback of ``compute_ik`` is called without DDS, and only where ROS 2 and moveit_msgs can
be imported.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import subprocess
import sys

import checkout_timings
import numpy as np

Times = dict[str, list[float]]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('before', type=Path, help='folder of the checkout to compare with')
    parser.add_argument('after', type=Path, help='folder of the other one')
    parser.add_argument('--rounds', type=int, default=7, help='default: %(default)s')
    parser.add_argument(
        '--only',
        default=','.join(checkout_timings.GROUPS),
        help='groups of measurements, separated by commas (default: %(default)s)',
    )
    parser.add_argument(
        '--limit', type=float, default=1.03, help='ratio above which a row is marked slower'
    )
    args = parser.parse_args()
    checkouts = [folder.resolve() for folder in (args.before, args.after)]
    for folder in checkouts:
        if not (folder / 'ik_service' / '__init__.py').is_file():
            parser.error(f'{folder} is no checkout of this project')
    groups = args.only.split(',')
    unknown = sorted(set(groups) - set(checkout_timings.GROUPS))
    if unknown:
        parser.error(f'no group {", ".join(unknown)} among {", ".join(checkout_timings.GROUPS)}')
    _print_table(*measure(checkouts, groups, args.rounds), args.limit)


def measure(checkouts: list[Path], groups: list[str], rounds: int) -> list[Times]:
    """
    Measure two checkouts in turns.

    :param rounds: how many processes of each group and checkout.
    :returns: the times of each round by name [s], for each checkout.
    """
    found: list[Times] = [{}, {}]
    for group in groups:
        for folder in checkouts:  # compiles, and fills the cache
            _timed(folder, group)
        for number in range(rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            for k in order:
                for name, seconds in _timed(checkouts[k], group).items():
                    found[k].setdefault(name, []).append(seconds)
            print(f'{group}: round {number + 1} of {rounds}', file=sys.stderr, flush=True)
    return found


def _timed(checkout: Path, group: str) -> dict[str, float]:
    """Times of a group by name [s], from a process of its own."""
    environment = {
        **os.environ,
        'PYTHONPATH': str(checkout),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF',
        **dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1'),
    }
    command = [sys.executable, Path(checkout_timings.__file__), group]
    done = subprocess.run(
        command, env=environment, cwd=checkout, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f'{checkout}: {group} failed:\n{done.stderr}')
    times: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return times


def _print_table(before: Times, after: Times, limit: float) -> None:
    """Print times and ratios as a Markdown table; rows above the limit are marked."""
    print('| what | before | after | ratio | ratio of a round (quartiles) | |')
    print('|---|---|---|---|---|---|')
    for name in before:
        if name not in after:
            continue
        low, middle, high = np.percentile(np.divide(after[name], before[name]), (25, 50, 75))
        least = min(after[name]) / min(before[name])
        mark = 'slower' if min(least, middle) > limit else ''
        print(
            f'| {name} | {_text(min(before[name]))} | {_text(min(after[name]))} | {least:.3f} '
            f'| {middle:.3f} ({low:.3f}–{high:.3f}) | {mark} |'
        )
    for name in sorted(before.keys() ^ after.keys()):
        print(f'left out: {name} is only in one of the checkouts', file=sys.stderr)


def _text(seconds: float) -> str:
    if seconds >= 0.1:
        return f'{seconds:.3f} s'
    return f'{1e3 * seconds:.3g} ms' if seconds >= 1e-3 else f'{1e6 * seconds:.3f} µs'


if __name__ == '__main__':
    main()
