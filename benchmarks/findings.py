"""Goals that the results meet, and cases in which another library is better."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
import operator

from records import read_csv, RESULTS

import ik_service as iks

Row = dict[str, str]

OURS = 'levenberg_marquardt'
NEAREST = 'ours, nearest in 1 ms'
_MAIN = ('panda', 'ur5', 'iiwa14')


@dataclass(frozen=True)
class Goal:
    """Bound for measured numbers, with their cases; an upper one, or the least."""

    text: str
    bound: float
    values: list[tuple[str, float]]
    least: bool = False

    @property
    def worst(self) -> tuple[str, float]:
        """The case that is farthest from the goal, or met it by least."""
        return (min if self.least else max)(self.values, key=lambda value: value[1])

    @property
    def met(self) -> int:
        """Number of cases that meet the goal."""
        return sum(
            value >= self.bound if self.least else value <= self.bound for _, value in self.values
        )


def rows_of(part: str, **wanted: str) -> list[Row]:
    """Rows of a part's results that have these values and numbers at all."""
    return [
        row
        for row in read_csv(RESULTS / f'{part}.csv')
        if not row.get('absent') and all(row[name] == value for name, value in wanted.items())
    ]


def goals() -> list[Goal]:
    """All goals for which there are results."""
    found = [
        Goal(text, bound, _values(*source) if isinstance(source, tuple) else source(), least)
        for text, bound, least, source in _GOALS
    ]
    return [goal for goal in found if goal.values]


Values = list[tuple[str, float]]


def _values(
    part: str, wanted: dict[str, str | tuple[str, ...]], column: str, labels: str
) -> Values:
    """Numbers of a column, with their cases, of rows that have these values or one of several."""
    return [
        (', '.join(row[name] for name in labels.split()), float(row[column]))
        for row in rows_of(part)
        if all(
            row[name] in ((value,) if isinstance(value, str) else value)
            for name, value in wanted.items()
        )
    ]


def _overhead(call: str) -> Values:
    rows = [row for row in rows_of('overhead') if row['what'].startswith(f'{call},')]
    return [(row['what'], float(row['median'])) for row in rows]


def _times_inside() -> Values:
    """Times of roboticstoolbox on paths, over those inside our compiled solver."""
    inside = {
        (row['chain'], row['path']): float(row['inside_us'])
        for row in rows_of('tracking', solver=OURS)
    }
    return [
        (f'{chain}, {path}', float(row['mean_us']) / inside[chain, path])
        for row in rows_of('tracking', solver='roboticstoolbox')
        if (chain := row['chain']) in _MAIN and (path := row['path'])
    ]


def _motions_to_nearest() -> Values:
    """Mean motions to our nearest solutions, over those to TRAC-IK's."""
    ours = {(row['chain'], row['seeds']): row for row in rows_of('nearest', solver=NEAREST)}
    return [
        (', '.join(case), float(ours[case]['mean_motion']) / float(row['mean_motion']))
        for row in rows_of('nearest', solver='TRAC-IK Distance in 5 ms')
        if row['chain'] in _MAIN and (case := (row['chain'], row['seeds'])) in ours
    ]


def _growths() -> Values:
    """Times of an iteration per joint with 60 joints, over those with 6."""
    per_joint = {
        (row['solver'], row['joints']): float(row['ns_per_iteration_and_joint'])
        for row in rows_of('growth')
    }
    return [
        (solver, time / per_joint[solver, '6'])
        for (solver, joints), time in per_joint.items()
        if joints == '60'
    ]


def _problems(part: str) -> int:
    rows = rows_of(part)
    return int(rows[0]['problems']) if rows else 0


_SMALL = tuple(str(count) for count in range(101))  # of objects
_GENERAL = 'all solutions of any six revolute joints'

