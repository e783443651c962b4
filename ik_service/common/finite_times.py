"""Check of the times that arguments give."""

from __future__ import annotations

import math

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError


def check_time(time: float, argument: str) -> None:
    """
    Refuse what is no time: compared with NaN, nothing would ever be too old.

    :param time: the time [s].
    :param argument: its name in the error.
    :raises ArgumentError: it is no finite number.
    """
    try:
        finite = math.isfinite(time)
    except (TypeError, ValueError, OverflowError):
        finite = False
    if not finite:
        raise ArgumentError(argument, f'has to be a time in seconds, not {safe_repr(time)}')
