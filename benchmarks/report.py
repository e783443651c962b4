"""
Tables and figure of docs/benchmarks.md, written from the results on disk.

Only what stands between ``<!-- written: NAME -->`` and ``<!-- end -->`` is written: the table of a
part, or one of the lists below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
import re

from findings import goals, is_ours, losses, losses_to_more_peers, Row, rows_of
from records import progress, read_csv, RESULTS

DOCS = Path(__file__).resolve().parents[1] / 'docs'
PAGE = DOCS / 'benchmarks.md'
_MARKED = re.compile(r'(<!-- written: (\w+) -->\n).*?(?=<!-- end -->)', re.DOTALL)

_HEADERS = {
    'batch_all_cores_us': 'batch, all cores µs', 'batch_one_thread_us': 'batch, one thread µs',
    'bend_rms_ratio': 'bends', 'best': 'compared with', 'calls_per_second': 'calls/s',
    'closest_deg': 'closest °', 'closest_mm': 'closest mm', 'colliding_percent': 'colliding %',
    'found_percent': 'found %', 'fraction_percent': 'without a jump up to %',
    'inside_us': 'inside µs', 'jumps_0.5': '> 0.5 rad', 'largest_motion': 'largest motion',
    'length_ratio': 'length', 'max_searches': 'most', 'mean_motion': 'mean motion',
    'mean_searches': 'searches, mean', 'mean_us': 'mean µs', 'median_motion': 'median',
    'median_ms': 'median ms', 'median_us': 'median µs', 'ns_per_iteration': 'ns per iteration',
    'ns_per_iteration_and_joint': 'ns per iteration and joint',
    'other_verdicts': 'other verdicts', 'p50_us': 'p50 µs', 'p95_us': 'p95 µs', 'p99_us': 'p99 µs',
    'poses_per_second': 'poses/s', 'proved_percent': 'proved %',
    'ratio_median': 'longer by %, median', 'ratio_worst': 'worst', 'read_ms': 'reading ms',
    'seconds': 's', 'solved_percent': 'solved %', 'success_percent': 'solved %',
    'times_echo': '× echo', 'times_one_thread': '× one thread', 'times_ours': '× ours',
    'trac_ik_percent': 'TRAC-IK %', 'trac_ik_us': 'TRAC-IK µs',
    'whole_call_median': 'whole call µs', 'without_ms': 'without jerk ms', 'worst_ms': 'worst ms',
}  # fmt: skip
"""Headers of columns that are not called as in the results."""

Column = str | tuple[str, str]
"""Name of a column in the results, or that and its header in one table."""
_COLUMNS: dict[str, tuple[Column, ...]] = {
    'solvers': (
        'chain', 'solver', 'problems', 'mean_us', 'median_us', 'p99_us', 'success_percent',
        'times_ours',
    ),
    'more_peers': (
        'chain', 'seeds', 'solver', 'problems', 'success_percent', 'median_us', 'p95_us',
        'mean_us', 'motion',
    ),
    'more_peers_free': (
        'solver', 'problems', 'success_percent', 'colliding_percent', 'median_us', 'p95_us',
        'mean_us',
    ),
    'chains': (
        'chain', 'joints', 'problems', 'failures', 'mean_us', 'p99_us', 'mean_searches',
        'max_searches', 'trac_ik_percent', 'trac_ik_us',
    ),
    'odd_limits': (
        'arm', 'joints', 'problems', 'failures', 'median_us', 'mean_searches', 'max_searches',
        'read_ms',
    ),
    'tracking': (
        'chain', 'path', 'solver', 'mean_us', 'p99_us', 'inside_us', 'solved_percent',
        ('jumps_0.1', 'jumps > 0.1 rad'), 'jumps_0.5', 'times_ours',
    ),
    'nearest': (
        'chain', 'seeds', 'solver', 'mean_us', 'solved_percent', 'mean_motion', 'median_motion',
    ),
    'all_solutions': (
        'chain', 'solver', 'median_us', 'mean_us', 'p99_us', 'branches', 'missed',
        'found_percent',
    ),
    'general_arms': (
        'chain', 'solver', 'median_us', 'mean_us', 'p99_us', 'branches', 'missed',
        'found_percent', 'proved_percent',
    ),
    'self_motions': (
        'chain', 'poses', 'median_us', 'mean_us', 'p99_us', 'branches', 'proved_percent',
        'solutions', 'missed', 'wrong',
    ),
    'giving_up': (
        'chain', 'targets', 'solver', 'mean_us', 'p99_us', 'reached', 'says', 'closest_mm',
        'closest_deg',
    ),
    'growth': (
        ('solver', 'method'), 'joints', 'ns_per_iteration', 'ns_per_iteration_and_joint',
        'success_percent',
    ),
    'overhead': ('what', 'median', 'unit', 'whole_call_median'),
    'batch': ('chain', 'threads', 'poses_per_second', 'times_one_thread', 'failures'),
    'two_arms': (
        'problem', 'joints', 'problems', 'mean_us', 'p99_us', 'searches', 'success_percent',
    ),
    'collisions': (
        'robot', 'objects', 'checker', 'median_us', 'mean_us', 'p99_us', 'colliding_percent',
        'other_verdicts',
    ),
    'collision_free': (
        'objects', 'seeds', 'answers', 'mean_us', 'median_us', 'p99_us',
        ('mean_searches', 'searches'), 'solved_percent', 'colliding_percent',
        'batch_one_thread_us', 'batch_all_cores_us',
    ),
    'paths': (
        'chain', 'path', 'solver', 'points', 'solved_percent', 'fraction_percent',
        ('jumps_0.1', 'jumps > 0.1'), 'largest_motion', 'length_ratio', 'bend_rms_ratio',
        'seconds',
    ),
    'jerk_timing': (
        'chain', 'path', 'paths', 'best', 'ratio_median', 'ratio_worst', 'exceeded', 'points',
        'median_ms', 'worst_ms', 'without_ms',
    ),
    'service': (
        'service', 'clients', 'calls', 'p50_us', 'p99_us', 'calls_per_second', 'success_percent',
        'times_echo',
    ),
}  # fmt: skip


def main() -> None:
    """Write the page."""
    draw(DOCS / 'figures' / 'benchmarks.png')
    text = PAGE.read_text(encoding='utf-8')
    PAGE.write_text(_MARKED.sub(lambda mark: mark[1] + _written(mark[2]), text), encoding='utf-8')
    progress('wrote docs/benchmarks.md')


def _written(name: str) -> str:
    """Return a list of the page, or the table of a part and what is missing from it."""
    if name in _LISTS:
        return _LISTS[name]()
    rows = read_csv(RESULTS / f'{name}.csv')
    return '\n'.join([_table(rows, _COLUMNS[name.removesuffix('_many')]), *_absences(rows)])


def _readable(text: str) -> str:
    """A number with three digits, or all those before its point; other text as it is."""
    try:
        value = float(text)
    except ValueError:
        return text
    if abs(value) >= 100 or value == int(value):
        return f'{value:,.0f}' if abs(value - 100) > 1 else f'{value:.5g}'
    return f'{value:.4g}' if abs(value) >= 10 else f'{value:.3g}'


def _table(rows: list[Row], columns: tuple[Column, ...], raw: bool = False) -> str:
    """Rows as a Markdown table, without those of absent peers."""
    names = [column if isinstance(column, str) else column[0] for column in columns]
    headers = [_HEADERS.get(c, c) if isinstance(c, str) else c[1] for c in columns]
    lines = [f'| {" | ".join(headers)} |', '|' + '---|' * len(columns)]
    for row in rows:
        if not row.get('absent'):
            cells = (row[name] if raw else _cell(row, name) for name in names)
            lines.append(f'| {" | ".join(cells)} |')
    return '\n'.join(lines) + '\n'


def _cell(row: Row, name: str) -> str:
    """A number, with quartiles where there are any; a ratio of durations in per cent above 1."""
    if name.startswith('ratio_'):
        return f'{100.0 * float(row[name]) - 100.0:.1f}'
    middle, low, high = (_readable(row.get(f'{name}{end}', '')) for end in ('', '_q1', '_q3'))
    return f'{middle} ({low}–{high})' if middle and low != high else middle


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


def _machines() -> str:
    """Return the machines and versions of the measurements."""
    runs = read_csv(RESULTS / 'runs.csv')
    machines = dict.fromkeys(f'Machine: {run["cpu"]}, {run["cores"]} cores.\n' for run in runs)
    versions = dict.fromkeys(f'Python {run["python"]}; {run["versions"]}.\n' for run in runs)
    return '\n'.join([*machines, *versions])


def _runs() -> str:
    """Return the dates and settings of the measurements."""
    return _table(read_csv(RESULTS / 'runs.csv'), ('part', 'date', 'load', 'settings'), raw=True)


def _goals() -> str:
    lines = ['| goal | worst | where | met |', '|---|---|---|---|']
    for goal in goals():
        case, value = goal.worst
        met = 'yes' if goal.met == len(goal.values) else f'{goal.met} of {len(goal.values)}'
        lines.append(f'| {goal.text} | {_readable(str(value))} | {case} | {met} |')
    return '\n'.join(lines) + '\n'


def _bullets(sentences: list[str]) -> str:
    return ('\n'.join(f'- {each}' for each in sentences) or 'None in these tables.') + '\n'


_LISTS: dict[str, Callable[[], str]] = {
    'machines': _machines,
    'runs': _runs,
    'goals': _goals,
    'losses': lambda: _bullets(losses()),
    'more_peers_losses': lambda: _bullets(losses_to_more_peers()),
}


def draw(path: Path) -> None:
    """Draw the figure as PNG."""
    import matplotlib as mpl

    mpl.use('Agg')
    from matplotlib import pyplot as plt

    rows = rows_of('solvers')
    chains = list(dict.fromkeys(row['chain'] for row in rows))
    figure, axes = plt.subplots(
        1, len(chains), figsize=(3.3 * len(chains), 3.6), sharex=True, layout='constrained',
        squeeze=False,
    )  # fmt: skip
    for panel, chain in zip(axes[0], chains, strict=True):
        own = [row for row in rows if row['chain'] == chain]
        _bars(panel, sorted(own, key=lambda row: -float(row['mean_us'])))
        panel.set_title(chain)
    figure.supxlabel('mean time of a solve [µs]')
    figure.savefig(path, dpi=120)


def _bars(panel: object, rows: list[Row]) -> None:
    """One bar a solver, the fastest at the top, with the share of problems solved."""
    times = [float(row['mean_us']) for row in rows]
    colours = ['tab:blue' if is_ours(row['solver']) else 'tab:gray' for row in rows]
    bars = panel.barh([row['solver'] for row in rows], times, color=colours)
    solved = [f' {float(row["success_percent"]):.4g} %' for row in rows]
    panel.bar_label(bars, solved, fontsize=7)
    panel.set_xscale('log')
    panel.set_xlim(1, 3e5)
    panel.tick_params(axis='y', labelsize=7)


if __name__ == '__main__':
    main()
