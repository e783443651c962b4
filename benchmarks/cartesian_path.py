"""
Straight lines: how far ``compute_cartesian_path`` gets, beside a greedy point-to-point search.

Each line starts at a random posture, is 0.3 to 0.6 m long and turns by up to 60°; of every one of
its points there is some solution. The greedy search is a model of MoveIt's (moveit2,
``cartesian_interpolator.cpp``): inverse kinematics seeded with the answer before, the end at the
first point without one, and a test in the middle between two points (within 1 mm and 0.01 rad),
where it halves the step down to 1e-5 of the line. Its solver is our own, so that only the search
differs. Both timings of our paths are compared where toppra is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from time import perf_counter

import numpy as np
from records import Row
from robots import BenchRobot
from timing import measure_robots

import ik_service as iks
from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.kinematics.pose_error import pose_error
from ik_service.paths.cartesian_path import (
    cartesian_path,
    CartesianPath,
    CartesianSettings,
    JumpThresholds,
)
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.timing.timing_limits import timing_limits

_MAX_STEP = 0.01  # [m]
_LENGTHS = (0.3, 0.6)  # [m]
_TURN = np.radians(60.0)
_NEAR, _TURNED, _FINEST = 1e-3, 1e-2, 1e-5  # of MoveIt's test in the middle [m], [rad], share
_PROBES = 13  # points of a line that have to have a solution
_BETWEEN = 5  # samples between two rows
_TIMINGS = ('built_in', 'toppra') if find_spec('toppra') else ('built_in',)


def main() -> None:
    """Measure and save."""
    measure_robots(
        'cartesian_path',
        __doc__,
        compare,
        one_core=False,
        count=(100, 'lines for each arm'),
        chains=('panda,ur5,iiwa14,kinova_gen3', 'names'),
        seed=(1, 'of the random lines'),
    )


def compare(robot: BenchRobot, seed: int, count: int) -> list[Row]:
    """Row of the table for one arm."""
    chain, random = robot.chain, np.random.default_rng(seed)
    solver = iks.Solver(chain)
    first = random_line(chain, solver, random)
    greedy(chain, solver, *first)
    measured(chain, *first)  # compiled from here on
    ours, theirs = [], []
    for _ in range(count):
        start, end = random_line(chain, solver, random)
        ours.append(measured(chain, start, end))
        theirs.append(greedy(chain, solver, start, end))
    result: Row = {'lines': count}
    for name, found in (('greedy', theirs), ('ours', ours)):
        fractions = np.array([entry['fraction'] for entry in found])
        times = 1e3 * np.array([entry['time'] for entry in found])
        result |= {
            f'{name}: complete': int((fractions > 1.0 - 1e-9).sum()),
            f'{name}: mean fraction': float(fractions.mean()),
            f'{name}: largest step [rad]': max(float(entry['step']) for entry in found),
            f'{name}: median time [ms]': float(np.median(times)),
            f'{name}: longest time [ms]': float(times.max()),
        }
    result['ours: farthest from the line [mm]'] = max(1e3 * entry['beside'] for entry in ours)
    for timing in _TIMINGS:
        result |= {
            f'{timing}: violations': sum(int(entry[timing]['excess'] > 1.0) for entry in ours),
            f'{timing}: duration [s]': sum(float(entry[timing]['duration']) for entry in ours),
            f'{timing}: time [ms]': 1e3
            * float(np.median([entry[timing]['time'] for entry in ours])),
        }
    return [result]


def random_line(
    chain: iks.KinematicChain, solver: iks.Solver, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return a start (n,) and an end pose (4, 4), with a solution for what lies between."""
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    while True:
        start = random.uniform(lower, upper)
        direction, axis = random.normal(size=(2, 3))
        direction *= random.uniform(*_LENGTHS) / np.linalg.norm(direction)
        turn = rotation_about_axis(axis / np.linalg.norm(axis), random.uniform(0.0, _TURN))
        T = chain.forward(start)
        end = rigid_transform(turn @ T[:3, :3], T[:3, 3] + direction)
        line = Line(T, end)
        if all(solver.solve(line.at(s), start).success for s in np.linspace(1.0, 0.0, _PROBES)):
            return start, end


class Line:
    """Straight line with a rotation about a fixed axis."""

    def __init__(self, start: np.ndarray, end: np.ndarray) -> None:
        self._start, self._twist = start, pose_error(start, end)

    def at(self, s: float) -> np.ndarray:
        """Return the pose (4, 4) at a share of the line."""
        angle = float(np.linalg.norm(self._twist[3:]))
        axis = self._twist[3:] / angle if angle > 0.0 else np.array([0.0, 0.0, 1.0])
        R = rotation_about_axis(axis, s * angle) @ self._start[:3, :3]
        return rigid_transform(R, self._start[:3, 3] + s * self._twist[:3])

    @property
    def steps(self) -> int:
        """Number of steps, as MoveIt divides it."""
        length, angle = np.linalg.norm(self._twist[:3]), np.linalg.norm(self._twist[3:])
        return int(max(length / _MAX_STEP, angle / (3.5 * _MAX_STEP))) + 1


