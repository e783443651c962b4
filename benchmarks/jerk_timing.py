"""
Timing with limits of jerk: how much longer it takes than the best that is known.

The best along straight joint lines is that of Ruckig, for one degree of freedom, the way along the
line. Along other paths it is that of a dense optimisation: successive linear programs by SciPy's
HiGHS over the square of the speed at several hundred places, with other differences, limits that
hold at these places alone, and no round trip over quintics; so it is slightly too good. Straight
lines of the tip that come to a limit of position, which it does not know, are left out.
"""

from __future__ import annotations

from importlib.util import find_spec
from time import perf_counter

from cartesian_path import excess
import numpy as np
from records import Row
from robots import BenchRobot
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import linprog
from scipy.sparse import csr_array, diags_array, lil_array, vstack
from timing import measure_robots

import ik_service as iks
from ik_service.paths.cartesian_path import cartesian_path, CartesianSettings, JumpThresholds
from ik_service.paths.search.path_solver import PathOptions
from ik_service.paths.timing.joint_curve import joint_curve
from ik_service.paths.timing.timing_limits import timing_limits

_KINDS = (
    'line, 2 rows', 'line, 100 rows', 'curve, 12 rows', 'curve, 100 rows',
    'curve, 40 uneven rows', 'tip on a line',
)  # fmt: skip
_INSIDE = 0.05  # distance from limits of position [rad] at which no spline leaves them
_SMOOTH = 10.0  # tolerance [m] with which no row is a corner
_ROUNDING = 1e-6  # share of a limit that counts as kept
# Linear programs at most; the gain of one that counts as none, and how many such end them.
_PROGRAMS, _SETTLED, _IDLE = 60, 2e-4, 3
_FINE = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, 1_000_001))  # to invert the law s(τ)
_TIMES = 5  # a path is timed as often, for the median

Limits = tuple[np.ndarray, np.ndarray, np.ndarray]  # (n,) velocities, accelerations and jerks


def main() -> None:
    """Measure and save."""
    measure_robots(
        'jerk_timing',
        __doc__,
        measure,
        one_core=False,
        count=(10, 'paths of each kind for each arm'),
        chains=('panda,ur5', 'names'),
        seed=(1, 'of the random paths'),
        places=(400, 'of the dense optimisation'),
    )


def measure(robot: BenchRobot, **settings: int) -> list[Row]:
    """Rows of the table for one arm."""
    kinds = _KINDS if find_spec('ruckig') else _KINDS[2:]
    return [compare(robot, kind, **settings) for kind in kinds]


def compare(robot: BenchRobot, kind: str, seed: int, count: int, places: int) -> Row:
    """Row of the table for one arm and kind of paths."""
    chain, random = robot.chain, np.random.default_rng(seed)
    ratios, seconds, free, exceeded, points = [], [], [], 0, []
    for _ in range(count):
        q = path(chain, kind, random)
        velocity = chain.velocity * random.uniform(0.3, 1.0)
        acceleration = velocity * random.uniform(2.0, 10.0)
        limits = velocity, acceleration, acceleration * 10.0 ** random.uniform(0.5, 2.0)
        trajectory = timed(chain, q, limits, limits[2])
        best = ruckig(q, limits) if kind.startswith('line') else dense(chain, q, limits, places)
        ratios.append(trajectory.duration / best)
        exceeded += excess(trajectory, limits, 52) > 1.0 + _ROUNDING
        points.append(len(trajectory))
        for jerk, times in ((limits[2], seconds), (np.inf, free)):
            measured = []
            for _ in range(_TIMES):
                began = perf_counter()
                timed(chain, q, limits, jerk)
                measured.append(perf_counter() - began)
            times.append(float(np.median(measured)))
    return {
        'path': kind,
        'paths': count,
        'best': 'Ruckig' if kind.startswith('line') else 'dense optimisation',
        'ratio_median': float(np.median(ratios)),
        'ratio_worst': max(ratios),
        'exceeded': exceeded,
        'points': float(np.median(points)),
        'median_ms': 1e3 * float(np.median(seconds)),
        'worst_ms': 1e3 * max(seconds),
        'without_ms': 1e3 * float(np.median(free)),
    }


