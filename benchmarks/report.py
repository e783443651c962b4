"""Page docs/benchmarks.md, its texts and its figure, written from the results on disk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from findings import Goal, goals, is_ours, losses, losses_to_more_peers, Row, rows_of
from records import progress, read_csv, RESULTS

DOCS = Path(__file__).resolve().parents[1] / 'docs'
PAGE = DOCS / 'benchmarks.md'

INTRODUCTION = """\
# Benchmarks

`benchmarks/report.py` writes this page from the tables in `benchmarks/results`. `make bench`
repeats the measurements. Each part also runs alone, for instance
`.bench-venv/bin/python benchmarks/solvers.py --help`.

All solvers get the same problems in the same process on the same core, in turns. The target of a
problem is the forward kinematics of a joint vector drawn uniformly within the limits; the search
starts in the middle of the limits. A problem counts as solved if, by Pinocchio's forward
kinematics, all six components of the twist to the target are within 1e-5 (m or rad) and every
joint is within its limits, whatever the solver reports. Times are those of calls from Python, for
solved and unsolved problems alike. “× ours” is the ratio of a solver's mean time in a round to
that of the default method of this project; the two solve the same problems directly after each
other. The tables give the median and the quartiles over the rounds.
"""
LOST = '{lost}'  # placeholder of the cases in which a library of that table does better

TEXTS = {
    'solvers': """\
## Random reachable poses

One core. “(batch)” is `solve_ik_batch` on one thread; the others are single calls, for this
project of `Solver.solve`. “× ours” is relative to the first row of each chain. roboticstoolbox is
`ik_LM` (C++, Chan, k = 0.1) with tol = 5e-11, because its default accepts errors of 1.4e-3;
TRAC-IK is pytracik in Speed mode with 5 ms; pink is a loop of at most 100 steps; EAIK is the
closed form plus the choice of the nearest solution within the limits. ikpy and pink get fewer
problems.
""",
    'more_peers': """\
## Ten more libraries

All cases in which they do better:

{lost}

Tolerances and limits are as above; all run on one core, in turns. Random seeds are random joint
vectors other than the target's; near seeds differ from it by up to 0.1 rad. “Motion” is the
median, over the solved problems, of the largest joint motion from the seed; “nearest in 1 ms”
minimises it. Each library gets a plain description of the single chain. All but Pink and EAIK run
in separate processes and time each call themselves; PlaCo has a separate environment, as it needs
Pinocchio 3.8. The versions are among the settings above.

- Closed forms: EAIK with the choice of the nearest solution within the limits, and “first”, its
  first exact solution, which may be beyond the limits. ssik with its own module of the arm, if
  that has the same dimensions and limits (xarm6), otherwise with the output of `ssik build`, and
  one solution, the nearest. frankik by default tries 60 values of the last joint within 20° of the
  seed's value on its branch; “one value” is the seed's value alone, and “everywhere” is the whole
  range of that joint on all branches.
- Searches: optik (optik-py) with its own restarts, one thread, at most 0.1 s.
- Local methods: pink, mink, PlaCo, PyRoki (its only package on PyPI is the fork almond-pyroki),
  roboplan-oink and embodik, set up as in their examples, without tasks that conflict with the
  pose. Each makes up to 100 steps from the seed and from each of nine further random joint
  vectors. With its own settings, embodik reaches 1e-5 from no random seed and from half of the
  near seeds of the Panda; the table has the best of some twenty settings. PyRoki computes in
  single precision, its default, and with a smaller cost tolerance; its compilation time is
  excluded.

