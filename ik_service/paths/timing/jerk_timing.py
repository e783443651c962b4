"""
Fastest motion along a curve within limits of velocity, acceleration and jerk.

Between two rows of rest the path parameter follows a law s(τ) from rest to rest, which τ ∈ [0, 1]
passes at a speed that is found by optimisation. As s grows with τ³ at both ends, velocity and
acceleration are 0 there whatever that speed is, and the jerk is finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
import math

import numpy as np

from ik_service.exceptions import TrajectoryError
from ik_service.jit.entry import entry_point
from ik_service.paths.timing.jerk_kernels import jerk_profile
from ik_service.paths.timing.joint_curve import apart, JointCurve
from ik_service.paths.timing.speed_profile import Motion, NO_SLOPE, Pace, slowed
from ik_service.paths.timing.timing_limits import JointTorques
from ik_service.paths.trajectory.joint_trajectory import segment_coefficients

_COARSE, _CELLS = 40, 60  # cells between two rests, without those that rows add
_LONGEST_RAMP, _SHORTEST_RAMP = 0.49, 1e-3  # of the law s(τ), as a share of its length
_MOST_STEPS = 100  # of the optimisation
_GAPS = 1e-2, 2e-3  # share of the time that it may lose, with coarse cells and with fine ones
_SCALE = 0.7  # share of the fastest multiple of a profile with which it begins
# Rounds in which the limits are drawn in where the motion between its points exceeds them, and by
# which factor it may be slowed down in the end instead.
_ROUNDS, _FINE = 6, 1.002
_PLACES, _SHARES = np.array([0.0, 0.5, 1.0]), np.array([1.0, 4.0, 1.0]) / 6.0  # Simpson's rule
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(6)  # for the durations of cells
_SAMPLES, _TORQUE_SAMPLES = 32, 4  # parts of a cell at whose ends its motion is sampled
_HELD = 0.99  # share of a limit of torque with which a posture can be held, and moved
_BISECTIONS = 50
_CLOSEST = 5e-5  # rows whose polynomials have jerks with enough digits [s]
_FULL_RAMP = 0.6  # distance on a ramp of length 1 up to a slope of 1
# Share of the duration that limits of acceleration and jerk cost at least, and the length of a
# phase of constant jerk that is none, as a share of the other ones.
_COST, _SHORT = 2e-3, 1e-3


@dataclass(frozen=True)
class JerkLimits:
    """
    Limits of the motion of n joints.

    :ivar velocity: (n,) [rad/s] or [m/s].
    :ivar acceleration: (n,) [rad/s²] or [m/s²]; inf for none.
    :ivar jerk: (n,) [rad/s³] or [m/s³]; inf for none.
    :ivar torques: torques and their limits; None for no limit.
    """

    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    torques: JointTorques | None = None

    def excess(self, motion: Motion) -> np.ndarray:
        """
        Return upper bounds of the shares of the limits between the points of a motion.

        Between samples δ apart a function exceeds them by no more than δ² / 8 times the largest
        of its second derivative. Of torques the second differences stand for it.

        :param motion: the motion, quintic between its points.
        :returns: (k−1, 4) largest shares of velocity, acceleration, jerk and torque, the last of
            the margin left by the static torque.
        """
        h = np.diff(motion[0])[:, None]
        scaled = segment_coefficients(*motion) * (h ** np.arange(6.0))[:, :, None]
        u = np.linspace(0.0, 1.0, _SAMPLES + 1)[:, None]
        largest = np.zeros((6, *h.shape[:1], scaled.shape[2]))
        for order in range(5, 0, -1):
            i = np.arange(order, 6)
            falling = np.array([math.perm(power, order) for power in i.tolist()])
            values = (falling * u ** (i - order)) @ scaled[:, order:]
            largest[order] = np.abs(values).max(axis=1)
            if order < 4:
                largest[order] += largest[order + 2] / (8.0 * _SAMPLES**2)
        shares = [
            (largest[order] / limit).max(axis=1) / h[:, 0] ** order
            for order, limit in enumerate(self.all, 1)
        ]
        return np.stack([*shares, self._torque_shares(motion)], axis=1)

    def _torque_shares(self, motion: Motion) -> np.ndarray:
        """Return the largest shares (k−1,) of the margin left by the static torque."""
        if self.torques is None:
            return np.zeros(len(motion[0]) - 1)
        t = np.linspace(0.0, 1.0, _TORQUE_SAMPLES + 1)[:, None] * np.diff(motion[0])
        terms = list(np.moveaxis(segment_coefficients(*motion), 1, 0)[:, None])
        q, velocity, acceleration, _ = (
            values.reshape(-1, values.shape[-1]) for values in _derivatives(terms, t[:, :, None])
        )
        static = _static(self.torques, q)
        change = (self.torques.of(q, velocity, acceleration) - static).reshape(*t.shape, -1)
        bow = np.abs(np.diff(change, 2, axis=0)).max(axis=0) / 8.0
        static, limit = static.reshape(change.shape), self.torques.limit
        shares = np.maximum((bow + change) / (limit - static), (bow - change) / (limit + static))
        return np.asarray(shares.max(axis=(0, 2)))

    @property
    def all(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The three limits, without those of joints that do not move, which are 0."""
        velocity, acceleration, jerk = (
            np.where(limit > 0.0, limit, math.inf)
            for limit in (self.velocity, self.acceleration, self.jerk)
        )
        return velocity, acceleration, jerk

    def along(self, slopes: np.ndarray) -> list[float]:
        """Return the largest ṡ, s̈ and s⃛ on a straight line, by the joints' slopes by s (n,)."""
        moving = np.abs(slopes) > NO_SLOPE
        return [float((limit[moving] / np.abs(slopes[moving])).min()) for limit in self.all]


