"""Compiled fit of the motion of a target to its last poses."""

from __future__ import annotations

from ik_service.jit.compile import short_kernel


@short_kernel
def fit_motion(times, ways, quadratic, noise, most, motion):
    """
    Fit a polynomial of time to ways by least squares, the linear and the angular ones apart.

    The polynomial is the sum of ones that are orthogonal on the times: G. E. Forsythe, Generation
    and use of orthogonal polynomials for data-fitting with a digital computer, Journal of the
    Society for Industrial and Applied Mathematics 5 (1957) 74–88.

    :param times: (k,) times [s], which increase; three at least.
    :param ways: (k, 6) linear before angular ways until then [m], [rad].
    :param quadratic: whether the acceleration is fitted as well.
    :param noise: way that counts as none [m], [rad].
    :param most: largest distance from the fitted motion, as a share of the way.
    :param motion: (2, 6) gets the velocity and the acceleration at the last time; 0 for those of
        the three that are on no motion.
    """
    count, last = len(times), len(times) - 1
    span = times[last] - times[0]
    mean = square = size = bend = bent = 0.0
    for i in range(count):
        s = (times[i] - times[last]) / span
        mean, square = mean + s / count, square + s * s / count
    for i in range(count):
        s = (times[i] - times[last]) / span
        size, bend = size + (s - mean) ** 2, bend + s * s * (s - mean)
    bend /= size
    for i in range(count):
        s = (times[i] - times[last]) / span
        bent += (s * s - bend * (s - mean) - square) ** 2
    for part in range(2):
        longest = misfit = 0.0
        for j in range(3 * part, 3 * part + 3):
            value = slope = curve = low = high = 0.0
            for i in range(count):
                s, way = (times[i] - times[last]) / span, ways[i, j] - ways[last, j]
                low, high = min(low, way), max(high, way)
                value += way / count
                slope += way * (s - mean) / size
                if quadratic:
                    curve += way * (s * s - bend * (s - mean) - square) / bent
            for i in range(count):
                s, way = (times[i] - times[last]) / span, ways[i, j] - ways[last, j]
                second = s * s - bend * (s - mean) - square
                fitted = value + slope * (s - mean) + curve * second
                misfit = max(misfit, abs(fitted - way))
            longest = max(longest, high - low)
            motion[0, j] = (slope - curve * bend) / span
            motion[1, j] = 2.0 * curve / (span * span)
        if longest <= noise or misfit > most * longest:
            motion[:, 3 * part : 3 * part + 3] = 0.0