_GOALS: tuple[tuple[str, float, bool, tuple | Callable[[], Values]], ...] = (
    ('random poses, in the batch call: roboticstoolbox takes at least 8 × as long', 8, True,
     ('solvers', {'solver': 'roboticstoolbox', 'chain': _MAIN}, 'times_ours', 'chain')),
    ('random poses, in the batch call: TRAC-IK takes at least 50 × as long', 50, True,
     ('solvers', {'solver': 'TRAC-IK', 'chain': _MAIN}, 'times_ours', 'chain')),
    ('tracking, inside the compiled solver: roboticstoolbox takes at least 4 × as long', 4, True,
     _times_inside),
    ('`Solver.solve` adds at most 3 µs to the solver', 3, False,
     partial(_overhead, 'Solver.solve')),
    ('`solve_ik` adds at most 10 µs to the solver', 10, False, partial(_overhead, 'solve_ik')),
    ('batch on two threads: at least 1.7 × one thread', 1.7, True,
     ('batch', {'threads': '2'}, 'times_one_thread', 'chain')),
    ('batch: at least 150,000 poses/s on iiwa14', 150_000, True,
     ('batch', {'threads': '2', 'chain': 'iiwa14'}, 'poses_per_second', 'chain')),
    *((f'no failure in {_problems(part):,} problems on each chain', 0, False,
       (part, {}, 'failures', 'chain')) for part in ('chains', 'chains_many')),
    ('tracking: no jump above 0.1 rad', 0, False,
     ('tracking', {'solver': OURS}, 'jumps_0.1', 'chain path')),
    ('tracking: every point solved', 100, True,
     ('tracking', {'solver': OURS}, 'solved_percent', 'chain path')),
    ('nearest in 1 ms: mean motion at most 1 × that of TRAC-IK Distance in 5 ms', 1, False,
     _motions_to_nearest),
    ('all solutions: at least 99.9 % of the branches', 99.9, True,
     ('all_solutions', {'solver': 'ours'}, 'found_percent', 'chain')),
    (f'{_GENERAL}: median at most 100 µs', 100.0, False,
     ('general_arms', {'solver': 'ours'}, 'median_us', 'chain')),
    (f'{_GENERAL}: all of the branches', 100.0, True,
     ('general_arms', {'solver': 'ours'}, 'found_percent', 'chain')),
    ('all solutions of seven joints: median at most 300 µs', 300.0, False,
     ('self_motions', {}, 'median_us', 'chain')),
    ('all solutions of seven joints: none missed', 0, False,
     ('self_motions', {}, 'missed', 'chain')),
    ('collision check of panda, up to 100 objects: at most 15 µs', 15, False,
     ('collisions', {'robot': 'panda', 'checker': 'ours', 'objects': _SMALL}, 'mean_us',
      'objects')),
    ("collision check: Pinocchio's verdict", 0, False,
     ('collisions', {'checker': 'ours'}, 'other_verdicts', 'robot objects')),
    ('free of collisions: at least 99.9 % solved', 99.9, True,
     ('collision_free', {'answers': 'free of collisions'}, 'solved_percent', 'objects seeds')),
    ('free of collisions: at most 60 µs', 60, False,
     ('collision_free', {'answers': 'free of collisions'}, 'mean_us', 'objects seeds')),
    ('two arms on a torso: at least 99.9 % solved', 99.9, True,
     ('two_arms', {'problem': 'upper body, both hands'}, 'success_percent', 'problem')),
    ('two arms on a torso: at most 100 µs', 100, False,
     ('two_arms', {'problem': 'upper body, both hands'}, 'mean_us', 'problem')),
    ('unreachable targets: at most 2 ms', 2000, False,
     ('giving_up', {'solver': OURS}, 'mean_us', 'chain targets')),
    ('whole paths: no jump above 0.1 rad', 0, False,
     ('paths', {'solver': 'solve_path'}, 'jumps_0.1', 'chain path')),
    ('whole paths: all of the path', 100, True,
     ('paths', {'solver': 'solve_path'}, 'fraction_percent', 'chain path')),
    ('whole paths: 2,000 points in 2 s', 2.0, False,
     ('paths', {'solver': 'solve_path'}, 'seconds', 'chain path')),
    ('timing with limits of jerk: at most 1.05 × the best', 1.05, False,
     ('jerk_timing', {}, 'ratio_worst', 'chain path')),
    ('timing with limits of jerk: none exceeded', 0, False,
     ('jerk_timing', {}, 'exceeded', 'chain path')),
    ('growth at most linear: time per joint with 60 joints at most 1 × that with 6', 1, False,
     _growths),
    *((f'{what}: below {bound:g} s', bound, False, ('overhead', {'what': what}, 'median', 'what'))
      for what, bound in (
          ('import ik_service', 0.4), ('first solve, warm cache', 0.6),
          ('first solve, warm cache, SciPy installed', 0.6), ('first solve, cold cache', 15.0),
      )),
    ('service: round trip at most 1.5 × that of an echo', 1.5, False,
     ('service', {'service': 'compute_ik', 'clients': '1'}, 'times_echo', 'service')),
    ('service: throughput with 16 clients at least 0.9 × that of an echo', 0.9, True,
     ('service', {'service': 'compute_ik', 'clients': '16'}, 'times_echo', 'service')),
)  # fmt: skip
"""Text and bound of each goal, whether it is a lower bound, and where its numbers are."""