def jerk_limited_motion(
    curve: JointCurve, limits: JerkLimits, pace: Pace
) -> tuple[Motion, np.ndarray]:
    """
    Return the motion along a curve that takes the least time, within limits also between points.

    It has further points between the rows, as the jerk changes there.

    :param curve: the curve, of at least two rows.
    :param limits: limits of the joints; a joint that moves has ones above 0.
    :param pace: bound on the speed along the curve.
    :returns: the motion, and (k−1,) numbers of the points at its rows but the last.
    """
    parts: list[Motion] = []
    starts: list[np.ndarray] = []
    time, points = 0.0, 0
    for first, last in pairwise(np.flatnonzero(curve.rests).tolist()):
        piece = _Piece(curve, first, last, limits, pace)
        straight = last - first == 1 and limits.torques is None
        motion, rows = piece.straight() if straight else piece.motion()
        times, q, velocities, accelerations = (values[:-1] for values in motion)
        parts.append((times + time, q, velocities, accelerations))
        starts.append(rows + points)
        time, points = time + motion[0][-1], points + len(motion[0]) - 1
    still = np.zeros_like(curve.q[-1:])
    parts.append((np.array([time]), curve.q[-1:], still, still))
    times, q, velocities, accelerations = map(np.concatenate, zip(*parts, strict=True))
    whole = times, q, velocities, accelerations
    while (slower := _slowness(limits.excess(whole))) > 1.0:
        whole = slowed(whole, slower * (1.0 + 1e-9))
    return whole, np.concatenate(starts)


def _slowness(excess: np.ndarray) -> float:
    """Return the factor of the times with which a motion of some excess keeps the limits."""
    velocity, acceleration, jerk, torque = excess.max(axis=0).tolist()
    return max(1.0, velocity, math.sqrt(max(acceleration, torque)), math.cbrt(jerk))


