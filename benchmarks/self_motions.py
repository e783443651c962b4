"""
All solutions of arms with seven joints, as intervals of one joint's angle, on one core.

At random angles within that joint's limits the solutions are compared with those of the arm with
the joint locked there, found by the search from random postures. "Wrong" are those in an interval
that are no solutions.
"""

from __future__ import annotations

from time import perf_counter

from all_solutions import searching
import numpy as np
from records import Row
from robots import BenchRobot
from timing import measure_robots, times_row

import ik_service as iks

# Largest difference of joint vectors that are one [rad], and of poses [m] or [1].
_SAME = 1e-3
_EXACT = 1e-9


def main() -> None:
    """Measure and save."""
    measure_robots(
        'self_motions',
        __doc__,
        measure,
        count=(2000, 'poses for each chain'),
        compared=(100, 'of them, with the search'),
        angles=(20, 'random angles for each of these'),
        chains='panda,iiwa14',
        seed=(1, 'of the random poses'),
    )


def measure(robot: BenchRobot, count: int, compared: int, angles: int, seed: int) -> list[Row]:
    """Return the row of the table for one arm."""
    chain, random = robot.chain, np.random.default_rng(seed)
    postures = random.uniform(chain.lower, chain.upper, (count, chain.n))
    targets = [chain.forward(q) for q in postures]
    iks.solve_self_motions(chain, targets[0])
    seconds, every = [], []
    for target in targets:
        began = perf_counter()
        every.append(iks.solve_self_motions(chain, target))
        seconds.append(perf_counter() - began)
    solutions = missed = wrong = 0
    for target, motions in zip(targets[:compared], every, strict=False):
        joint = motions.joint
        for angle in random.uniform(chain.lower[joint], chain.upper[joint], angles):
            ours = _at(motions, angle)
            wrong += sum(np.abs(chain.forward(q) - target).max() > _EXACT for q in ours)
            expected = _searched(robot.chain, joint, angle, target)
            solutions += len(expected)
            rest = np.delete(ours, joint, axis=1)
            missed += sum(
                np.abs(rest - q).max(axis=1).min(initial=np.inf) > _SAME for q in expected
            )
    row = {
        'poses': len(targets),
        **times_row(seconds),
        'branches': float(np.mean([len(motions.branches) for motions in every])),
        'proved_percent': 100.0 * float(np.mean([motions.proved for motions in every])),
        'solutions': solutions,
        'missed': int(missed),
        'wrong': int(wrong),
    }
    return [row]


def _at(motions: iks.SelfMotions, angle: float) -> np.ndarray:
    """Return the solutions at an angle of the joint, (k, 7)."""
    found = [
        branch.at([angle])[0]
        for branch in motions.branches
        if np.any((branch.intervals[:, 0] <= angle) & (angle <= branch.intervals[:, 1]))
    ]
    return np.reshape(found, (-1, 7))


def _searched(
    chain: iks.KinematicChain, joint: int, angle: float, target: np.ndarray
) -> np.ndarray:
    """Return the solutions of the other joints that random searches find, (k, 6)."""
    locked = {chain.joint_names[joint]: angle}
    rest = chain.robot.chain(chain.base_link, chain.tip_link, locked=locked)
    found = searching(rest)(target)
    # Next to where two meet, there is none within rounding, but some within tolerance.
    errors = [np.abs(rest.forward(q) - target).max() for q in found]
    return found[np.array(errors) < _EXACT]


if __name__ == '__main__':
    main()
