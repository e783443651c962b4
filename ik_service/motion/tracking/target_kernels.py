"""Compiled kernels of a moving target: the fit to its last poses, and its joint-space path."""

from __future__ import annotations

from ik_service.jit.compile import short_inlined_kernel, short_kernel


@short_kernel
def fit_motion(times, offsets, quadratic, noise, most, motion):
    """
    Fit a polynomial of time to displacements by least squares, linear and angular ones apart.

    The polynomial is the sum of ones that are orthogonal on the times: G. E. Forsythe, Generation
    and use of orthogonal polynomials for data-fitting with a digital computer, Journal of the
    Society for Industrial and Applied Mathematics 5 (1957) 74–88.

    :param times: (k,) times [s], which increase; three at least.
    :param offsets: (k, 6) linear before angular displacements until then [m], [rad].
    :param quadratic: whether the acceleration is fitted as well.
    :param noise: displacement that counts as none [m], [rad].
    :param most: largest distance from the fitted motion, as a share of the path.
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
                s, offset = (times[i] - times[last]) / span, offsets[i, j] - offsets[last, j]
                low, high = min(low, offset), max(high, offset)
                value += offset / count
                slope += offset * (s - mean) / size
                if quadratic:
                    curve += offset * (s * s - bend * (s - mean) - square) / bent
            for i in range(count):
                s, offset = (times[i] - times[last]) / span, offsets[i, j] - offsets[last, j]
                second = s * s - bend * (s - mean) - square
                fitted = value + slope * (s - mean) + curve * second
                misfit = max(misfit, abs(fitted - offset))
            longest = max(longest, high - low)
            motion[0, j] = (slope - curve * bend) / span
            motion[1, j] = 2.0 * curve / (span * span)
        if longest <= noise or misfit > most * longest:
            motion[:, 3 * part : 3 * part + 3] = 0.0


VELOCITY, ACCELERATION = range(2)  # rows of the bounds of a motion


@short_kernel
def farthest_straight_ahead(points, q, looks, nears):
    """
    Return the index of the farthest posture that a direct motion may reach.

    :param points: (k, n) the next postures [rad] or [m].
    :param q: (n,) where the joints are [rad] or [m].
    :param looks: (m,) indices that are checked, the farthest first.
    :param nears: (k,) distances of the postures from a straight line past them, at most [rad] or
        [m].
    """
    for look in looks:
        if look < len(points) and _is_straight(points, q, look, nears):
            return look
    return 0


@short_inlined_kernel
def _is_straight(points, q, end, nears):
    """Whether all postures lie near the straight line to one, up to its length."""
    size = 0.0
    for j in range(len(q)):
        size += (points[end, j] - q[j]) ** 2
    size = max(size, 1e-18)
    for i in range(end + 1):
        along = 0.0
        for j in range(len(q)):
            along += (points[i, j] - q[j]) * (points[end, j] - q[j])
        share = min(max(along / size, 0.0), 1.0)
        for j in range(len(q)):
            if abs(points[i, j] - q[j] - share * (points[end, j] - q[j])) > nears[i]:
                return False
    return True


@short_kernel
def smoothed_path(times, points, goal, time, spacing, weights, around, motion):
    """
    Smooth a path: parabolas through its postures around some times.

    :param times: (m,) when the target was at its postures, which do not decrease [s].
    :param points: (m, n) the postures [rad] or [m].
    :param goal: (2, n) velocity and acceleration of the target beyond the last one.
    :param time: time of the first sample [s].
    :param spacing: time between the samples [s].
    :param weights: (3, w) weights of w postures around a sample.
    :param around: (k + w − 1, n) scratch.
    :param motion: (4, k, n) gets positions, velocities and accelerations at k samples, and how far
        the positions are from the path.
    """
    half = len(weights[0]) // 2
    piece = 0
    for i in range(len(around)):
        at = time + (i - half) * spacing
        while piece < len(times) - 1 and times[piece + 1] < at:
            piece += 1
        _set_posture(times, points, goal, at, piece, around[i])
    for k in range(motion.shape[1]):
        for j in range(motion.shape[2]):
            for row in range(3):
                total = 0.0
                for i in range(len(weights[0])):
                    total += weights[row, i] * around[k + i, j]
                motion[row, k, j] = total
            motion[3, k, j] = abs(motion[0, k, j] - around[k + half, j])


@short_inlined_kernel
def _set_posture(times, points, goal, at, piece, found):
    """Write where the path is at a time, which is after the beginning of a piece."""
    last = len(times) - 1
    for j in range(points.shape[1]):
        if at >= times[last]:
            later = at - times[last]
            found[j] = points[last, j] + later * (goal[0, j] + 0.5 * later * goal[1, j])
        elif at <= times[piece]:
            found[j] = points[piece, j]
        else:
            share = (at - times[piece]) / (times[piece + 1] - times[piece])
            found[j] = points[piece, j] + share * (points[piece + 1, j] - points[piece, j])


@short_kernel
def highest_rate(motion, most, near, fastest, least, spacing, rate, found):
    """
    Find the highest rate of a motion, as a share of its own speed.

    From the highest rate it can be low enough wherever it has to be lower, and be 1 in the end.

    :param motion: (4, k, n) of :func:`smoothed_path`.
    :param most: (2, n) velocities and accelerations that are allowed.
    :param near: distance from the path up to which it may be followed [rad] or [m].
    :param fastest: the highest rate anywhere.
    :param least: share of the acceleration that is for a change of the rate at least.
    :param spacing: time between the samples [s].
    :param rate: the rate now.
    :param found: (2,) gets the highest rate, and how fast the rate may change [1/s].
    """
    end = motion.shape[1] - 1
    square = min(_own_square(motion, most, near, fastest, end), 1.0)
    for k in range(end - 1, -1, -1):
        change = _change(motion, most, least, max(square, 1.0), k)
        own = _own_square(motion, most, near, fastest, k)
        square = min(own, square + 2.0 * change * spacing)
    found[0], found[1] = square**0.5, _change(motion, most, least, rate * rate, 0)


@short_inlined_kernel
def _own_square(motion, most, near, fastest, k):
    """Return the square of the highest rate at a sample, whatever comes later."""
    square = fastest * fastest
    for j in range(motion.shape[2]):
        speed, bend = abs(motion[1, k, j]), abs(motion[2, k, j])
        square = min(square, (most[VELOCITY, j] / max(speed, 1e-12)) ** 2)
        square = min(square, most[ACCELERATION, j] / max(bend, 1e-12))
        if motion[3, k, j] > near:
            square = 0.0
    return square


@short_inlined_kernel
def _change(motion, most, least, square, k):
    """Return how fast the rate may change at a sample [1/s], given its square."""
    change = 1e6
    for j in range(motion.shape[2]):
        room = most[ACCELERATION, j] - square * abs(motion[2, k, j])
        room = max(room, least * most[ACCELERATION, j])
        change = min(change, room / max(abs(motion[1, k, j]), 1e-12))
    return change
