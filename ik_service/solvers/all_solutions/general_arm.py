"""
Preparation of the elimination for an arm of six revolute joints.

Where axes meet or are parallel, the equations of the elimination can have common roots that are
not those of postures, and its determinant then vanishes for every pose. So arms with such axes are
solved as if these missed each other by a little; the iteration that starts there is that of the
arm itself.
"""

from __future__ import annotations

import math

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.all_solutions.arm_geometry import axes_of, MOST_STARTS
from ik_service.solvers.all_solutions.elimination import (
    DEGREE,
    Elimination,
    elimination_starts,
    new_scratch,
    SAMPLES,
)

# Angles from which the factors of 1, cosine and sine are computed, and the factors.
_ANGLES = (0.0, math.pi, 0.5 * math.pi)
_FACTORS = np.array([[0.5, 0.5, 0.0], [0.5, -0.5, 0.0], [-0.5, -0.5, 1.0]])
_ZEROS = (0.4, 1.3)
# Errors of the axes that are tried [rad], in units of the arm's size [1].
_ERRORS = (0.0, 1e-7, 1e-6, 1e-5)
# Postures at which these are compared, and the share of them that has to be met.
_POSTURES = 100
_SHARE = 0.95
# Distance from there to the nearest start from which the iteration gets there [rad].
_NEAR = 0.1


def elimination_of(chain: KinematicChain) -> Elimination | None:
    """
    Return the elimination for an arm, in the order and with the error of the axes that serve best.

    :param chain: the chain; there is none unless it has six revolute joints, and where no choice
        serves.
    """
    axes = axes_of(chain)
    if axes is None:
        return None
    home = inverse_transform(chain.forward(np.zeros(6)))
    random = np.random.default_rng(0)
    postures = random.uniform(-math.pi, math.pi, (_POSTURES, 6))
    targets = np.array([chain.forward(q) for q in postures])
    choices = [
        _elimination(axes, home, inverted, error) for error in _ERRORS for inverted in (0, 1)
    ]
    distances = [_distance(arm, postures, targets) for arm in choices]
    best = int(np.argmin(distances))
    return choices[best] if distances[best] < _NEAR else None


def elimination_arguments() -> tuple[Elimination, np.ndarray, np.ndarray]:
    """Return examples of the arguments of the kernel, whose types are those of any arm's."""
    axes = np.random.default_rng(0).normal(size=(6, 6))
    return _elimination(axes, np.eye(4), 0, 0.0), np.eye(4), np.empty((MOST_STARTS, 6))


def _distance(arm: Elimination, postures: np.ndarray, targets: np.ndarray) -> float:
    """Return how far starts are from most of the postures that made the targets [rad]."""
    starts = np.empty((MOST_STARTS, 6))
    kernel = entry_point(elimination_starts, arm, targets[0], starts)
    distances = []
    for q, target in zip(postures, targets, strict=True):
        count = kernel(arm, target, starts)[0]
        apart = np.abs(np.remainder(starts[:count] - q + math.pi, 2.0 * math.pi) - math.pi)
        distances.append(apart.max(axis=1).min(initial=math.pi))
    return float(np.quantile(distances, _SHARE))


def _elimination(axes: np.ndarray, home: np.ndarray, inverted: int, error: float) -> Elimination:
    """Return the elimination for axes at q = 0, (6, 6), that are off by an error."""
    own = axes[::-1].copy() if inverted else axes.copy()
    random = np.random.default_rng(0)
    directions, points = own[:, :3], own[:, 3:]
    directions += error * random.normal(size=(6, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    center = points.mean(axis=0)
    points -= center
    points -= directions * np.sum(directions * points, axis=1)[:, None]
    size = float(np.linalg.norm(points, axis=1).max())
    points /= size
    points += error * random.normal(size=(6, 3))
    equations, angles = _combinations(own)
    m, k = np.arange(DEGREE + 2)[:, None], np.arange(SAMPLES)
    phases = 2.0 * math.pi / SAMPLES * m * k
    return Elimination(
        inverted=inverted,
        size=size,
        center=center,
        home=home,
        axes=own,
        zeros=np.array(_ZEROS),
        turns=np.array(
            [
                [_turn(axis, -zero - angle) for angle in _ANGLES]
                for axis, zero in zip(own[:3], (*_ZEROS, 0.0), strict=True)
            ]
        ),
        equations=equations,
        angles=angles,
        waves=np.vstack([np.cos(phases), np.sin(phases)]) / SAMPLES,
        scratch=new_scratch(),
    )


def _combinations(axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return combinations of the fourteen numbers that are zero, and that are those of angles."""
    values = np.empty((3, 3, 14))
    for i, fourth in enumerate(_ANGLES):
        for j, fifth in enumerate(_ANGLES):
            p, d = axes[5, 3:], axes[5, :3]
            for axis, angle in ((axes[4], fifth), (axes[3], fourth)):
                turn = _turn(axis, angle)
                R = turn[:9].reshape(3, 3).T
                p, d = R @ p + turn[9:], R @ d
            values[i, j] = _numbers(p, d)
    # Of 1, cos θ₅, sin θ₅, then the same times cos θ₄, then times sin θ₄.
    terms = np.einsum('ai,bj,ijn->abn', _FACTORS, _FACTORS, values).reshape(9, 14)
    constant, varying = terms[0], terms[1:].T
    free = np.linalg.svd(varying)[0][:, 8:].T
    angles = np.linalg.pinv(varying)[[2, 5, 0, 1]]
    equations, angles = (
        np.ascontiguousarray(np.column_stack([rows, -rows @ constant])) for rows in (free, angles)
    )
    return equations, angles


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return columns of the rotation about an axis, then the translation, (12,)."""
    h, o = axis[:3], axis[3:]
    K = np.cross(np.eye(3), h)
    R = np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K
    return np.concatenate([R.T.ravel(), o - R @ o])


def _numbers(p: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the fourteen numbers of a point and a direction."""
    square, along = p @ p, p @ d
    return np.concatenate([p, d, [square, along], np.cross(p, d), square * d - 2.0 * along * p])
