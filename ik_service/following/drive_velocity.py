"""
Velocities that go with position commands, for the drives that use them.

The mean speed since the last command is older than the command: drives that go on with it until
the next one go too far where the commands slow down. So do joints with mass, whose drives need a
force to slow them. Where a joint slows down its velocity is therefore ahead of its command.
"""

from __future__ import annotations

import numpy as np

_HALF = 0.5
"""Age of the mean speed of a tick, in ticks."""

_LEAD = 0.01
"""Time by which velocities are ahead of commands that slow down, a tick at most [s]."""

_TRACKED = 0.5
"""Share of that where the goal moves, whose velocity is known less well."""


def drive_velocity(
    velocity: np.ndarray, change: np.ndarray, dt: float, tracked: bool = False
) -> np.ndarray:
    """
    Return the velocities (n,) to send with a command [rad/s] or [m/s].

    None is faster than it was, and none turns round.

    :param velocity: (n,) velocities of the command: of its last tick, or of a goal that it is at.
    :param change: (n,) how much the speeds of this tick and the one before differ.
    :param dt: length of the tick [s].
    :param tracked: whether the velocity is that of a goal that moves.
    """
    product = velocity * change
    if product.min(initial=0.0) >= 0.0:
        return velocity
    lead = min(_LEAD / dt, 1.0)
    ticks = _TRACKED * lead if tracked else _HALF + lead
    slower = velocity + ticks * change
    return np.where(product < 0.0, np.where(slower * velocity > 0.0, slower, 0.0), velocity)
