"""The paper's arm and equations in plain NumPy, in points, with none of the package's code."""

import numpy as np

LENGTHS = np.array([90.0, 60.0, 90.0, 150.0, 150.0, 90.0])
BASE = np.array([-230.0, 0.0])
N = len(LENGTHS)
WAYPOINTS = [
    np.array([400.0 * np.cos(2 * np.pi * k / 100), 50.0 * np.sin(2 * np.pi * k / 100)])
    for k in range(1, 101)
]


def tip(q):
    angle = np.cumsum(q)
    return BASE + LENGTHS @ np.column_stack([np.cos(angle), np.sin(angle)])


def jacobian(q):
    """The last two rows of equation (9)."""
    angle = np.cumsum(q)
    x, y = LENGTHS * np.cos(angle), LENGTHS * np.sin(angle)
    return np.array([[-y[i:].sum() for i in range(N)], [x[i:].sum() for i in range(N)]])


def extended(q, w):
    """Equation (9), its upper rows multiplied by w."""
    A = np.zeros((2 * N, N))
    for i in range(N - 1):
        first, second = q[i], q[i] + q[i + 1]
        A[i, i] = -LENGTHS[i] * np.sin(first) - LENGTHS[i + 1] * np.sin(second)
        A[i, i + 1] = -LENGTHS[i + 1] * np.sin(second)
        A[N - 1 + i, i] = LENGTHS[i] * np.cos(first) + LENGTHS[i + 1] * np.cos(second)
        A[N - 1 + i, i + 1] = LENGTHS[i + 1] * np.cos(second)
    A *= w
    A[-2:] = jacobian(q)
    return A


def inversion_step(q, dx):
    """Equation (4), with the singular values cut at 1e-15 of the largest."""
    return np.linalg.pinv(jacobian(q), rcond=1e-15) @ dx


def extended_step(q, dx, w):
    """Least squares of equation (9) by the normal equations and LU, inner displacements zero."""
    A = extended(q, w)
    b = np.append(np.zeros(2 * N - 2), dx)
    return np.linalg.solve(A.T @ A, A.T @ b)


def follow(step):
    """Postures (101, 6) and distances (100,) of one step a waypoint from q = 0."""
    q = [np.zeros(N)]
    for waypoint in WAYPOINTS:
        q.append(q[-1] + step(q[-1], waypoint - tip(q[-1])))
    distance = [np.linalg.norm(tip(a) - b) for a, b in zip(q[1:], WAYPOINTS, strict=True)]
    return np.array(q), np.array(distance)