class _Law:
    """Law s(τ) from rest to rest: ramps of degree 5, and a constant slope between them."""

    def __init__(self, length: float, ramp: float) -> None:
        self._length, self._ramp = length, ramp
        self._slope = length / (1.0 - 0.8 * ramp)

    def at(self, tau: np.ndarray) -> list[np.ndarray]:
        """Return s and its first three derivatives."""
        second = tau > 0.5
        u = np.where(second, 1.0 - tau, tau) / self._ramp
        x = np.minimum(u, 1.0)
        v, ramp = self._slope, self._ramp
        s = v * ramp * (_ramp_distance(x) + u - x)
        bend = (v / ramp) * 12.0 * x * (1.0 - x) ** 2
        return [
            np.where(second, self._length - s, s),
            v * x * x * (6.0 - 8.0 * x + 3.0 * x * x),
            np.where(second, -bend, bend),
            (v / ramp**2) * 12.0 * (1.0 - x) * (1.0 - 3.0 * x),
        ]

    def inverse(self, s: np.ndarray) -> np.ndarray:
        """Return τ at some values of s (k,), which include both ends."""
        second = s > 0.5 * self._length
        distance = np.where(second, self._length - s, s) / (self._slope * self._ramp)
        low, high = np.zeros_like(s), np.ones_like(s)
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            below = _ramp_distance(middle) < distance
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        tau = self._ramp * np.where(distance < _FULL_RAMP, low, distance + 1.0 - _FULL_RAMP)
        tau = np.where(second, 1.0 - tau, tau)
        tau[0], tau[-1] = 0.0, 1.0
        return tau


def _ramp_distance(u: np.ndarray) -> np.ndarray:
    """Return the distance on a ramp of length 1 up to a slope of 1, by its parameter."""
    return u**3 * (2.0 - 2.0 * u + 0.6 * u * u)


