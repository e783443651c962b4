"""Page docs/benchmarks.md and its figure, written from the results on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from figure import draw
from findings import Goal, goals, losses, losses_to_more_peers, Row
from records import progress, read_csv, RESULTS
from report_texts import INTRODUCTION, LOST, TEXTS

DOCS = Path(__file__).resolve().parents[1] / 'docs'
PAGE = DOCS / 'benchmarks.md'

Column = tuple[str, Callable[[Row], str]]


def main() -> None:
    """Write the page."""
    drawn = draw(DOCS / 'figures' / 'benchmarks.png')
    parts = [INTRODUCTION, *_circumstances()]
    if drawn:
        parts.append(
            '![mean time of a solve, and share of problems solved](figures/benchmarks.png)\n'
        )
    parts += [_goals(goals()), _losses()]
    for part, text in TEXTS.items():
        rows = read_csv(RESULTS / f'{part}.csv')
        if rows:
            parts.append(text.replace(LOST, _bullets(losses_to_more_peers())))
            parts.append(_table(rows, _COLUMNS[part.removesuffix('_many')]))
            parts += _absences(rows)
    DOCS.mkdir(exist_ok=True)
    PAGE.write_text('\n'.join(parts))
    progress('wrote docs/benchmarks.md')


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: row.get(name, '')


def _number(name: str) -> Callable[[Row], str]:
    return lambda row: _readable(row.get(name, ''))


def _longer(name: str) -> Callable[[Row], str]:
    """Ratio in per cent above 1."""
    return lambda row: f'{100.0 * float(row[name]) - 100.0:.1f}'


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
    'more_peers': [
        ('chain', _text('chain')), ('seeds', _text('seeds')), ('solver', _text('solver')),
        ('problems', _number('problems')), ('solved %', _number('success_percent')),
        ('median µs', _number('median_us')), ('p95 µs', _number('p95_us')),
        ('mean µs', _number('mean_us')), ('motion', _number('motion')),
    ],
    'more_peers_free': [
        ('solver', _text('solver')), ('problems', _number('problems')),
        ('solved %', _number('success_percent')), ('colliding %', _number('colliding_percent')),
        ('median µs', _number('median_us')), ('p95 µs', _number('p95_us')),
        ('mean µs', _number('mean_us')),
    ],
    'chains': [
        ('chain', _text('chain')), ('joints', _number('joints')),
        ('problems', _number('problems')), ('failures', _number('failures')), *_TIMES,
        ('searches, mean', _number('mean_searches')), ('most', _number('max_searches')),
        ('TRAC-IK %', _number('trac_ik_percent')), ('TRAC-IK µs', _number('trac_ik_us')),
    ],
    'odd_limits': [
        ('arm', _text('arm')), ('joints', _number('joints')), ('problems', _number('problems')),
        ('failures', _number('failures')), ('median µs', _number('median_us')),
        ('searches, mean', _number('mean_searches')), ('most', _number('max_searches')),
        ('reading ms', _number('read_ms')),
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
    'general_arms': [
        *_WHO, ('median µs', _number('median_us')), *_TIMES,
        ('branches', _number('branches')), ('missed', _number('missed')),
        ('found %', _number('found_percent')), ('proved %', _number('proved_percent')),
    ],
    'self_motions': [
        ('chain', _text('chain')), ('poses', _number('poses')),
        ('median µs', _number('median_us')), *_TIMES, ('branches', _number('branches')),
        ('proved %', _number('proved_percent')), ('solutions', _number('solutions')),
        ('missed', _number('missed')), ('wrong', _number('wrong')),
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
    'collision_free': [
        ('objects', _number('objects')), ('seeds', _text('seeds')), ('answers', _text('answers')),
        ('mean µs', _number('mean_us')), ('median µs', _number('median_us')),
        ('p99 µs', _number('p99_us')), ('searches', _number('mean_searches')),
        ('solved %', _number('solved_percent')), ('colliding %', _number('colliding_percent')),
        ('batch, one thread µs', _number('batch_one_thread_us')),
        ('batch, all cores µs', _number('batch_all_cores_us')),
    ],
    'paths': [
        ('chain', _text('chain')), ('path', _text('path')), ('solver', _text('solver')),
        ('points', _number('points')), ('solved %', _number('solved_percent')),
        ('without a jump up to %', _number('fraction_percent')),
        ('jumps > 0.1', _number('jumps_0.1')), ('largest motion', _number('largest_motion')),
        ('length', _number('length_ratio')), ('bends', _number('bend_rms_ratio')),
        ('s', _number('seconds')),
    ],
    'jerk_timing': [
        ('chain', _text('chain')), ('path', _text('path')), ('paths', _number('paths')),
        ('compared with', _text('best')), ('longer by %, median', _longer('ratio_median')),
        ('worst', _longer('ratio_worst')), ('exceeded', _number('exceeded')),
        ('points', _number('points')), ('median ms', _number('median_ms')),
        ('worst ms', _number('worst_ms')), ('without jerk ms', _number('without_ms')),
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
        'machine is shared: at times everything takes up to 1.7 times as long. A goal in\n'
        'seconds can then be missed; ratios hardly change. The start of “Python alone”, among\n'
        'the times of fresh processes, shows the speed: 0.044 s without other load.\n'
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
    return f'## Cases in which another library is better\n\n{_bullets(losses())}\n'


def _bullets(sentences: list[str]) -> str:
    return '\n'.join(f'- {each}' for each in sentences) or 'None in these tables.'


if __name__ == '__main__':
    main()
