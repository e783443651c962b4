"""Position of commands relative to a point on the path that they follow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.motion.aim import Tick
from ik_service.motion.command.motion_limits import largest


class PlaceOnWay(NamedTuple):
    """
    Where commands are, compared with a place on a way, and how fast they go along it.

    :ivar along: (n,) velocity of what goes along the way, there [rad/s] or [m/s].
    :ivar ahead: how much later the way is beside them [s].
    :ivar aside: how far they are from it, as time at full speed [s].
    :ivar rate: their speed along it, as a share of its own; negative where they come back.
    """

    along: np.ndarray
    ahead: float
    aside: float
    rate: float


def place_on_way(
    position: np.ndarray, velocity: np.ndarray, tick: Tick, still: float
) -> PlaceOnWay | None:
    """
    Compare the commands with a place on a way.

    :param position: (n,) the place [rad] or [m].
    :param velocity: (n,) of what goes along the way, there [rad/s] or [m/s].
    :param tick: what is known now, the commands among it.
    :param still: speed up to which the way is taken to rest there, in shares of full speed.
    :returns: None where it rests.
    """
    unit = tick.limits.unit
    line = velocity / unit
    size = float(line @ line)
    if size <= still * still:
        return None
    off = (tick.leading[0] - position) / unit
    ahead = float(off @ line) / size
    rate = float((tick.leading[1] / unit) @ line) / size
    return PlaceOnWay(velocity, ahead, largest(np.abs(off - ahead * line)), rate)
