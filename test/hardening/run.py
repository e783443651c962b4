"""
All robustness tests in one run, with figures.

    python -m hardening.run                      a few minutes
    python -m hardening.run --long               45 minutes; for docs/withstands.md
    python -m hardening.run --only faults load   parts of it: requests groups parameters
                                                      targets motions paths descriptions load
                                                      faults soak
    python -m hardening.run --output FILE        the figures as JSON
    python -m hardening.run --before FILE        figures of faults before, kept beside them:
                                                      those that a file keeps, or else its own
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import datetime, UTC
import json
import os
from pathlib import Path
import platform
import subprocess
import sys
import time

from support.harness import isolated_context

from hardening import workplace
from hardening.faults import complaints, FAULTS, judge_all, outside_of
from hardening.fuzz_motions import fuzz_motions, fuzz_targets
from hardening.fuzz_requests import fuzz_groups, fuzz_parameters, fuzz_paths, fuzz_requests
from hardening.fuzz_urdf import fuzz_urdf
from hardening.load import load, soak
from hardening.workplace import Row

# Counts of a short and of a long run.
_COUNTS = {
    'requests': (2_000, 60_000),
    'groups': (2_000, 30_000),
    'parameters': (300, 5_000),
    'targets': (1_000, 20_000),
    'motions': (2_000, 40_000),
    'paths': (300, 5_000),
    'descriptions': (2_000, 50_000),
    'each': (10, 100),
    'soak': (60, 1_200),  # [s]
}
_PARTS = (
    'requests', 'groups', 'parameters', 'targets', 'motions', 'paths', 'descriptions', 'load',
    'faults', 'soak',
)  # fmt: skip


def main(arguments=None) -> int:
    """Run the parts of the command line; the exit code is 0 when nothing was lost or wrong."""
    options = _parser().parse_args(arguments)
    counts = {name: pair[options.long] for name, pair in _COUNTS.items()}
    rows, outcomes = [], []
    with isolated_context() as context:
        for part in options.only or _PARTS:
            if part == 'faults':
                names = [name for _ in range(options.repeat) for name in FAULTS]
                outcomes = judge_all(names, lambda: workplace.bench(context), _say)
                rows.append(_of_faults(outcomes))
                _say(rows[-1])
            else:
                for made in _PARTS_MADE[part](context, counts, options.seed):
                    rows.append(made)
                    _say(made)
    if options.output:
        found = _document(options, rows, outcomes)
        options.output.write_text(json.dumps(found, indent=1, ensure_ascii=False) + '\n')
        _say(options.output)
    bad = [row.test for row in rows if row.lost or row.wrong]
    bad += [row.test for row in rows if row.stream and outside_of(row.stream, row.busy)]
    _say(f'not as it should be: {", ".join(dict.fromkeys(bad))}' if bad else 'all as it should be')
    return 1 if bad else 0


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--long', action='store_true')
    parser.add_argument('--only', nargs='+', choices=_PARTS)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--repeat', type=int, default=1, help='times that every fault happens')
    parser.add_argument('--output', type=Path)
    parser.add_argument('--before', type=Path)
    return parser


def _say(what):
    print(what, flush=True)


def _fuzzed(function, name, **more):
    def made(context, counts, seed):
        with workplace.bench(context) as bench:
            yield function(bench, counts[name], seed, **more)

    return made


def _descriptions(_context, counts, seed):
    yield fuzz_urdf(counts['descriptions'], seed)


def _loads(context, counts, _seed):
    cases = [
        (f'{n} {"client" if n == 1 else "clients"}', {'clients': n, 'each': 4 * counts['each']})
        for n in (1, 16, 64)
    ]
    cases.append(('1,000 requests at once', {'clients': 0, 'at_once': 1000}))
    for name, case in cases:
        with workplace.bench(context) as bench:
            yield load(bench, **case, name=name)


def _soaked(context, counts, seed):
    with workplace.bench(context) as bench:
        yield soak(bench, counts['soak'], seed)


_PARTS_MADE = {
    'requests': _fuzzed(fuzz_requests, 'requests', huge=0.002),
    'groups': _fuzzed(fuzz_groups, 'groups'),
    'parameters': _fuzzed(fuzz_parameters, 'parameters', largest=1000),
    'targets': _fuzzed(fuzz_targets, 'targets'),
    'motions': _fuzzed(fuzz_motions, 'motions'),
    'paths': _fuzzed(fuzz_paths, 'paths'),
    'descriptions': _descriptions,
    'load': _loads,
    'soak': _soaked,
}


def _of_faults(outcomes) -> Row:
    """Summary row of all faults."""
    row = Row('faults in motion', len(outcomes))
    for outcome in outcomes:
        row.stream = outcome.figures if row.stream is None else row.stream | outcome.figures
        found = complaints(FAULTS[outcome.name], outcome)
        if found:
            row.object_to(f'{outcome.name}: {"; ".join(found)}')
    return row


def _document(options, rows, outcomes):
    found = {
        'date': datetime.now(UTC).strftime('%Y-%m-%d'),
        'commit': _commit(),
        'long': options.long,
        'seed': options.seed,
        'machine': f'{os.cpu_count()} cores, {platform.machine()}, Python '
        f'{platform.python_version()}, {os.environ.get("ROS_DISTRO") or "ROS 2 from wheels"}',
        'rows': [row.as_dict() for row in rows],
        'faults': [_worst(name, outcomes) for name in dict.fromkeys(o.name for o in outcomes)],
    }
    if options.before:
        earlier = json.loads(options.before.read_text())
        found['faults before'] = earlier.get('faults before') or earlier['faults']
    return found


def _worst(name, outcomes):
    """The outcome of a fault; where it has happened several times, the worst of all."""
    same = [outcome for outcome in outcomes if outcome.name == name]
    figures = same[0].figures
    for outcome in same[1:]:
        figures |= outcome.figures
    moved = [outcome.moved for outcome in same]
    worst = None if None in moved else max(moved)
    return replace(same[0], figures=figures, moved=worst).as_dict()


def _commit():
    told = subprocess.run(
        ['git', '-C', str(workplace.REPOSITORY), 'rev-parse', '--short', 'HEAD'],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return told.stdout.strip()


if __name__ == '__main__':
    began = time.monotonic()
    code = main()
    _say(f'{time.monotonic() - began:.0f} s')
    sys.exit(code)