def timed(
    chain: iks.KinematicChain, q: np.ndarray, limits: Limits, jerk: np.ndarray | float
) -> iks.JointTrajectory:
    """Return our motion along a smooth path."""
    return iks.time_path(chain, q, iks.TimingLimits(*limits[:2]), tolerance=_SMOOTH, jerk=jerk)


def path(chain: iks.KinematicChain, kind: str, random: np.random.Generator) -> np.ndarray:
    """Return the rows of a random path."""
    lower, upper = np.maximum(chain.lower, -np.pi), np.minimum(chain.upper, np.pi)
    middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
    if kind.startswith('tip'):
        return tip_line(chain, lower, upper, random)
    count = int(kind.split()[1])
    t = np.linspace(0.0, 1.0, count)[:, None]
    if kind.startswith('line'):
        start, end = random.uniform(lower, upper, (2, chain.n))
        return start + t * (end - start)
    if 'uneven' in kind:
        t = np.sort(random.uniform(0.0, 1.0, (count, 1)), axis=0)
    phase = 2.0 * np.pi * t * random.uniform(0.2, 1.0, chain.n)
    return middle + 0.4 * half * np.sin(phase + random.uniform(0.0, 6.0, chain.n))


def tip_line(
    chain: iks.KinematicChain, lower: np.ndarray, upper: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Return the rows of a straight line of the tip, of 0.2 to 0.5 m."""
    settings = CartesianSettings(
        0.01, JumpThresholds(), PathOptions(timeout=5.0), np.eye(4),
        timing_limits(chain, None).velocity,
    )  # fmt: skip
    while True:
        start, direction = random.uniform(lower, upper), random.normal(size=3)
        end = chain.forward(start)
        end[:3, 3] += direction / np.linalg.norm(direction) * random.uniform(0.2, 0.5)
        found = cartesian_path(chain, start, end[None], settings)
        inside = np.minimum(found.q - chain.lower, chain.upper - found.q).min() > _INSIDE
        if found.fraction == 1.0 and inside:
            return found.q


def ruckig(q: np.ndarray, limits: Limits) -> float:
    """Return the duration of Ruckig's motion along a straight line."""
    from ruckig import InputParameter, Ruckig, Trajectory

    way = np.abs(q[-1] - q[0])
    largest = [float((limit / np.maximum(way, 1e-12)).min()) for limit in limits]
    request = InputParameter(1)
    request.current_position, request.target_position = [0.0], [1.0]
    request.max_velocity, request.max_acceleration, request.max_jerk = ([x] for x in largest)
    trajectory = Trajectory(1)
    Ruckig(1).calculate(request, trajectory)
    return float(trajectory.duration)


def dense(chain: iks.KinematicChain, q: np.ndarray, limits: Limits, places: int) -> float:
    """
    Return the least duration along the splines through rows, from rest to rest.

    Along s = L (10 τ³ − 15 τ⁴ + 6 τ⁵) the unknowns are b = τ̇² at evenly spaced τ, at the rows and
    in the middles between them; its derivatives are differences. That the jerk is within its
    limit, |form| √b ≤ 1, is linearised at the last b, where 1 / √b is convex.
    """
    curve = joint_curve(chain, q, limits[0], None, _SMOOTH)
    s = np.concatenate([[0.0], np.cumsum(curve.h)])
    spline = CubicHermiteSpline(s, curve.q, np.vstack([curve.start, curve.end[-1:]]))
    law = s[-1] * np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
    rows = np.interp(s, law(_FINE), _FINE)
    between = 0.5 * (rows[1:] + rows[:-1])
    even = np.linspace(0.0, 1.0, places + 1)
    apart = np.abs(even[:, None] - rows).min(axis=1) > 0.2 / places
    tau = np.unique(np.concatenate([rows, between, even[apart]]))
    slope, bend = differences(tau)
    gains, changes = [], []
    for beside in (-1e-12, 1e-12):  # the third derivative jumps at the rows
        first, second, third = derivatives(spline, law, tau, beside * s[-1])
        for joint in range(q.shape[1]):
            a1, a2 = (values[:, joint] / limits[1][joint] for values in (first, second))
            j1, j2, j3 = (values[:, joint] / limits[2][joint] for values in (first, second, third))
            gains.append(diags_array(a2) + diags_array(a1) @ slope)
            changes.append(
                diags_array(j3) + diags_array(3.0 * j2) @ slope + diags_array(j1) @ bend
            )
    forms = vstack(gains), vstack(changes)
    caps = 1.0 / np.maximum(np.square(first / limits[0]).max(axis=1), 1e-9)
    constant = [np.abs(form.sum(axis=1)).max() for form in forms]
    start = 0.9 * min(caps.min(), 1.0 / constant[0], constant[1] ** (-2.0 / 3.0))
    weights = np.zeros_like(tau)
    weights[:-1] += 0.5 * np.diff(tau)
    weights[1:] += 0.5 * np.diff(tau)
    return shortest(forms, caps, weights, np.full(len(tau), start))


def derivatives(
    spline: CubicHermiteSpline, law: np.polynomial.Polynomial, tau: np.ndarray, beside: float
) -> list[np.ndarray]:
    """Return the first three derivatives (N, n) of the joints by τ, just beside some places."""
    s1, s2, s3 = (law.deriv(order)(tau)[:, None] for order in (1, 2, 3))
    at = np.clip(law(tau) + beside, 0.0, spline.x[-1])
    q1, q2, q3 = (spline(at, order) for order in (1, 2, 3))
    return [q1 * s1, q2 * s1**2 + q1 * s2, q3 * s1**3 + 3.0 * q2 * s1 * s2 + q1 * s3]


def differences(tau: np.ndarray) -> list[csr_array]:
    """Return half the first and second derivatives of values at some places."""
    size, h = len(tau), np.diff(tau)
    slope, bend = lil_array((size, size)), lil_array((size, size))
    for k in range(1, size - 1):
        a, b, beside = h[k - 1], h[k], [k - 1, k, k + 1]
        slope[k, beside] = [
            -0.5 * b / (a * (a + b)),
            0.5 * (b - a) / (a * b),
            0.5 * a / (b * (a + b)),
        ]
        bend[k, beside] = [1.0 / (a * (a + b)), -1.0 / (a * b), 1.0 / (b * (a + b))]
    slope[0, [0, 1]], slope[-1, [-2, -1]] = [-0.5 / h[0], 0.5 / h[0]], [-0.5 / h[-1], 0.5 / h[-1]]
    bend[0], bend[-1] = bend[1], bend[-2]
    return [slope.tocsr(), bend.tocsr()]


def shortest(
    forms: tuple[csr_array, csr_array], caps: np.ndarray, weights: np.ndarray, b: np.ndarray
) -> float:
    """Least duration by successive linear programs, from b (N,) within all limits."""
    gains, changes = forms
    joints = gains.shape[0] // len(b)
    duration, reach, idle = float((weights / np.sqrt(b)).sum()), 3.0, 0
    for _ in range(_PROGRAMS):
        tangents = vstack([diags_array(0.5 * b**-1.5)] * joints)
        roots = np.tile(1.5 / np.sqrt(b), joints)
        found = linprog(
            -0.5 * weights * b**-1.5,
            vstack([gains, -gains, changes + tangents, tangents - changes]),
            np.concatenate([np.ones(2 * len(roots)), roots, roots]),
            bounds=np.stack([b / reach, np.minimum(caps, b * reach)], axis=1),
            method='highs-ipm',
        )
        newer = b if found.x is None else np.maximum(found.x, 1e-12)
        shorter = float((weights / np.sqrt(newer)).sum())
        gained = 1.0 - shorter / duration
        if gained > 0.0:
            b, duration = newer, shorter
        if gained < _SETTLED:
            reach, idle = 1.0 + 0.4 * (reach - 1.0), idle + 1
            if idle == _IDLE:
                break
    return duration


if __name__ == '__main__':
    main()
