"""
Kernel of the timing with limits of jerk: the speed profile, by an interior-point method.

Along a path of parameter τ the unknown is b(τ) = τ̇², a quadratic spline, so that τ̈ = b' / 2 is
continuous. Limits of velocity and acceleration are linear in b and b' (Verscheure, Demeulenaere,
Swevers, De Schutter and Diehl, "Time-optimal path tracking for robots: a convex optimization
approach", IEEE Transactions on Automatic Control 54(10), 2009), and the time ∫ dτ / √b is convex.
The jerk is √b times a form that is linear in b, b' and b''. That it is at most 1 means that the
form is at most 1 / √b, of which a tangent is a lower bound: each step keeps the limit for the
tangent at the present b, and so for itself (Consolini, Locatelli and Minari, "A sequential
algorithm for jerk limited speed planning", IEEE Transactions on Automation Science and Engineering
19(4), 2022). The steps are those of a primal-dual method (Nocedal and Wright, "Numerical
Optimization", 2006, ch. 19), whose matrix has five diagonals.
"""

from __future__ import annotations

import math

from ik_service.jit.compile import inner_kernel, kernel
from ik_service.solvers.loop.linear_algebra import solve_banded

_START = 0.3  # duality gap at first, as a share of the time
_CENTERING = 0.05  # least share of the gap that is left after a step
_WITHIN = 0.98  # share of the distance to a limit that a step goes


@kernel
def jerk_profile(
    widths, places, shares, forms, plain, most, gap, profile, duals, floors, band, step, scratch
):
    """
    Maximise the speed along a path within limits, from a profile that is within all of them.

    The limits are forms f · (b, b' / 2, b'' / 2, 1), of absolute values of at most 1 or 1 / √b.

    :param widths: (N,) widths of the cells of τ.
    :param places: (p,) where in each cell the limits hold, from 0 to 1.
    :param shares: (p,) weights of the places in integrals over a cell of width 1.
    :param forms: (N, p, m, 4) the forms f; the last part is 0 but in the first ``plain`` of them.
    :param plain: number of the first of them that are at most 1.
    :param most: number of steps, at most.
    :param gap: share of the time that may be lost, by the duality gap.
    :param profile: (N + 2,) coefficients of b, in and out.
    :param duals: (N, p, m, 2) scratch.
    :param floors: (N + 2,) scratch: the multipliers of coefficients, which stay positive.
    :param band: (N + 2, 3) scratch.
    :param step: (N + 2,) scratch.
    :param scratch: (5, 3) scratch.
    :returns: the number of steps.
    """
    problem = widths, places, shares, forms, plain
    total = 0.5 * forms.size + profile.size
    duration = 0.0
    for k in range(widths.shape[0]):
        for p in range(places.shape[0]):
            _write_sample(widths, places, k, p, profile, step, scratch)
            duration += shares[p] * widths[k] / math.sqrt(scratch[3, 0])
    left = _START * duration
    _write_duals(problem, left / total, profile, duals, step, scratch)
    for i in range(profile.shape[0]):
        floors[i] = left / total / profile[i]
    centering = 0.2
    for number in range(most):
        barrier = centering * left / total
        _write_system(problem, barrier, profile, duals, floors, band, step, scratch)
        if not solve_banded(band, step):
            return number
        primal, dual = _step_lengths(problem, barrier, profile, duals, floors, step, scratch)
        before = duration
        duration, left = _advance(
            problem, barrier, profile, duals, floors, step, scratch, primal, dual
        )
        # The gap counts where the multipliers balance the time, as they do once it stays the same.
        if max(left, abs(before - duration)) < gap * duration and primal > 0.5:
            return number + 1
        centering = min(max((1.0 - min(primal, dual)) ** 2, _CENTERING), 0.8)
    return most


@inner_kernel
def _write_sample(widths, places, k, p, profile, step, scratch):
    """
    Write b, b' / 2 and b'' / 2 at a place of a cell into row 3 of the scratch, and changes into 4.

    Rows 0 to 2 become their weights in three coefficients: those of quadratic B-splines, all of
    whose knots are simple but those at the ends.
    """
    w, u = widths[k], places[p]
    v = 1.0 - u
    before = widths[k - 1] if k > 0 else 0.0
    after = widths[k + 1] if k + 1 < widths.shape[0] else 0.0
    left, right = w / (w + before), w / (w + after)
    scratch[0, 0], scratch[0, 2] = left * v * v, right * u * u
    scratch[1, 0], scratch[1, 2] = -left * v / w, right * u / w
    scratch[2, 0], scratch[2, 2] = left / (w * w), right / (w * w)
    for r in range(3):
        scratch[r, 1] = (1.0 if r == 0 else 0.0) - scratch[r, 0] - scratch[r, 2]
        scratch[3, r] = scratch[4, r] = 0.0
        for i in range(3):
            scratch[3, r] += scratch[r, i] * profile[k + i]
            scratch[4, r] += scratch[r, i] * step[k + i]


@inner_kernel
def _product(form, values):
    return form[0] * values[0] + form[1] * values[1] + form[2] * values[2]


@inner_kernel
def _bound(m, plain, b):
    """Return the bound of a form, and its slope over b."""
    if m < plain:
        return 1.0, 0.0
    root = 1.0 / math.sqrt(b)
    return root, -0.5 * root / b


