"""
Collision checks of random postures, on one core: ours, beside Pinocchio's on all of its pairs.

Agreement is counted against Pinocchio with new geometry data for each posture: what it keeps from
one posture to the next makes it miss collisions (4.1 with Coal 3.0.3), as the table shows.
"""

from __future__ import annotations

from collections.abc import Callable
import math
from pathlib import Path
from time import perf_counter

import numpy as np
from pinocchio_collisions import PinocchioCollisions
from records import options, progress, save
from timing import times_row, use_one_core

import ik_service as iks
from ik_service.collision.checked_robot import random_postures

URDF = Path(__file__).resolve().parents[1] / 'urdf'
# Distance of the objects' centres from the root link [m]: none stands in the base.
_NEAREST, _FARTHEST = 0.3, 1.2


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        count=(10000, 'postures of each robot'),
        robots=('panda,ur5e,upper_body', 'descriptions in urdf/'),
        objects=('10,100,10000', 'numbers of objects'),
    )
    use_one_core()
    rows = []
    for name in args.robots.split(','):
        progress(f'collisions: {name}')
        rows += compare(name, args.count, [int(number) for number in args.objects.split(',')])
    save('collisions', rows, count=args.count)


def compare(name: str, count: int, numbers: list[int]) -> list[dict[str, object]]:
    """Rows of the table for one robot."""
    path = URDF / f'{name}.urdf'
    checker = iks.CollisionChecker(iks.Robot.from_urdf(path))
    test = checker.for_joints(checker.joint_names)
    # Not those that the unchecked pairs were found with.
    postures = random_postures(checker._model, count)
    postures += np.random.default_rng(2).normal(0.0, 0.01, postures.shape)
    reference = PinocchioCollisions(path, checker.disabled_pairs, {})
    configurations = [reference.configuration(_positions(checker, q)) for q in postures]
    expected = np.array([reference.collides_anew(q) for q in configurations])
    rows = [_row(name, 0, 'ours', *_timed(test.first_contact, postures), expected)]
    rows.append(_row(name, 0, 'ours, many at once', *_timed_at_once(test, postures), expected))
    times = _timed(reference.collides, configurations)
    rows.append(_row(name, 0, 'Pinocchio', *times, expected))
    for number in numbers:
        checker.clear()
        scatter(checker, number)
        found = test.colliding(postures)
        rows.append(_row(name, number, 'ours', *_timed(test.first_contact, postures), found))
        rows.append(
            _row(name, number, 'ours, many at once', *_timed_at_once(test, postures), found)
        )
    return rows


def scatter(checker: iks.CollisionChecker, number: int) -> None:
    """Add boxes, balls and cans of 2 to 10 cm around a robot."""
    rng = np.random.default_rng(3)
    for index in range(number):
        size = rng.uniform(0.02, 0.1)
        kinds = (iks.Box((size, size, size)), iks.Sphere(size / 2), iks.Cylinder(size / 2, size))
        pose = np.eye(4)
        angle, height = rng.uniform(-math.pi, math.pi), rng.uniform(-0.5, 1.2)
        distance = rng.uniform(_NEAREST, _FARTHEST)
        pose[:3, 3] = distance * math.cos(angle), distance * math.sin(angle), height
        checker.add(f'object {index}', kinds[index % 3], pose)


def _positions(checker: iks.CollisionChecker, q: np.ndarray) -> dict[str, float]:
    """Return the positions of all joints, those that follow others among them, by name."""
    own = dict(zip(checker.joint_names, q.tolist(), strict=True))
    followed = {
        name: checker.robot.resolve_mimic(name) for name in checker.robot.movable_joint_names
    }
    return {
        name: factor * own[source] + offset for name, (source, factor, offset) in followed.items()
    }


def _timed(check: Callable, postures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return time [s] and verdict of each posture."""
    times, found = np.empty(len(postures)), np.empty(len(postures), bool)
    check(postures[0])
    for row, q in enumerate(postures):
        began = perf_counter()
        answer = check(q)
        times[row] = perf_counter() - began
        found[row] = bool(answer)
    return times, found


def _timed_at_once(test: object, postures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean time [s] and verdict of each posture."""
    test.colliding(postures[:2])
    began = perf_counter()
    found = test.colliding(postures)
    return np.full(len(postures), (perf_counter() - began) / len(postures)), found


def _row(
    robot: str,
    objects: int,
    checker: str,
    times: np.ndarray,
    found: np.ndarray,
    expected: np.ndarray,
) -> dict[str, object]:
    return {
        'robot': robot,
        'objects': objects,
        'checker': checker,
        'postures': len(times),
        **times_row(times),
        'colliding_percent': 100.0 * found.mean(),
        'other_verdicts': int((found != expected).sum()),
    }


if __name__ == '__main__':
    main()