def losses() -> list[str]:
    """Sentences on every case in which another library did better."""
    path, targets = ('chain', 'path'), ('chain', 'targets')
    return [
        *_compared('solvers', ('chain',), 'mean_us', operator.lt, 'a faster call', 'µs'),
        *_compared('solvers', ('chain',), 'success_percent', operator.gt, 'solved more', '%'),
        *losses_to_more_peers(),
        *_compared('tracking', path, 'mean_us', operator.lt, 'a faster call', 'µs'),
        *_compared('tracking', path, 'solved_percent', operator.gt, 'solved more', '%'),
        *_compared('tracking', path, 'jumps_0.1', operator.lt, 'fewer jumps above 0.1 rad'),
        *_compared(
            'paths', path, 'jumps_0.1', operator.lt, 'fewer jumps above 0.1 rad', '', 'solve_path'
        ),
        *_compared(
            'paths', path, 'jumps_0.1', operator.lt, 'fewer jumps from pose to pose'
        ),
        *_compared('giving_up', targets, 'mean_us', operator.lt, 'sooner', 'µs'),
        *_compared('giving_up', targets, 'reached', operator.gt, 'reached more'),
        *_compared(
            'nearest', ('chain', 'seeds'), 'mean_motion', operator.lt, 'nearer to the seed', 'rad',
            NEAREST,
        ),
        *_compared(
            'all_solutions', ('chain',), 'median_us', operator.lt, 'a faster call', 'µs', 'ours'
        ),
        *_compared('all_solutions', ('chain',), 'missed', operator.lt, 'missed fewer', '', 'ours'),
        *_published(),
    ]  # fmt: skip


def losses_to_more_peers() -> list[str]:
    """Sentences on the cases of the table of further libraries in which one of them did better."""
    part, case = 'more_peers', ('chain', 'seeds')
    return [
        *_compared(part, case, 'success_percent', operator.gt, 'solved more', '%'),
        *_compared(part, case, 'median_us', operator.lt, 'a faster call', 'µs'),
        *_nearest_sooner(),
    ]


def _nearest_sooner() -> Iterator[str]:
    """Sentences on libraries that move as little from a random seed, by 1 %, in less time."""
    cases = {'part': 'more_peers', 'seeds': 'random'}
    ours = {row['chain']: row for row in rows_of(**cases, solver=NEAREST)}
    for row in rows_of(**cases):
        own = ours[row['chain']]
        time, own_time = float(row['median_us']), float(own['median_us'])
        near = row['motion'] and float(row['motion']) <= 1.01 * float(own['motion'])
        if near and not is_ours(row['solver']) and time < own_time:
            yield (
                f'more peers, {row["chain"]}, random: {row["solver"]} the nearest solution '
                f'sooner, {time:.4g} against {own_time:.4g} µs'
            )


def _compared(
    part: str,
    case: tuple[str, ...],
    column: str,
    better: Callable[[float, float], bool],
    says: str,
    unit: str = '',
    ours: str = OURS,
) -> Iterator[str]:
    """Sentences on the rows of others whose number is better than that of our row."""
    own = {
        tuple(row[name] for name in case): float(row[column]) for row in rows_of(part, solver=ours)
    }
    for row in rows_of(part):
        key = tuple(row[name] for name in case)
        if is_ours(row['solver']) or not row[column]:
            continue
        value = float(row[column])
        if better(value, own[key]):
            yield (
                f'{part.replace("_", " ")}, {", ".join(key)}: {row["solver"]} {says}, '
                f'{value:.4g} against {own[key]:.4g} {unit}'.rstrip()
            )


def is_ours(solver: str) -> bool:
    """Whether a name in the tables is one of this project."""
    return solver.split()[0].rstrip(',') in {*iks.solver_names(), 'ours', 'solve_path'}


def _published() -> Iterator[str]:
    for row in rows_of('chains'):
        rate = 100.0 * (1.0 - int(row['failures']) / int(row['problems']))
        if row['trac_ik_percent'] and float(row['trac_ik_percent']) > rate:
            yield (
                f'chains, {row["chain"]}: TRAC-IK published {row["trac_ik_percent"]} % '
                f'against {rate:.2f} %'
            )