@dataclass(frozen=True)
class _Cells:
    """
    Cells of τ, between whose edges are those rows of the curve that are not too close together.

    :ivar edges: (N + 1,) where they begin and end.
    :ivar rows: (m + 1,) numbers of the rows that are edges.
    :ivar starts: (m + 1,) numbers of these edges.
    """

    edges: np.ndarray
    rows: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(
        cls, tau: np.ndarray, rows: np.ndarray, edges: np.ndarray, measure: np.ndarray, count: int
    ) -> _Cells:
        """
        Return cells of equal size by some measure, or smaller ones beside rows.

        The rows are at tau (k,), of which those of some numbers are edges; the measure is known up
        to each of the positions ``edges`` (M + 1,).
        """
        at_rows = np.interp(tau[rows], edges, measure)
        spans = np.diff(at_rows)
        parts = np.maximum(1, np.ceil(spans * (count / measure[-1]) - 1e-9)).astype(int)
        owners = np.repeat(np.arange(len(spans)), parts)
        starts = np.concatenate([[0], np.cumsum(parts)])
        within = (np.arange(len(owners)) - starts[owners]) / parts[owners]
        found = np.append(np.interp(at_rows[owners] + within * spans[owners], measure, edges), 1.0)
        found[starts] = tau[rows]
        return cls(found, rows, starts)

    def segments_at(self, s: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the segment of the curve at points (N, p) of the cells; at rows, the cell's."""
        edges = np.arange(len(self.edges))
        before = self.rows[np.searchsorted(self.starts, edges[:-1], 'right') - 1]
        after = self.rows[np.searchsorted(self.starts, edges[1:], 'left')]
        found = np.searchsorted(rows, s, 'right') - 1
        return np.clip(found, before[:, None], after[:, None] - 1)

    @property
    def widths(self) -> np.ndarray:
        """Their widths (N,)."""
        return np.diff(self.edges)


def _rates(widths: np.ndarray, profile: np.ndarray, u: float) -> np.ndarray:
    """Return b, b' / 2 and b'' / 2 (3, N) of a quadratic spline at a place in each cell."""
    rise = np.diff(profile)
    up = rise[1:] * widths / (widths + np.append(widths[1:], 0.0))
    down = rise[:-1] * widths / (widths + np.append(0.0, widths[:-1]))
    v = 1.0 - u
    return np.stack(
        [
            profile[1:-1] - down * v * v + up * u * u,
            (down * v + up * u) / widths,
            (up - down) / widths**2,
        ]
    )


class _Problem:
    """
    Optimisation of the speed over some cells.

    :param derivatives: positions of the joints at places of the cells (N, p, n), and their first
        three derivatives by τ.
    :param slowest: (N, p) lower bounds of dt/dτ.
    """

    def __init__(
        self, cells: _Cells, derivatives: list[np.ndarray], limits: JerkLimits, slowest: np.ndarray
    ) -> None:
        self.cells, self._widths = cells, cells.widths
        self._q, one, two, three = derivatives
        torques = _torque_forms(limits.torques, self._q, one, two)
        self._first, self._second = one, two
        velocity, acceleration, jerk = limits.all
        slowest = np.maximum(slowest, (np.abs(one) / velocity).max(axis=-1))
        nothing = np.zeros_like(slowest)
        speed = np.stack([slowest**2, nothing, nothing, nothing], axis=-1)[:, :, None]
        gain = np.stack([two, one, 0.0 * one, 0.0 * one], axis=-1) / acceleration[:, None]
        change = np.stack([three, 3.0 * two, one, 0.0 * one], axis=-1) / jerk[:, None]
        gain, change = gain[:, :, acceleration < math.inf], change[:, :, jerk < math.inf]
        self._parts = np.cumsum([1, gain.shape[2], torques.shape[2]]).tolist()
        forms = np.concatenate([speed, gain, torques, change], axis=2)
        self._forms = np.ascontiguousarray(forms)

    def solve(self, profile: np.ndarray, gap: float) -> np.ndarray:
        """Return the spline b = τ̇² of least time, by its coefficients, from a positive one."""
        profile = self._within(profile)
        count, places, rows = self._forms.shape[:3]
        arguments = (
            self._widths, _PLACES, _SHARES, self._forms, self._parts[-1], _MOST_STEPS, gap,
            profile, np.empty((count, places, rows, 2)), np.empty(count + 2),
            np.empty((count + 2, 3)), np.zeros(count + 2), np.empty((5, 3)),
        )  # fmt: skip
        entry_point(jerk_profile, *arguments)(*arguments)
        return profile

    def _within(self, profile: np.ndarray) -> np.ndarray:
        """Return a multiple of a profile that is well within the limits."""
        rates = np.stack([_rates(self._widths, profile, u) for u in _PLACES.tolist()], axis=-1)
        values = np.abs(np.einsum('kpmr,rkp->mkp', self._forms[..., :3], rates))
        room = 1.0 - np.abs(np.moveaxis(self._forms[..., 3], 2, 0))
        plain = self._parts[-1]
        largest = (values[:plain] / room[:plain]).max()
        jerk = (values[plain:] * np.sqrt(rates[0])).max(initial=0.0)
        return profile * (_SCALE / max(largest, math.cbrt(jerk) ** 2))

    def draw_in(self, excess: np.ndarray) -> None:
        """Draw in the limits by excess (N, 4): shares of velocity, acceleration, jerk, torque."""
        velocity, acceleration, jerk, torque = np.maximum(excess, 1.0).T[:, :, None, None, None]
        first, second, third = self._parts
        changing = self._forms[..., :3]
        changing[:, :, :first] *= velocity**2
        changing[:, :, first:second] *= acceleration
        changing[:, :, second:third] *= torque
        changing[:, :, third:] *= jerk

    def motion(self, profile: np.ndarray) -> Motion:
        """Return the motion with a profile (N + 2,), with points at the edges of the cells."""
        places = 0.5 * (1.0 + _NODES)
        slowness = [_rates(self._widths, profile, u)[0] ** -0.5 for u in places.tolist()]
        durations = 0.5 * self._widths * (_WEIGHTS @ np.array(slowness))
        starts, ends = (_rates(self._widths, profile, u) for u in (0.0, 1.0))
        b, gain, _ = np.append(starts, ends[:, -1:], axis=1)[:, :, None]
        q, first, second = map(_at_edges, (self._q, self._first, self._second))
        times = np.concatenate([[0.0], np.cumsum(durations)])
        return times, q, first * np.sqrt(b), second * b + first * gain


def _static(torques: JointTorques, q: np.ndarray) -> np.ndarray:
    """Return the torques (k, n) at rest; raises TrajectoryError if they leave no room to move."""
    static = torques.of(q, np.zeros_like(q), np.zeros_like(q))
    wrong = np.argwhere(np.abs(static) >= _HELD * torques.limit)
    if len(wrong):
        raise TrajectoryError(
            f'leads where a joint needs the torque {static[tuple(wrong[0])]:.4g} at rest, which '
            f'leaves no room to move within its limit of {torques.limit[wrong[0, 1]]:.4g}'
        )
    return static


def _torque_forms(
    torques: JointTorques | None, q: np.ndarray, first: np.ndarray, second: np.ndarray
) -> np.ndarray:
    """
    Return torques as shares of their limits, (N, p, m, 4) forms of (b, b' / 2, b'' / 2, 1).

    They are those of joint vectors (N, p, n) and their first two derivatives by τ.
    """
    if torques is None:
        return np.zeros((*q.shape[:2], 0, 4))
    shape = q.shape[:2]
    q, first, second = (values.reshape(-1, q.shape[2]) for values in (q, first, second))
    static = _static(torques, q)
    fastest = torques.of(q, first, second) - static
    gain = torques.of(q, 0.0 * q, first) - static
    forms = np.stack([fastest, gain, 0.0 * gain, static], axis=-1) / torques.limit[:, None]
    return forms.reshape(*shape, -1, 4)[:, :, torques.limit < math.inf]


def _at_edges(values: np.ndarray) -> np.ndarray:
    """Return values (N, p, n) at the places of cells at their edges (N + 1, n)."""
    return np.concatenate([values[:, 0], values[-1:, -1]])


class _Piece:
    """Part of a curve between two rows of rest."""

    def __init__(
        self, curve: JointCurve, first: int, last: int, limits: JerkLimits, pace: Pace
    ) -> None:
        self._limits, self._q = limits, curve.q[first : last + 1]
        self._h, self._polynomials = curve.h[first:last], _polynomials(curve, first, last)
        self._pace = None if pace is None else pace[first:last]
        self._s = np.concatenate([[0.0], np.cumsum(self._h)])
        self._secants = curve.secants[first:last]

    def straight(self) -> tuple[Motion, np.ndarray]:
        """Return the motion where there is one segment, which is straight; and its first point."""
        length = float(self._s[-1])
        velocity, acceleration, jerk = self._limits.along(self._secants[0])
        if self._pace is not None:
            velocity = min(velocity, float(self._pace[0]))
        times, s = line_motion(length, velocity, acceleration, jerk)
        q = self._q[0] + s[0][:, None] * self._secants[0]
        q[-1] = self._q[-1]
        velocities, accelerations = (values[:, None] * self._secants[0] for values in s[1:])
        return (times, q, velocities, accelerations), np.zeros(1, int)

    def motion(self) -> tuple[Motion, np.ndarray]:
        """Return the motion, and the numbers of its points at the rows but the last."""
        ramp = self._ramp()
        law = _Law(float(self._s[-1]), ramp)
        tau = law.inverse(self._s)
        knots = np.array([0.0, ramp, 1.0 - ramp, 1.0])
        between = min(0.5, 1.0 - 2.0 * ramp)
        measure = np.array([0.0, 0.5 - 0.5 * between, 0.5 + 0.5 * between, 1.0])
        coarse = _Cells.of(tau, np.arange(len(tau)), knots, measure, _COARSE)
        problem = self._problem(law, coarse)
        profile = problem.solve(np.ones(len(coarse.edges) + 1), _GAPS[0])
        motion = problem.motion(profile)
        rows = apart(motion[0][coarse.starts, None], _CLOSEST)
        cells = _Cells.of(tau, rows, coarse.edges, self._measure(motion), _CELLS)
        problem = self._problem(law, cells)
        profile = _transferred(profile, coarse, cells)
        best, least = None, math.inf
        for _ in range(_ROUNDS):
            profile = problem.solve(profile, _GAPS[1])
            motion = problem.motion(profile)
            excess = self._limits.excess(motion)
            slower = _slowness(excess)
            if slower * motion[0][-1] < least:
                best, least = slowed(motion, slower), slower * motion[0][-1]
            if slower <= _FINE:
                break
            problem.draw_in(excess)
        assert best is not None
        best[1][cells.starts] = self._q[cells.rows]
        numbers = np.arange(len(self._h))
        return best, cells.starts[np.searchsorted(cells.rows, numbers, 'right') - 1]

    def _ramp(self) -> float:
        """Return about which share of the duration it takes to reach full speed."""
        if self._limits.torques is not None:  # which may be all that bounds the accelerations
            return _LONGEST_RAMP
        fastest = 1.0 / (np.abs(self._secants) / self._limits.all[0]).max(axis=1)
        if self._pace is not None:
            fastest = np.minimum(fastest, self._pace)
        at_full_speed = float((self._h / fastest).sum())
        ramps = []
        for end in (0, -1):  # by the secants, as slopes can be 0
            velocity, acceleration, jerk = self._limits.along(self._secants[end])
            velocity = min(velocity, float(fastest[end]))
            rise = min(math.sqrt(velocity / jerk), acceleration / jerk)
            ramps.append(rise + velocity / (rise * jerk if rise > 0.0 else acceleration))
        longest = max(ramps)
        return min(max(longest / (longest + at_full_speed), _SHORTEST_RAMP), _LONGEST_RAMP)

    def _measure(self, motion: Motion) -> np.ndarray:
        """Return a measure up to each point of a motion, half of time and half of its jerk."""
        changes = np.abs(np.diff(motion[3], axis=0) / self._limits.all[1]).max(axis=1)
        changed = np.concatenate([[0.0], np.cumsum(changes)])
        return motion[0] / motion[0][-1] + changed / max(float(changed[-1]), 1e-300)

    def _problem(self, law: _Law, cells: _Cells) -> _Problem:
        """Return the optimisation over some cells."""
        tau = cells.edges[:-1, None] + cells.widths[:, None] * _PLACES
        s, s1, s2, s3 = law.at(tau)
        owners = cells.segments_at(s, self._s)
        own = np.clip(s - self._s[owners], 0.0, self._h[owners])
        terms = list(np.moveaxis(self._polynomials[owners], 2, 0))
        q, q1, q2, q3 = _derivatives(terms, own[:, :, None])
        slowest = np.zeros_like(s) if self._pace is None else s1 / self._pace[owners]
        s1, s2, s3 = (values[:, :, None] for values in (s1, s2, s3))
        derivatives = [q, q1 * s1, q2 * s1**2 + q1 * s2, q3 * s1**3 + 3.0 * q2 * s1 * s2 + q1 * s3]
        return _Problem(cells, derivatives, self._limits, slowest)


def _derivatives(terms: list[np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """Return a polynomial and its first three derivatives, from its terms, the constant first."""
    found = []
    for _ in range(4):
        value = np.zeros_like(x)
        for term in reversed(terms):
            value = value * x + term
        found.append(value)
        terms = [power * term for power, term in enumerate(terms)][1:]
    return found


def _polynomials(curve: JointCurve, first: int, last: int) -> np.ndarray:
    """
    Return the segments of a part of a curve as polynomials of s from their starts, (m, 6, n).

    They are the cubics; where the second derivative would jump, at rows at which the spline is
    parted, both sides get the mean by their lengths, as a shorter one's would bend a longer one
    far out.
    """
    h, start, end = curve.h[first:last, None], curve.start[first:last], curve.end[first:last]
    secants = curve.secants[first:last]
    terms = np.zeros((len(h), 6, curve.q.shape[1]))
    terms[:, 0], terms[:, 1] = curve.q[first:last], start
    terms[:, 2] = (3.0 * secants - 2.0 * start - end) / h
    terms[:, 3] = (start + end - 2.0 * secants) / h**2
    parted = np.isfinite(curve.weights[first + 1 : last, None])
    before, after = 2.0 * terms[:-1, 2] + 6.0 * h[:-1] * terms[:-1, 3], 2.0 * terms[1:, 2]
    change = np.where(parted, 0.5 * (after - before) / (h[:-1] + h[1:]), 0.0)
    half, other = h[1:] * change, h[:-1] * change
    # x³ (h − x)² / h³ at the end of a segment, and x² (h − x)³ / h³ at the start of the next one.
    terms[:-1, 3] += half / h[:-1]
    terms[:-1, 4] -= 2.0 * half / h[:-1] ** 2
    terms[:-1, 5] += half / h[:-1] ** 3
    terms[1:, 2] -= other
    terms[1:, 3] += 3.0 * other / h[1:]
    terms[1:, 4] -= 3.0 * other / h[1:] ** 2
    terms[1:, 5] += other / h[1:] ** 3
    return terms


def _transferred(profile: np.ndarray, cells: _Cells, finer: _Cells) -> np.ndarray:
    """Return about the same profile over other cells: its values at the means of their knots."""
    middles = 0.5 * (finer.edges[1:] + finer.edges[:-1])
    places = np.concatenate([finer.edges[:1], middles, finer.edges[-1:]])
    known = 0.5 * (cells.edges[1:] + cells.edges[:-1])
    return np.interp(places, np.concatenate([cells.edges[:1], known, cells.edges[-1:]]), profile)


def line_motion(
    length: float, velocity: float, acceleration: float, jerk: float
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the fastest motion from rest to rest along a line, of up to seven phases.

    In each the jerk is constant (Biagiotti and Melchiorri, "Trajectory Planning for Automatic
    Machines and Robots", 2008, ch. 3.4). Limits that would cost less than 0.2 % of the
    duration are lowered until they cost that, so that no phase is too short for its numbers.

    :param length: length of the line.
    :param velocity: the largest velocity.
    :param acceleration: the largest acceleration; may be inf.
    :param jerk: the largest jerk; may be inf.
    :returns: (k,) times of the ends of the phases, and (3, k) distance, velocity and acceleration.
    """
    least = length / velocity
    acceleration = min(acceleration, velocity / (_COST * least))
    speed = min(velocity, math.sqrt(acceleration * length))
    least = length / speed + speed / acceleration
    jerk = min(jerk, acceleration / (_COST * least))
    ramp = min(acceleration / jerk, math.sqrt(velocity / jerk), math.cbrt(0.5 * length / jerk))
    by_length = 0.5 * (math.sqrt(ramp**2 + 4.0 * length / (jerk * ramp)) - 3.0 * ramp)
    constant = max(0.0, min(by_length, velocity / (jerk * ramp) - ramp))
    peak = jerk * ramp * (ramp + constant)
    cruise = max(0.0, length / peak - 2.0 * ramp - constant)
    phases = [
        (ramp, jerk), (constant, 0.0), (ramp, -jerk), (cruise, 0.0),
        (ramp, -jerk), (constant, 0.0), (ramp, jerk),
    ]  # fmt: skip
    points = [(0.0, 0.0, 0.0, 0.0)]
    for h, j in phases:
        t, s, v, a = points[-1]
        if h > _SHORT * ramp:
            distance = s + h * (v + h * (0.5 * a + h * j / 6.0))
            points.append((t + h, distance, v + h * (a + 0.5 * h * j), a + h * j))
    points[-1] = (points[-1][0], length, 0.0, 0.0)
    found = np.array(points).T
    return found[0], found[1:]