def greedy(
    chain: iks.KinematicChain, solver: iks.Solver, start: np.ndarray, end: np.ndarray
) -> dict[str, float]:
    """Return what a point-to-point search makes of a line."""
    began = perf_counter()
    line, rows = Line(chain.forward(start), end), [start]

    def joined(s0: float, q0: np.ndarray, s1: float, q1: np.ndarray) -> bool:
        """Whether the motion between two points is on the line, with more of them if need be."""
        middle = 0.5 * (s0 + s1)
        error = pose_error(chain.forward(0.5 * (q0 + q1)), line.at(middle))
        if np.linalg.norm(error[:3]) <= _NEAR and np.linalg.norm(error[3:]) <= _TURNED:
            rows.append(q1)
            return True
        if s1 - s0 < _FINEST:
            return False
        answer = solver.solve(line.at(middle), q0)
        q = answer.q
        return answer.success and joined(s0, q0, middle, q) and joined(middle, q, s1, q1)

    reached = 0.0
    for i in range(1, line.steps + 1):
        s = i / line.steps
        answer = solver.solve(line.at(s), rows[-1])
        if not answer.success or not joined(reached, rows[-1], s, answer.q):
            break
        reached = s
    steps = np.abs(np.diff(rows, axis=0))
    return {
        'fraction': reached,
        'time': perf_counter() - began,
        'step': float(steps.max(initial=0.0)),
    }


def measured(chain: iks.KinematicChain, start: np.ndarray, end: np.ndarray) -> dict:
    """Return what our path for a line is like, with each timing."""
    began = perf_counter()
    options, speeds = PathOptions(timeout=5.0), timing_limits(chain, None).velocity
    settings = CartesianSettings(_MAX_STEP, JumpThresholds(), options, np.eye(4), speeds)
    path = cartesian_path(chain, start, end[None], settings)
    iks.time_path(chain, path.q, targets=path.poses)
    found: dict = {
        'fraction': path.fraction,
        'time': perf_counter() - began,
        'step': path.largest_step,
    }
    for timing in _TIMINGS:
        before = perf_counter()
        trajectory = iks.time_path(chain, path.q, targets=path.poses, timing=timing)
        found[timing] = {'time': perf_counter() - before, 'duration': trajectory.duration}
        limits = timing_limits(chain, None)
        found[timing]['excess'] = excess(trajectory, (limits.velocity, limits.acceleration))
        if timing == 'built_in':
            found['beside'] = beside(chain, trajectory, path)
    return found


def excess(
    trajectory: iks.JointTrajectory, limits: Sequence[np.ndarray], instants: int = 50
) -> float:
    """Return the largest share of a limit (n,), jerks included if given, at and between points."""
    if len(trajectory) == 1:
        return 0.0
    c, h = trajectory.coefficients, np.diff(trajectory.times)[:, None]
    largest = 0.0
    for part in np.linspace(0.0, 1.0, instants):
        t = part * h
        motion = (
            c[:, 1] + t * (2 * c[:, 2] + t * (3 * c[:, 3] + t * (4 * c[:, 4] + t * 5 * c[:, 5]))),
            2 * c[:, 2] + t * (6 * c[:, 3] + t * (12 * c[:, 4] + t * 20 * c[:, 5])),
            6 * c[:, 3] + t * (24 * c[:, 4] + t * 60 * c[:, 5]),
        )
        for values, limit in zip(motion, limits, strict=False):
            largest = max(largest, float((np.abs(values) / limit).max()))
    return largest


def beside(
    chain: iks.KinematicChain, trajectory: iks.JointTrajectory, path: CartesianPath
) -> float:
    """Return the largest distance of the tip from the line, also between the points [m]."""
    if len(trajectory) == 1:
        return 0.0
    start, way = path.poses[0, :3, 3], path.poses[-1, :3, 3] - path.poses[0, :3, 3]
    way = way / np.linalg.norm(way)
    parts = np.arange(_BETWEEN) / _BETWEEN
    times = trajectory.times[:-1, None] + parts * np.diff(trajectory.times)[:, None]
    off = np.array([chain.forward(trajectory.at(t)[0])[:3, 3] - start for t in times.ravel()])
    return float(np.linalg.norm(off - np.outer(off @ way, way), axis=1).max())


if __name__ == '__main__':
    main()
