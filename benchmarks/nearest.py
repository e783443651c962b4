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
from records import Row
from robots import BenchRobot, MAIN
from timing import measure_robots, rounds_of, run_round, Score
from verifier import Problems, Verifier

import ik_service as iks


def main() -> None:
    """Measure and save."""
    count, chains = (300, 'problems of each kind'), ','.join(MAIN)
    measure_robots('nearest', __doc__, measure, count=count, chains=chains, seed=1)


def measure(robot: BenchRobot, count: int, seed: int) -> list[Row]:
    """Rows of the table for one robot."""
    verifier = Verifier(robot)
    problems = verifier.problems(robot, count, seed)
    elsewhere = Problems(problems.truth, problems.targets, verifier.postures(count, seed + 1))
    return [
        {'seeds': seeds, **row}
        for seeds, given in (('mid-range', problems), ('random', elsewhere))
        for row in compare(robot, verifier, given)
    ]


def compare(robot: BenchRobot, verifier: Verifier, problems: Problems) -> list[Row]:
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
        }
        for name, score in scores.items()
    ]
    return table + absent


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