@inner_kernel
def _write_duals(problem, barrier, profile, duals, step, scratch):
    """Write the multipliers of all limits on the central path."""
    widths, places, _, forms, plain = problem
    for k in range(widths.shape[0]):
        for p in range(places.shape[0]):
            _write_sample(widths, places, k, p, profile, step, scratch)
            for m in range(forms.shape[2]):
                value = _product(forms[k, p, m], scratch[3]) + forms[k, p, m, 3]
                bound, _ = _bound(m, plain, scratch[3, 0])
                duals[k, p, m, 0] = barrier / (bound - value)
                duals[k, p, m, 1] = barrier / (bound + value)


@inner_kernel
def _write_system(problem, barrier, profile, duals, floors, band, step, scratch):
    """Write the matrix of a step, and its right-hand side into ``step``."""
    widths, places, shares, forms, plain = problem
    for i in range(band.shape[0]):
        band[i, 1] = band[i, 2] = 0.0
        band[i, 0], step[i] = floors[i] / profile[i], barrier / profile[i]
    for k in range(widths.shape[0]):
        for p in range(places.shape[0]):
            _write_sample(widths, places, k, p, profile, step, scratch)
            b = scratch[3, 0]
            g0, g1, g2 = 0.5 * shares[p] * widths[k] / (b * math.sqrt(b)), 0.0, 0.0
            h00, h01, h02, h11, h12, h22 = 1.5 * g0 / b, 0.0, 0.0, 0.0, 0.0, 0.0
            for m in range(forms.shape[2]):
                f0, f1, f2 = forms[k, p, m, 0], forms[k, p, m, 1], forms[k, p, m, 2]
                value = _product(forms[k, p, m], scratch[3]) + forms[k, p, m, 3]
                bound, slope = _bound(m, plain, b)
                for side in range(2):
                    sign = 2.0 * side - 1.0
                    room = 1.0 / (bound + sign * value)
                    s0, s1, s2 = slope + sign * f0, sign * f1, sign * f2
                    stiffness, push = duals[k, p, m, side] * room, barrier * room
                    h00 += stiffness * s0 * s0
                    h01 += stiffness * s0 * s1
                    h02 += stiffness * s0 * s2
                    h11 += stiffness * s1 * s1
                    h12 += stiffness * s1 * s2
                    h22 += stiffness * s2 * s2
                    g0 += push * s0
                    g1 += push * s1
                    g2 += push * s2
            for i in range(3):
                w0, w1, w2 = scratch[0, i], scratch[1, i], scratch[2, i]
                step[k + i] += w0 * g0 + w1 * g1 + w2 * g2
                r0 = h00 * w0 + h01 * w1 + h02 * w2
                r1 = h01 * w0 + h11 * w1 + h12 * w2
                r2 = h02 * w0 + h12 * w1 + h22 * w2
                for j in range(i + 1):
                    product = r0 * scratch[0, j] + r1 * scratch[1, j] + r2 * scratch[2, j]
                    band[k + i, i - j] += product


@inner_kernel
def _change(forms, plain, barrier, duals, scratch, place, side):
    """Return the slack of a limit, its change by the step, and that of its multiplier."""
    k, p, m = place
    sign = 2.0 * side - 1.0
    bound, slope = _bound(m, plain, scratch[3, 0])
    value = _product(forms[k, p, m], scratch[3]) + forms[k, p, m, 3]
    slack = bound + sign * value
    change = slope * scratch[4, 0] + sign * _product(forms[k, p, m], scratch[4])
    return slack, change, (barrier - duals[k, p, m, side] * (slack + change)) / slack


@inner_kernel
def _step_lengths(problem, barrier, profile, duals, floors, step, scratch):
    """Return how much of the step is taken, so that all slacks and multipliers stay positive."""
    widths, places, _, forms, plain = problem
    primal = dual = 1.0 / _WITHIN
    for i in range(step.shape[0]):
        if step[i] < 0.0:
            primal = min(primal, -profile[i] / step[i])
        rise = (barrier - floors[i] * (profile[i] + step[i])) / profile[i]
        if rise < 0.0:
            dual = min(dual, -floors[i] / rise)
    for k in range(widths.shape[0]):
        for p in range(places.shape[0]):
            _write_sample(widths, places, k, p, profile, step, scratch)
            for m in range(forms.shape[2]):
                for side in range(2):
                    slack, change, rise = _change(
                        forms, plain, barrier, duals, scratch, (k, p, m), side
                    )
                    if change < 0.0:
                        primal = min(primal, -slack / change)
                    if rise < 0.0:
                        dual = min(dual, -duals[k, p, m, side] / rise)
    return _WITHIN * primal, _WITHIN * dual


@inner_kernel
def _advance(problem, barrier, profile, duals, floors, step, scratch, primal, dual):
    """Take a step, and return the time and the duality gap after it."""
    widths, places, shares, forms, plain = problem
    duration = left = 0.0
    for k in range(widths.shape[0]):
        for p in range(places.shape[0]):
            _write_sample(widths, places, k, p, profile, step, scratch)
            root = 1.0 / math.sqrt(scratch[3, 0] + primal * scratch[4, 0])
            duration += shares[p] * widths[k] * root
            for m in range(forms.shape[2]):
                for side in range(2):
                    slack, change, rise = _change(
                        forms, plain, barrier, duals, scratch, (k, p, m), side
                    )
                    duals[k, p, m, side] += dual * rise
                    left += duals[k, p, m, side] * (slack + primal * change)
    for i in range(profile.shape[0]):
        floors[i] += dual * (barrier - floors[i] * (profile[i] + step[i])) / profile[i]
        profile[i] += primal * step[i]
        left += floors[i] * profile[i]
    return duration, left
