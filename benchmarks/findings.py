"""Goals that the results meet, and cases in which another library is better."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
import operator

from records import read_csv, RESULTS

import ik_service as iks

Row = dict[str, str]

OURS = 'levenberg_marquardt'
NEAREST = 'ours, nearest in 1 ms'
_MAIN = ('panda', 'ur5', 'iiwa14')


@dataclass(frozen=True)
class Goal:
    """
    Bound for a measured number.

    :ivar text: name of the number, with the bound.
    :ivar bound: the number to be kept.
    :ivar values: the measured numbers with their cases.
    :ivar least: whether the bound is a lower one; else it is an upper one.
    """

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
    found = [*_speed_goals(), *_quality_goals(), *_path_goals(), *_system_goals()]
    return [goal for goal in found if goal.values]


def _values(rows: Iterable[Row], column: str, *labels: str) -> list[tuple[str, float]]:
    return [(', '.join(row[name] for name in labels), float(row[column])) for row in rows]


def _case(row: Row) -> str:
    return f'{row["chain"]}, {row["path"]}'


def _speed_goals() -> Iterator[Goal]:
    for peer, factor in (('roboticstoolbox', 8), ('TRAC-IK', 50)):
        rows = [row for row in rows_of('solvers', solver=peer) if row['chain'] in _MAIN]
        yield Goal(
            f'random poses, in the batch call: {peer} takes at least {factor} × as long',
            factor,
            _values(rows, 'times_ours', 'chain'),
            least=True,
        )
    inside = {_case(row): float(row['inside_us']) for row in rows_of('tracking', solver=OURS)}
    yield Goal(
        'tracking, inside the compiled solver: roboticstoolbox takes at least 4 × as long',
        4,
        [
            (_case(row), float(row['mean_us']) / inside[_case(row)])
            for row in rows_of('tracking', solver='roboticstoolbox')
            if row['chain'] in _MAIN
        ],
        least=True,
    )
    for name, bound in (('Solver.solve', 3), ('solve_ik', 10)):
        rows = [row for row in rows_of('overhead') if row['what'].startswith(f'{name},')]
        yield Goal(
            f'`{name}` adds at most {bound} µs to the solver',
            bound,
            _values(rows, 'median', 'what'),
        )
    rows = rows_of('batch', threads='2')
    yield Goal(
        'batch on two threads: at least 1.7 × one thread',
        1.7,
        _values(rows, 'times_one_thread', 'chain'),
        least=True,
    )
    rows = [row for row in rows if row['chain'] == 'iiwa14']
    yield Goal(
        'batch: at least 150,000 poses/s on iiwa14',
        150_000,
        _values(rows, 'poses_per_second', 'chain'),
        least=True,
    )


def _quality_goals() -> Iterator[Goal]:
    for part in ('chains', 'chains_many'):
        rows = rows_of(part)
        problems = int(rows[0]['problems']) if rows else 0
        yield Goal(
            f'no failure in {problems:,} problems on each chain',
            0,
            _values(rows, 'failures', 'chain'),
        )
    rows = rows_of('tracking', solver=OURS)
    yield Goal('tracking: no jump above 0.1 rad', 0, _values(rows, 'jumps_0.1', 'chain', 'path'))
    yield Goal(
        'tracking: every point solved',
        100,
        _values(rows, 'solved_percent', 'chain', 'path'),
        least=True,
    )
    ours = {(row['chain'], row['seeds']): row for row in rows_of('nearest', solver=NEAREST)}
    yield Goal(
        'nearest in 1 ms: mean motion at most 1 × that of TRAC-IK Distance in 5 ms',
        1,
        [
            (', '.join(case), float(ours[case]['mean_motion']) / float(row['mean_motion']))
            for row in rows_of('nearest', solver='TRAC-IK Distance in 5 ms')
            if row['chain'] in _MAIN and (case := (row['chain'], row['seeds'])) in ours
        ],
    )
    yield Goal(
        'all solutions: at least 99.9 % of the branches',
        99.9,
        _values(rows_of('all_solutions', solver='ours'), 'found_percent', 'chain'),
        least=True,
    )
    general = rows_of('general_arms', solver='ours')
    yield Goal(
        'all solutions of any six revolute joints: median at most 100 µs',
        100.0,
        _values(general, 'median_us', 'chain'),
    )
    yield Goal(
        'all solutions of any six revolute joints: all of the branches',
        100.0,
        _values(general, 'found_percent', 'chain'),
        least=True,
    )
    motions = rows_of('self_motions')
    yield Goal(
        'all solutions of seven joints: median at most 300 µs',
        300.0,
        _values(motions, 'median_us', 'chain'),
    )
    yield Goal(
        'all solutions of seven joints: none missed',
        0,
        _values(motions, 'missed', 'chain'),
    )
    checks = rows_of('collisions', robot='panda', checker='ours')
    yield Goal(
        'collision check of panda, up to 100 objects: at most 15 µs',
        15,
        _values([row for row in checks if int(row['objects']) <= 100], 'mean_us', 'objects'),
    )
    yield Goal(
        "collision check: Pinocchio's verdict",
        0,
        _values(rows_of('collisions', checker='ours'), 'other_verdicts', 'robot', 'objects'),
    )
    free = rows_of('collision_free', answers='free of collisions')
    cases = 'objects', 'seeds'
    yield Goal(
        'free of collisions: at least 99.9 % solved',
        99.9,
        _values(free, 'solved_percent', *cases),
        least=True,
    )
    yield Goal('free of collisions: at most 60 µs', 60, _values(free, 'mean_us', *cases))
    hands = rows_of('two_arms', problem='upper body, both hands')
    yield Goal(
        'two arms on a torso: at least 99.9 % solved',
        99.9,
        _values(hands, 'success_percent', 'problem'),
        least=True,
    )
    yield Goal('two arms on a torso: at most 100 µs', 100, _values(hands, 'mean_us', 'problem'))
    yield Goal(
        'unreachable targets: at most 2 ms',
        2000,
        _values(rows_of('giving_up', solver=OURS), 'mean_us', 'chain', 'targets'),
    )


def _path_goals() -> Iterator[Goal]:
    whole, cases = rows_of('paths', solver='solve_path'), ('chain', 'path')
    yield Goal('whole paths: no jump above 0.1 rad', 0, _values(whole, 'jumps_0.1', *cases))
    yield Goal(
        'whole paths: all of the path', 100, _values(whole, 'fraction_percent', *cases), least=True
    )
    yield Goal('whole paths: 2,000 points in 2 s', 2.0, _values(whole, 'seconds', *cases))
    timed = rows_of('jerk_timing')
    yield Goal(
        'timing with limits of jerk: at most 1.05 × the best', 1.05,
        _values(timed, 'ratio_worst', *cases),
    )  # fmt: skip
    yield Goal('timing with limits of jerk: none exceeded', 0, _values(timed, 'exceeded', *cases))


def _system_goals() -> Iterator[Goal]:
    per_joint = {
        (row['solver'], row['joints']): float(row['ns_per_iteration_and_joint'])
        for row in rows_of('growth')
    }
    yield Goal(
        'growth at most linear: time per joint with 60 joints at most 1 × that with 6',
        1,
        [
            (solver, time / per_joint[solver, '6'])
            for (solver, joints), time in per_joint.items()
            if joints == '60'
        ],
    )
    bounds = {
        'import ik_service': 0.4,
        'first solve, warm cache': 0.6,
        'first solve, warm cache, SciPy installed': 0.6,
        'first solve, cold cache': 15.0,
    }
    for what, bound in bounds.items():
        yield Goal(
            f'{what}: below {bound:g} s',
            bound,
            _values(rows_of('overhead', what=what), 'median', 'what'),
        )
    yield Goal(
        'service: round trip at most 1.5 × that of an echo',
        1.5,
        _values(rows_of('service', service='compute_ik', clients='1'), 'times_echo', 'service'),
    )
    yield Goal(
        'service: throughput with 16 clients at least 0.9 × that of an echo',
        0.9,
        _values(rows_of('service', service='compute_ik', clients='16'), 'times_echo', 'service'),
        least=True,
    )


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
