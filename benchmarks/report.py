"""Page docs/benchmarks.md and its figure, written from the results on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from figure import draw
from findings import Goal, goals, losses, Row
from records import progress, read_csv, RESULTS

DOCS = Path(__file__).resolve().parents[1] / 'docs'
PAGE = DOCS / 'benchmarks.md'

Column = tuple[str, Callable[[Row], str]]

_INTRODUCTION = """\
# Benchmarks

This page is written by `benchmarks/report.py` from the tables in `benchmarks/results`, which
`make bench` measures again. Each part also runs alone, for instance
`.bench-venv/bin/python benchmarks/solvers.py --help`.

All solvers get the same problems in the same process on the same core, in turns. A problem is the
forward kinematics of a joint vector drawn uniformly within the limits; the search starts in the
middle of the limits. A problem counts as solved when, by Pinocchio's forward kinematics, all six
components of the twist to the target are within 1e-5 (m or rad) and every joint is within its
limits, whatever the solver reports. Times are those of a call from Python, of solved and unsolved
problems alike. “× ours” is the ratio of the mean times of one round to those of the default method
of this project; both solvers get the same problems directly after each other. The tables give the
median of the rounds and its quartiles.
"""
_TEXTS = {
    'solvers': """\
## Random reachable poses

One core. “(batch)” is `solve_ik_batch` on one thread, the others are single calls, of this project
through `Solver.solve`. “× ours” is relative to the first row of each chain. roboticstoolbox is
`ik_LM` (C++, Chan, k = 0.1) with tol = 5e-11, because its default lets errors of 1.4e-3 pass;
TRAC-IK is pytracik in Speed mode with 5 ms; pink is a loop of at most 100 steps; EAIK is the
closed form and the choice of the nearest solution within the limits. ikpy and pink get fewer
problems.
""",
    'chains': """\
## Many robots

The default method, one core, time inside the compiled solver. The last two columns are the figures
of TRAC-IK's README (version 1.5.1, Speed mode, 5 ms) for the same protocol, measured on its
authors' machine and partly with other versions of the descriptions.
""",
    'chains_many': '### Many problems\n',
    'tracking': """\
## Following a path

Each solve starts from the previous solution. A jump is a joint motion between consecutive
solutions; the paths have 2,000 points, between which the joints have to move by a tenth of a jump
at most. “Inside” is the time in the compiled solver; the mean is that of the whole call.
""",
    'nearest': """\
## The nearest solution

Joint motion is the largest of any joint from the seed to the solution, compared over the problems
that all three solved.
""",
    'all_solutions': """\
## All solutions

Random reachable poses, one core, calls from Python. A branch is a solution within the limits but
for full turns, verified as above but to 1e-7; “branches” are those that any of the libraries has
found, and “missed” those of them that this one has not. “Search only” is without the closed form,
as for an arm that has none. EAIK's solutions are taken as they come, within the limits or not.
""",
    'giving_up': """\
## Unreachable targets

“Turned inwards”: poses at the edge of the workspace with the tool turned by 180°. “Says” counts
the results by status; “closest” is the median distance of the pose that this project returns.
""",
    'growth': """\
## Growth with the number of joints

![time of an iteration against the number of joints](figures/growth.png)
""",
    'overhead': '## Overhead of a call, and the first solve of a process\n',
    'batch': """\
## Batches

Times of the whole call. “Each a batch of its own”: each of two threads solves half of the targets
by a batch call on one thread.
""",
    'two_arms': """\
## Several tips, and tolerances

Random reachable poses from random seeds, one core, calls of `Solver.solve`. Solved is what the
solver reports; the tests check it apart from the kernels.
""",
    'collisions': """\
## Collision checks

Random postures, one core, calls from Python. Pinocchio checks the same pairs of links, all of them
each time. “Other verdicts” are those that differ from Pinocchio's with new geometry data for each
posture, since what it keeps from one posture to the next makes it err now and then; among objects
they are those in which single checks and those of many postures at once differ. The objects are
boxes, balls and cans of 2 to 10 cm within 1.2 m of the robot.
""",
    'service': """\
