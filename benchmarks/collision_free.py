"""
Time and success of solves that are free of collisions: one by one on one core, and in batches.

The arm is the Panda of this package. Targets are the poses of random postures that are free of
collisions; seeds are other random postures, or the middle of the limits. Beside it stand the same
solves without a collision test. An answer counts as solved when the tip is at the target, and as
colliding when Pinocchio's own test of all pairs finds one that does. Each problem is solved some
times, with the same answer, and its time is the least of these.
"""

from __future__ import annotations

import os
from time import perf_counter

import numpy as np
from pinocchio_collisions import PinocchioCollisions, Shape
from records import options, progress, save
from robots import BenchRobot
from timing import rounds_of, times_row, use_one_core
from verifier import Problems, Verifier

import ik_service as iks
from ik_service.collision.world import WorldObject
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.tables import show

PANDA = BenchRobot('panda', urdf_path('panda'), 'panda_link0', 'panda_hand_tcp')
READY = (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # posture that objects leave free [rad]
REPEATS = 5


def main() -> None:
    """Measure, print and save."""
    args = options(__doc__, count=(1000, 'problems of each kind'), seed=1)
    use_one_core()
    rows = []
    for objects in (0, 10):
        checker = iks.CollisionChecker(iks.Robot.from_urdf(PANDA.path))
        add_objects(checker, objects, args.seed)
        problems = free_problems(checker, args.count, args.seed)
        middle = np.tile(PANDA.chain.mid_range(), (args.count, 1))
        for seeds, given in (
            ('random', problems),
            ('mid-range', Problems(problems.truth, problems.targets, middle)),
        ):
            progress(f'collision_free: {objects} objects, {seeds} seeds')
            table = compare(checker, given)
            rows += [{'objects': objects, 'seeds': seeds, **row} for row in table]
    show(rows)
    save('collision_free', rows, count=args.count, seed=args.seed)


def add_objects(checker: iks.CollisionChecker, count: int, seed: int) -> None:
    """Add boxes and balls about the arm that leave it free in its ready posture."""
    rng = np.random.default_rng(seed)
    while len(checker.objects) < count:
        name, pose = f'object {len(checker.objects)}', np.eye(4)
        pose[:3, 3] = rng.uniform((-0.9, -0.9, 0.0), (0.9, 0.9, 1.2))
        size = rng.uniform(0.05, 0.15)
        balls = len(checker.objects) % 2
        checker.add(name, iks.Sphere(size) if balls else iks.Box((2 * size,) * 3), pose)
        if checker.in_collision(READY):
            checker.remove(name)


def free_problems(checker: iks.CollisionChecker, count: int, seed: int) -> Problems:
    """Poses of random postures that are free of collisions, and random seeds."""
    verifier = Verifier(PANDA)
    postures = verifier.postures(3 * count, seed)
    test = checker.for_joints(PANDA.chain.joint_names)
    truth = postures[~test.colliding(postures)][:count]
    return Problems(truth, verifier.poses(truth), verifier.postures(count, seed + 1))


def compare(checker: iks.CollisionChecker, problems: Problems) -> list[dict[str, object]]:
    """Rows of the table for one world and one kind of seed: with the test and without."""
    solvers = {
        'free of collisions': iks.Solver(PANDA.chain, collisions=checker),
        'without a test': iks.Solver(PANDA.chain),
    }
    results = {name: [] for name in solvers}
    times = {name: np.full(len(problems), np.inf) for name in solvers}
    for solver in solvers.values():
        solver.warm_up()
    for rows in rounds_of(len(problems), 50):
        for repeat in range(REPEATS):
            for name, solver in solvers.items():
                answers, seconds = timed(solver, problems.part(rows))
                times[name][rows] = np.minimum(times[name][rows], seconds)
                results[name] += answers if repeat == 0 else []
    verdicts = Verdicts(checker, problems.targets)
    batches = batch_times(checker, problems)
    return [
        {
            'answers': name,
            'problems': len(problems),
            **verdicts.shares(results[name]),
            **times_row(times[name]),
            'mean_searches': float(np.mean([result.searches for result in results[name]])),
            'most_searches': max(result.searches for result in results[name]),
            'batch_one_thread_us': batches[name, 1],
            'batch_all_cores_us': batches[name, os.cpu_count()],
        }
        for name in solvers
    ]


def timed(solver: iks.Solver, problems: Problems) -> tuple[list[iks.IkResult], list[float]]:
    """Answers to problems, and the time of each [s]."""
    answers, seconds = [], []
    for T, seed in zip(problems.targets, problems.seeds, strict=True):
        began = perf_counter()
        answers.append(solver.solve(T, seed))
        seconds.append(perf_counter() - began)
    return answers, seconds


def batch_times(
    checker: iks.CollisionChecker, problems: Problems
) -> dict[tuple[str, int | None], float]:
    """Least time for a pose in a batch [µs], by the kind of answers and the threads."""
    chain, targets, seeds = PANDA.chain, problems.targets, problems.seeds
    one_core = os.sched_getaffinity(0)
    seconds: dict[tuple[str, int | None], list[float]] = {}
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    for _ in range(REPEATS):
        for name, collisions in ('free of collisions', checker), ('without a test', None):
            for threads in 1, os.cpu_count():
                began = perf_counter()
                iks.solve_ik_batch(chain, targets, seeds, threads=threads, collisions=collisions)
                seconds.setdefault((name, threads), []).append(perf_counter() - began)
    os.sched_setaffinity(0, one_core)
    return {key: 1e6 * min(each) / len(targets) for key, each in seconds.items()}


class Verdicts:
    """Pinocchio's kinematics, and its own test of all pairs of links and objects."""

    def __init__(self, checker: iks.CollisionChecker, targets: np.ndarray) -> None:
        self._targets, self._verifier = targets, Verifier(PANDA)
        objects = {name: _only_shape(thing) for name, thing in checker.objects.items()}
        self._collisions = PinocchioCollisions(PANDA.path, checker.disabled_pairs, objects)

    def shares(self, results: list[iks.IkResult]) -> dict[str, object]:
        """Shares of the answers that are at their targets, and of those that collide [%]."""
        there = zip(results, self._targets, strict=True)
        solved = [result.success and self._verifier.accepts(result.q, T) for result, T in there]
        colliding = [self.collides(result.q) for result in results]
        return {
            'solved_percent': 100.0 * np.mean(solved),
            'colliding_percent': 100.0 * np.mean(colliding),
        }

    def collides(self, q: np.ndarray) -> bool:
        """Whether anything collides at a joint vector (7,) [rad], the fingers closed."""
        positions = dict(zip(PANDA.chain.joint_names, q.tolist(), strict=True))
        return self._collisions.collides_anew(self._collisions.configuration(positions))


def _only_shape(thing: WorldObject) -> tuple[Shape, np.ndarray]:
    ((shape, T),) = thing.shapes
    return shape, thing.pose @ T


if __name__ == '__main__':
    main()
