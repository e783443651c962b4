"""Time and success of this project's methods and other libraries on random reachable poses."""

from __future__ import annotations

from peers import Adapter, all_peers, ours
from records import Row
from robots import BenchRobot, MAIN
from timing import measure_robots, rounds_of, run_round, Score
from verifier import Problems, Verifier

import ik_service as iks

BATCH = ' (batch)'
# Problems after which the next solver has its turn: a batch call has a cost of its own.
_ROUND = 2500


def main() -> None:
    """Measure and save."""
    count = 1000, 'problems for each chain'
    chains = ','.join(MAIN)
    measure_robots('solvers', __doc__, compare, count=count, repeats=3, chains=chains, seed=1)


def compare(robot: BenchRobot, count: int, repeats: int, seed: int) -> list[Row]:
    """Rows of the table for one robot."""
    verifier = Verifier(robot)
    problems = verifier.problems(robot, count, seed)
    others, absent = all_peers(robot)
    single = [*(ours(robot, name) for name in iks.solver_names()), *others]
    scores = {f'{name}{BATCH}': Score() for name in iks.solver_names()}
    scores.update((adapter.name, Score()) for adapter in single)
    for run in range(-1, repeats):  # the first one warms up and does not count
        for rows in rounds_of(count, _ROUND) if run >= 0 else [slice(0, 3)]:
            part = problems.part(rows)
            into = scores if run >= 0 else {name: Score() for name in scores}
            for adapter in single[: len(iks.solver_names())]:
                batch_round(robot, adapter, verifier, part, into[f'{adapter.name}{BATCH}'])
            for adapter in single:
                run_round(adapter, verifier, part, into[adapter.name])
    reference = scores[f'{iks.solver_names()[0]}{BATCH}']
    return [{'solver': name, **score.row(reference)} for name, score in scores.items()] + absent


def batch_round(
    robot: BenchRobot, adapter: Adapter, verifier: Verifier, problems: Problems, score: Score
) -> None:
    """Batch call on one core; each of its solves gets the mean time of the call."""
    problems = problems.share(adapter.share)
    result = iks.solve_ik_batch(
        robot.chain, problems.targets, problems.seeds, solver=adapter.name, threads=1
    )
    mean = result.solve_time / len(problems)
    score.rounds.append(mean)
    score.seconds += [mean] * len(problems)
    score.solved += [
        bool(done) and verifier.accepts(q, T)
        for done, q, T in zip(result.success, result.q, problems.targets, strict=True)
    ]


if __name__ == '__main__':
    main()