## The service

Round trips over DDS between processes. The echo responds to the same request type with a response
of the same size; trigger is `std_srvs/Trigger`; both are plain rclpy.
""",
}


def main() -> None:
    """Write the page."""
    drawn = draw(DOCS / 'figures' / 'benchmarks.png')
    parts = [_INTRODUCTION, *_circumstances()]
    if drawn:
        parts.append(
            '![mean time of a solve, and share of problems solved](figures/benchmarks.png)\n'
        )
    parts += [_goals(goals()), _losses()]
    for part, text in _TEXTS.items():
        rows = read_csv(RESULTS / f'{part}.csv')
        if rows:
            parts += [text, _table(rows, _COLUMNS[part.removesuffix('_many')])]
            parts += _absences(rows)
    DOCS.mkdir(exist_ok=True)
    PAGE.write_text('\n'.join(parts))
    progress('wrote docs/benchmarks.md')


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: row.get(name, '')


def _number(name: str) -> Callable[[Row], str]:
    return lambda row: _readable(row.get(name, ''))


def _spread(name: str) -> Callable[[Row], str]:
    """Median and quartiles in one cell."""

    def cell(row: Row) -> str:
        values = [row.get(f'{name}{end}', '') for end in ('', '_q1', '_q3')]
        if not all(values):
            return ''
        middle, low, high = map(_readable, values)
        return middle if low == high else f'{middle} ({low}–{high})'

    return cell


def _readable(text: str) -> str:
    """A number with three digits, or all those before its point; other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    if abs(value) >= 100 or value == int(value):
        return f'{value:,.0f}' if abs(value - 100) > 1 else f'{value:.5g}'
    return f'{value:.4g}' if abs(value) >= 10 else f'{value:.3g}'


_TIMES = [('mean µs', _number('mean_us')), ('p99 µs', _number('p99_us'))]
_WHO = [('chain', _text('chain')), ('solver', _text('solver'))]
_COLUMNS: dict[str, list[Column]] = {
    'solvers': [
        *_WHO, ('problems', _number('problems')), ('mean µs', _number('mean_us')),
        ('median µs', _number('median_us')), ('p99 µs', _number('p99_us')),
        ('solved %', _number('success_percent')), ('× ours', _spread('times_ours')),
    ],
    'chains': [
        ('chain', _text('chain')), ('joints', _number('joints')),
        ('problems', _number('problems')), ('failures', _number('failures')), *_TIMES,
        ('searches, mean', _number('mean_searches')), ('most', _number('max_searches')),
        ('TRAC-IK %', _number('trac_ik_percent')), ('TRAC-IK µs', _number('trac_ik_us')),
    ],
    'tracking': [
        ('chain', _text('chain')), ('path', _text('path')), ('solver', _text('solver')), *_TIMES,
        ('inside µs', _number('inside_us')),
        ('solved %', _number('solved_percent')), ('jumps > 0.1 rad', _number('jumps_0.1')),
        ('> 0.5 rad', _number('jumps_0.5')), ('× ours', _spread('times_ours')),
    ],
    'nearest': [
        ('chain', _text('chain')), ('seeds', _text('seeds')), ('solver', _text('solver')),
        ('mean µs', _number('mean_us')), ('solved %', _number('solved_percent')),
        ('mean motion', _number('mean_motion')), ('median', _number('median_motion')),
    ],
    'all_solutions': [
        *_WHO, ('median µs', _number('median_us')), *_TIMES,
        ('branches', _number('branches')), ('missed', _number('missed')),
        ('found %', _number('found_percent')),
    ],
    'giving_up': [
        ('chain', _text('chain')), ('targets', _text('targets')), ('solver', _text('solver')),
        *_TIMES, ('reached', _number('reached')), ('says', _text('says')),
        ('closest mm', _number('closest_mm')), ('closest °', _number('closest_deg')),
    ],
    'growth': [
        ('method', _text('solver')), ('joints', _number('joints')),
        ('ns per iteration', _number('ns_per_iteration')),
        ('ns per iteration and joint', _number('ns_per_iteration_and_joint')),
        ('solved %', _number('success_percent')),
    ],
    'overhead': [
        ('what', _text('what')), ('median', _spread('median')), ('unit', _text('unit')),
        ('whole call µs', _number('whole_call_median')),
    ],
    'batch': [
        ('chain', _text('chain')), ('threads', _number('threads')),
        ('poses/s', _number('poses_per_second')),
        ('× one thread', _spread('times_one_thread')), ('failures', _number('failures')),
    ],
    'two_arms': [
        ('problem', _text('problem')), ('joints', _number('joints')),
        ('problems', _number('problems')), *_TIMES, ('searches', _number('searches')),
        ('solved %', _number('success_percent')),
    ],
    'collisions': [
        ('robot', _text('robot')), ('objects', _number('objects')), ('checker', _text('checker')),
        ('median µs', _number('median_us')), *_TIMES,
        ('colliding %', _number('colliding_percent')),
        ('other verdicts', _number('other_verdicts')),
    ],
    'service': [
        ('service', _text('service')), ('clients', _number('clients')),
        ('calls', _number('calls')), ('p50 µs', _number('p50_us')), ('p99 µs', _number('p99_us')),
        ('calls/s', _number('calls_per_second')), ('solved %', _number('success_percent')),
        ('× echo', _spread('times_echo')),
    ],
}  # fmt: skip