For xArm6 and xArm7 [DimOS reports](https://github.com/dimensionalOS/dimos/pull/3334), with 10
starts each, on another machine and with a collision check: Pink 90 % in 125 ms and 97 % in 30 ms,
OInK 84.5 % in 37 ms and 97 % in 15 ms.
""",
    'more_peers_free': """\
### Free of collisions

Random collision-free poses of this package's Panda, from random seeds. A local method starts again
if its library's own test finds a self-collision of the arm; Pink leaves that test to Pinocchio.
“Colliding” is the share of the answers that collide by Pinocchio's test of all pairs; they do not
count as solved. EAIK, ssik, frankik and optik have no collision test. PyRoki has one, but encloses
each link in a single capsule; those of link3 and link5 of this arm, for instance, overlap in every
posture.
""",
    'chains': """\
## Many robots

The default method, one core, time inside the compiled solver. The last two columns are from
TRAC-IK's README (version 1.5.1, Speed mode, 5 ms): the same protocol, measured on its authors'
machine, partly with other versions of the robot descriptions.
""",
    'chains_many': '### Many problems\n',
    'odd_limits': """\
## Limits that mean none

The default method, one core, time inside the compiled solver. The six-joint arms have individual
dimensions and the limits that converters write for unlimited joints; some stand on rails or mobile
bases. Targets are within ±π rad, ±3 m on a rail and ±50 m or ±1 km on a base. “Reading” is the
least processor time of `Robot.from_urdf`.
""",
    'tracking': """\
## Following a path

Each solve starts from the previous solution. A jump is a joint motion between consecutive
solutions above the column's threshold. The paths have 2,000 points, between which the joints need
to move by at most a tenth of a jump. “Inside” is the time in the compiled solver; the mean is that
of the whole call.
""",
    'nearest': """\
## The nearest solution

Joint motion is the largest motion of any joint from the seed to the solution, over the problems
that all three solvers solved.
""",
    'all_solutions': """\
## All solutions

Random reachable poses, one core, calls from Python. A branch is a solution within the limits, full
turns disregarded, verified as above but to 1e-7. “Branches” counts those found by any of the
libraries, “missed” those that this library did not find. “Search only” is without the closed form,
as for an arm that has none. EAIK's solutions are not filtered by the limits.
""",
    'general_arms': """\
## All solutions without a closed form

The same for arms of six revolute joints. “Ours” is the elimination; Piper has a closed form. The
axes of “calibrated” arms are off by a milliradian and a millimetre. “Search only” is the search
used for other chains; “brute force” continues until ten times as many searches have found nothing
new. Branches are verified to 1e-9. “Proved” is the share of poses for which the elimination, or a
closed form, has shown without a search that there are no other solutions.
""",
    'self_motions': """\
## All solutions of seven joints

As intervals of one joint's angle; “branches” is their mean number. “Solutions” are those of the
arm with that joint locked at random angles, which the search from random postures finds.
""",
    'giving_up': """\
## Unreachable targets

“Turned inwards”: poses at the edge of the workspace with the tool turned by 180°. “Says” counts
the results by status; “closest” is the median distance from the target to this project's pose.
""",
    'growth': """\
## Growth with the number of joints

![time of an iteration against the number of joints](figures/growth.png)
""",
    'overhead': '## Overhead of a call, and the first solve of a process\n',
    'batch': """\
## Batches

Times of the whole call. “Each a batch of its own”: each of two threads solves half of the targets
in its own batch call on one thread.
""",
    'two_arms': """\
## Several tips, and tolerances

Random reachable poses from random seeds, one core, calls of `Solver.solve`. “Solved” is as
reported by the solver; the tests verify it independently of the kernels.
""",
    'collisions': """\
## Collision checks

Random postures, one core, calls from Python. Pinocchio checks the same pairs of links, all of them
each time. “Other verdicts” are those that differ from Pinocchio's with new geometry data for each
posture, as reused data makes Pinocchio err now and then. With objects, they are those in which
single checks and checks of many postures at once differ. The objects are boxes, balls and cans of
2 to 10 cm within 1.2 m of the robot.
""",
    'collision_free': """\
## Solutions free of collisions

Poses of random collision-free postures of the Panda, calls of `Solver.solve` on one core with and
without the collision checker. Without it, “colliding” is the share of the answers at which the arm
collides. All answers are verified by Pinocchio.
""",
    'paths': """\
## Whole paths

Poses along smooth joint paths through 40 random postures each. Between two postures every joint
moves by up to 30 % of its range; between two poses no joint needs to move by more than 0.06 rad.
The other solvers solve pose by pose, each from the previous solution. “Length” and “bends” are
relative to the joint path from which the poses were made; the time is that of the whole path, on
all cores. Finding a path without a jump takes longer than solving pose by pose.

Pose by pose, the default method of this project jumps as all others do, on some paths more often:
it follows one branch until it meets a limit or a singular posture, and cannot know which other
branch continues from there. Those paths are listed above, under “Cases in which another library is
better”. If the whole path is known, use `solve_path`.
""",
    'jerk_timing': """\
## Timing with limits of jerk

`time_path` with limits of velocity, acceleration and jerk, along random joint paths of each kind:
by how much longer the motion takes than the best known one from rest to rest. For straight lines,
that is Ruckig's motion along the line; for other paths, a dense optimisation by SciPy's HiGHS,
which enforces the limits at about 400 points only and is therefore slightly too fast. It has no
position limits; the tip lines stay 0.05 rad away from them.
“Exceeded” is the number of paths on which any limit is exceeded at one of 50 instants
between two consecutive points. The velocity limits are 0.3 to 1 times those of the description,
reached in 0.1 to 0.5 s; the acceleration limits are reached in 10 to 320 ms.
Times are those of the timing alone.
""",
    'service': """\
## The service

Round trips over DDS between processes. The echo server answers the same request type with a
response of the same size; trigger is `std_srvs/Trigger`; both are plain rclpy servers.
""",
}

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


def _circumstances() -> Iterator[str]:
    """Machine, versions, dates and settings of the measurements."""
    runs = read_csv(RESULTS / 'runs.csv')
    for cpu, cores in dict.fromkeys((run['cpu'], run['cores']) for run in runs):
        yield f'Machine: {cpu}, {cores} cores.\n'
    for versions in dict.fromkeys((run['python'], run['versions']) for run in runs):
        yield f'Python {versions[0]}; {versions[1]}.\n'
    yield (
        'The load is that of the machine in the minute before the results were written. The\n'
        'machine is shared: at times everything takes up to 1.7 times as long. A goal in\n'
        'seconds can then be missed; ratios hardly change. The start of “Python alone”, among\n'
        'the times of fresh processes, shows the speed: 0.044 s without other load.\n'
    )
    yield _table(runs, ('part', 'date', 'load', 'settings'), raw=True)


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


def draw(path: Path) -> bool:
    """Draw the figure as PNG; return whether there is something to draw, and Matplotlib."""
    rows = rows_of('solvers')
    try:
        import matplotlib as mpl
    except ImportError:
        return False
    if not rows:
        return False
    mpl.use('Agg')
    from matplotlib import pyplot as plt

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
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    return True


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
