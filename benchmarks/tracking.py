"""
Time and jumps along smooth paths, each solve seeded with the previous solution.

The paths are closed curves of many points. Those made of joint motions can be followed without a
jump by construction. Some keep to the middle of the workspace, some come near the joint limits,
and some run through the middle of all joints, where the elbow or wrist of most arms is singular;
in some the elbow of the iiwa (a4) alone passes through its singular posture. The circles are
circles of the tip that keep its orientation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from time import perf_counter

import numpy as np
from peers import Adapter, ours, searches
from records import Row
from robots import BenchRobot, MAIN
from timing import measure_robots, quartiles, times_row
from verifier import Verifier

# Points after which the next solver has its turn.
_CHUNK = 100
_WIDEST = 2.0  # half of a joint's range, as far as the paths use it [rad]
_RADIUS = 0.1  # of the circles [m]
# Postures far from singular ones and from the joint limits [rad].
_HOME = {
    'panda': (0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785),
    'iiwa14': (0.0, 0.6, 0.0, -1.2, 0.0, 1.0, 0.0),
    'ur5': (0.0, -1.2, 1.5, -1.8, -1.57, 0.0),
    'ur5_2pi': (0.0, -1.2, 1.5, -1.8, -1.57, 0.0),
}


@dataclass
class Follower:
    """Solver on its way: solution (n,), times of solves and chunks [s], joint motions [rad]."""

    adapter: Adapter
    solution: np.ndarray
    seconds: list[float] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)
    solved: int = 0
    motions: list[float] = field(default_factory=list)

    def follow(self, verifier: Verifier, targets: np.ndarray) -> None:
        """Solve for the next points; where there is no solution, the last one stays the seed."""
        times, answers = [], []
        prepared = [self.adapter.prepare(T) for T in targets]
        seed = self.solution
        for target in prepared:
            began = perf_counter()
            q = self.adapter.solve(target, seed)
            times.append(perf_counter() - began)
            answers.append(q)
            seed = seed if q is None else q
        self.seconds += times
        self.rounds.append(float(np.mean(times)))
        for q, T in zip(answers, targets, strict=True):
            if verifier.accepts(q, T):
                self.solved += 1
                self.motions.append(float(np.abs(q - self.solution).max()))
                self.solution = q


def main() -> None:
    """Measure and save."""
    count, seed = (2000, 'points of a path'), (1, 'of the random paths')
    measure_robots('tracking', __doc__, measure, count=count, chains=','.join(MAIN), seed=seed)


def measure(robot: BenchRobot, count: int, seed: int) -> list[Row]:
    """Rows of the table for one robot."""
    verifier = Verifier(robot)
    return [
        row
        for name, path in paths(robot, verifier, count, seed).items()
        for row in follow(robot, verifier, name, *path)
    ]


def paths(
    robot: BenchRobot, verifier: Verifier, count: int, seed: int
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Start (n,) and poses (N, 4, 4) of each path."""
    rng = np.random.default_rng(seed)
    middle = robot.chain.mid_range()
    home = np.array(_HOME.get(robot.name, middle))
    half = np.minimum((robot.chain.upper - robot.chain.lower) / 2, _WIDEST)
    turns = np.linspace(0.0, 2 * math.pi, count)
    found = {}
    for k in (1, 2):
        frequency = rng.integers(1, 3, len(middle))
        wave = np.sin(frequency * turns[:, None] + rng.uniform(0, 2 * math.pi, len(middle)))
        found[f'about home {k}'] = home + 0.3 * wave
        found[f'near the limits {k}'] = middle + 0.5 * half + 0.3 * half * wave
        found[f'through the middle {k}'] = middle + 0.3 * half * wave
        if robot.name == 'iiwa14':
            found[f'a4 through zero {k}'] = found[f'about home {k}'].copy()
            found[f'a4 through zero {k}'][:, 3] = 0.6 * np.sin(turns + 1.0)
    curves = {name: (q[0], verifier.poses(q)) for name, q in found.items()}
    curves['circle'] = home, _circle(verifier.forward(home).homogeneous, turns)
    return curves


def _circle(T: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Poses on a horizontal circle through T, (N, 4, 4)."""
    poses = np.tile(T, (len(turns), 1, 1))
    poses[:, 0, 3] += _RADIUS * (np.cos(turns) - 1.0)
    poses[:, 1, 3] += _RADIUS * np.sin(turns)
    return poses


def follow(
    robot: BenchRobot, verifier: Verifier, path: str, start: np.ndarray, targets: np.ndarray
) -> list[Row]:
    """Rows of the table for one path: everyone follows a piece of it in turn."""
    there, absent = searches(robot)
    adapters = [ours(robot, 'levenberg_marquardt'), *there]
    for adapter in adapters:
        Follower(adapter, start).follow(verifier, targets[:3])
        adapter.inside.clear()
    followers = [Follower(adapter, start) for adapter in adapters]
    for first in range(0, len(targets), _CHUNK):
        for follower in followers:
            follower.follow(verifier, targets[first : first + _CHUNK])
    rows = [_row(follower, followers[0], len(targets)) for follower in followers]
    return [{'path': path, **row} for row in rows + absent]


def _row(follower: Follower, reference: Follower, points: int) -> Row:
    motions = np.array(follower.motions)
    inside = follower.adapter.inside
    return {
        'solver': follower.adapter.name,
        'points': points,
        **times_row(follower.seconds),
        'inside_us': 1e6 * float(np.mean(inside)) if inside else '',
        'solved_percent': 100.0 * follower.solved / points,
        'jumps_0.1': int((motions > 0.1).sum()),
        'jumps_0.5': int((motions > 0.5).sum()),
        'largest_motion': motions.max() if len(motions) else math.nan,
        **quartiles('times_ours', np.divide(follower.rounds, reference.rounds)),
    }


if __name__ == '__main__':
    main()