def _table(rows: list[Row], columns: list[Column]) -> str:
    """Rows as a Markdown table, without those of absent peers."""
    lines = [
        '| ' + ' | '.join(header for header, _ in columns) + ' |',
        '|' + '---|' * len(columns),
    ]
    for row in rows:
        if not row.get('absent'):
            lines.append('| ' + ' | '.join(cell(row) for _, cell in columns) + ' |')
    return '\n'.join(lines) + '\n'


def _absences(rows: list[Row]) -> Iterator[str]:
    """Sentences about the libraries that are missing from a table."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.get('absent'):
            chains = reasons.setdefault((row['solver'], row['absent']), [])
            if row['chain'] not in chains:
                chains.append(row['chain'])
    for (solver, reason), chains in reasons.items():
        yield f'Not measured: {solver} ({", ".join(chains)}): {reason}.\n'


def _circumstances() -> Iterator[str]:
    """Machine, versions, dates and settings of the measurements."""
    runs = read_csv(RESULTS / 'runs.csv')
    for cpu, cores in dict.fromkeys((run['cpu'], run['cores']) for run in runs):
        yield f'Machine: {cpu}, {cores} cores.\n'
    for versions in dict.fromkeys((run['python'], run['versions']) for run in runs):
        yield f'Python {versions[0]}; {versions[1]}.\n'
    columns = [(name, _text(name)) for name in ('part', 'date', 'load', 'settings')]
    yield (
        'The load is that of the machine in the minute before the results were written. The\n'
        'machine is shared: at times everything takes up to 1.7 times as long, so that a goal in\n'
        'seconds can be missed; ratios hardly change. The start of “Python alone”, among the\n'
        'times of fresh processes, shows its speed: 0.044 s when it is not slowed.\n'
    )
    yield _table(runs, columns)


def _goals(found: list[Goal]) -> str:
    lines = ['## Goals\n', '| goal | worst | where | met |', '|---|---|---|---|']
    for goal in found:
        case, value = goal.worst
        met = 'yes' if goal.met == len(goal.values) else f'{goal.met} of {len(goal.values)}'
        lines.append(f'| {goal.text} | {_readable(str(value))} | {case} | {met} |')
    return '\n'.join(lines) + '\n'


def _losses() -> str:
    found = losses()
    lines = [f'- {sentence}' for sentence in found]
    return '\n'.join(
        [
            '## Cases in which another library is better\n',
            *(lines or ['None in these tables.']),
            '',
        ]
    )


if __name__ == '__main__':
    main()
