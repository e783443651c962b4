"""
All solutions of arms of six revolute joints without a closed form: the elimination and searches.

The arms are those of their makers' tables of Denavit and Hartenberg, some of them with axes that
are off by a milliradian and a millimetre, as after a calibration, and arms with random axes. What
any of the three has found is what each could have found. "Brute force" is the search that goes on
until ten times as many starts have found nothing new.
"""

from __future__ import annotations

import math
from pathlib import Path
import tempfile

from all_solutions import compare, searching
import numpy as np
from records import options, progress, Row, save
from robots import BenchRobot, write_arm
from timing import use_one_core

from ik_service.solvers.all_solutions.finder import list_solutions

_QUARTER = 0.5 * math.pi
_SIXTY = math.radians(60.0)
# Rows of a [m], α [rad] and d [m], the joint before the link.
_UR5E = (
    (0.0, -0.425, -0.3922, 0.0, 0.0, 0.0),
    (_QUARTER, 0.0, 0.0, _QUARTER, -_QUARTER, 0.0),
    (0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996),
)
_PUMA = (
    (0.0, 0.4318, 0.0203, 0.0, 0.0, 0.0),
    (_QUARTER, 0.0, -_QUARTER, _QUARTER, -_QUARTER, 0.0),
    (0.0, 0.0, 0.15005, 0.4318, 0.0, 0.0),
)
_JACO2 = (
    (0.0, 0.41, 0.0, 0.0, 0.0, 0.0),
    (_QUARTER, math.pi, _QUARTER, _SIXTY, _SIXTY, math.pi),
    (0.2755, 0.0, -0.0098, -0.2501, -0.0856, -0.2028),
)
# As rows of Craig's convention, the joint behind the link.
_CRX_10IA = (
    (0.0, 0.0, 0.54, 0.0, 0.0, 0.0),
    (0.0, -_QUARTER, math.pi, -_QUARTER, _QUARTER, -_QUARTER),
    (0.0, 0.0, 0.0, -0.54, 0.15, -0.16),
)
_PIPER = (
    (0.0, 0.0, 0.28503, -0.02198, 0.0, 0.0),
    (0.0, -_QUARTER, 0.0, _QUARTER, -_QUARTER, _QUARTER),
    (0.123, 0.0, 0.0, 0.25075, 0.0, 0.091),
)
# Largest error of a branch [m] or [rad]: next to a singular pose there are many that are larger.
_EXACT = 1e-9
Table = tuple[tuple[float, ...], ...]


def main() -> None:
    """Measure and save."""
    args = options(__doc__, count=(2000, 'poses for each arm'), seed=(1, 'of the random poses'))
    use_one_core()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, axes in _arms().items():
            progress(f'general arms: {name}')
            rows += _rows(_robot(Path(folder), name, axes), args.count, args.seed)
    save('general_arms', rows, count=args.count, seed=args.seed)


def _rows(robot: BenchRobot, count: int, seed: int) -> list[Row]:
    """Rows of the table for one arm."""
    proved = []

    def ours(target: np.ndarray) -> np.ndarray:
        solutions = list_solutions(robot.chain, target)
        proved.append(solutions.proved)
        return solutions.q

    ours(robot.chain.forward(robot.chain.mid_range()))
    proved.clear()
    finders = {
        'ours': ours,
        'ours, search only': searching(robot.chain),
        'brute force': searching(robot.chain, patience=10.0),
    }
    first, *others = compare(robot, count, seed, finders, _EXACT)
    first['proved_percent'] = 100.0 * float(np.mean(proved))
    return [{'chain': robot.name, **row} for row in (first, *others)]


def _arms() -> dict[str, np.ndarray]:
    """Return direction and a point of each axis, (6, 6), by the name of the arm."""
    ur5e, puma, jaco2 = _axes(_UR5E), _axes(_PUMA), _axes(_JACO2)
    crx_10ia, piper = _axes(_CRX_10IA, behind=True), _axes(_PIPER, behind=True)
    return {
        'JACO2': jaco2,
        'CRX-10iA': crx_10ia,
        'Piper': piper,
        'UR5e, calibrated': _calibrated(ur5e, 1),
        'UR5e, calibrated, another': _calibrated(ur5e, 2),
        'Puma 560, calibrated': _calibrated(puma, 3),
        'Piper, calibrated': _calibrated(piper, 4),
        'JACO2, calibrated': _calibrated(jaco2, 5),
        'CRX-10iA, calibrated': _calibrated(crx_10ia, 6),
        'random axes, 1': _random(1),
        'random axes, 2': _random(2),
        'random axes, 3': _random(3),
    }


def _axes(table: Table, behind: bool = False) -> np.ndarray:
    """Return the axes of a table at q = 0, (6, 6)."""
    T, axes = np.eye(4), []
    for a, alpha, d in zip(*table, strict=True):
        c, s = math.cos(alpha), math.sin(alpha)
        link = np.array([[1, 0, 0, a], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])
        if behind:
            T = T @ link
        axes.append(np.concatenate([T[:3, 2], T[:3, 3]]))
        T = T @ np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, d], [0, 0, 0, 1.0]])
        if not behind:
            T = T @ link
    return np.array(axes)


def _calibrated(axes: np.ndarray, seed: int) -> np.ndarray:
    """Return axes that are off by a milliradian and a millimetre."""
    return axes + 1e-3 * np.random.default_rng(seed).normal(size=axes.shape)


def _random(seed: int) -> np.ndarray:
    """Return axes of random directions, each near the one before."""
    random = np.random.default_rng(seed)
    points = np.cumsum(random.uniform(-0.3, 0.3, (6, 3)), axis=0)
    return np.hstack([random.normal(size=(6, 3)), points])


def _robot(folder: Path, name: str, axes: np.ndarray) -> BenchRobot:
    """Write a description in which all frames are parallel at q = 0."""
    origins = np.diff(axes[:, 3:], axis=0, prepend=0.0)
    limits, parallel = (-3.14159, 3.14159), (0.0, 0.0, 0.0)
    joints = [(origin, parallel, limits, axes[i, :3]) for i, origin in enumerate(origins)]
    tool = (0.05, 0.02, 0.1), (0.3, -0.4, 0.8)
    return write_arm(folder / f'{name}.urdf', name, [*joints, tool])


if __name__ == '__main__':
    main()
