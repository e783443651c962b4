"""
Largest joint motion to the solution nearest to the seed, on one core.

This project has 1 ms with ``prefer='nearest'``, TRAC-IK in its Distance mode 5 ms. The seeds are
the middle of the limits, and random postures.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import peers
from peers import Adapter, gather, ours
from records import options, progress, save
from robots import BenchRobot, chosen_robots, MAIN
from timing import rounds_of, run_round, Score, use_one_core
from verifier import Problems, Verifier

import ik_service as iks


def main() -> None:
    """Measure and save."""
    args = options(__doc__, count=(300, 'problems of each kind'), chains=','.join(MAIN), seed=1)
    use_one_core()
    rows = []
    for robot in chosen_robots(args.chains):
        verifier = Verifier(robot)
        problems = verifier.problems(robot, args.count, args.seed)
        elsewhere = verifier.postures(args.count, args.seed + 1)
        for seeds, given in (
            ('mid-range', problems),
            ('random', Problems(problems.truth, problems.targets, elsewhere)),
        ):
            progress(f'nearest: {robot.name}, {seeds} seeds')
            table = compare(robot, verifier, given)
            rows += [{'chain': robot.name, 'seeds': seeds, **row} for row in table]
    save('nearest', rows, count=args.count, seed=args.seed)


def compare(robot: BenchRobot, verifier: Verifier, problems: Problems) -> list[dict[str, object]]:
    """Rows of the table for one robot and one kind of seed."""
    nearest = iks.IkOptions(prefer='nearest', timeout=0.001)
    there, absent = gather({'TRAC-IK Distance': partial(peers.trac_ik, robot, 'Distance')})
    adapters = {
        'ours, first': ours(robot, 'levenberg_marquardt'),
        'ours, nearest in 1 ms': ours(robot, 'levenberg_marquardt', nearest),
        **{f'{peer.name} in 5 ms': peer for peer in there},
    }
    motions = {name: np.full(len(problems), np.nan) for name in adapters}
    scores = {name: Score() for name in adapters}
    for rows in rounds_of(len(problems), 50):
        for name, adapter in adapters.items():
            recorder = _recording(adapter, motions[name][rows])
            run_round(recorder, verifier, problems.part(rows), scores[name])
    for name, score in scores.items():
        motions[name][~np.array(score.solved)] = np.nan
    both = ~np.isnan(list(motions.values())).any(axis=0)
    table = [
        {
            'solver': name,
            'mean_us': 1e6 * float(np.mean(score.seconds)),
            'solved_percent': 100.0 * np.mean(score.solved),
            'compared': int(both.sum()),
            'mean_motion': motions[name][both].mean(),
            'median_motion': float(np.median(motions[name][both])),
            'absent': '',
        }
        for name, score in scores.items()
    ]
    return table + [{'solver': name, 'absent': reason} for name, reason in absent.items()]


def _recording(adapter: Adapter, motions: np.ndarray) -> Adapter:
    """Adapter that records the largest joint motion from the seed to each of its solutions."""
    rows = iter(range(len(motions)))

    def solve(target: object, seed: np.ndarray) -> np.ndarray | None:
        q = adapter.solve(target, seed)
        row = next(rows)
        if q is not None:
            motions[row] = np.abs(q - seed).max()
        return q

    return Adapter(adapter.name, solve, adapter.prepare)


if __name__ == '__main__':
    main()
