"""Compiled backward pass along the intervals of a trajectory."""

from __future__ import annotations

from ik_service.jit.compile import kernel

_HALVINGS = 30
_NOTHING = 1e-12


@kernel
def write_highest_squares(spacing, velocity, acceleration, limits, squares):
    """
    Lower the squares of rates to those from which the rest can be played within accelerations.

    :param spacing: (g,) lengths of the intervals [s].
    :param velocity: (g, 2, n) velocities at both ends of each interval [rad/s] or [m/s].
    :param acceleration: (g, 2, n) accelerations there [rad/s²] or [m/s²].
    :param limits: (n,) largest accelerations [rad/s²] or [m/s²].
    :param squares: (g + 1,) the largest squares that the velocities allow; lowered in place.
    """
    for i in range(len(spacing) - 1, -1, -1):
        low, high = 0.0, squares[i]
        square = high
        for _ in range(_HALVINGS):
            # The changes of the rate in a second that lead to a square between 0 and the next one.
            least = -0.5 * square / spacing[i]
            most = 0.5 * (squares[i + 1] - square) / spacing[i]
            for j in range(len(limits)):
                for end in range(2):
                    bend = acceleration[i, end, j]
                    speed = velocity[i, end, j] + (2.0 * spacing[i] * bend if end else 0.0)
                    pull, limit = square * bend, limits[j]
                    if abs(speed) <= _NOTHING:
                        if abs(pull) > limit:
                            most = least - 1.0
                        continue
                    one, other = (limit - pull) / speed, (-limit - pull) / speed
                    least = max(least, min(one, other))
                    most = min(most, max(one, other))
            if least <= most:
                low = square
                if square == high:
                    break
            else:
                high = square
            square = 0.5 * (low + high)
        squares[i] = low
