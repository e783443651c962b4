"""Checks of the names and positions of joints in messages."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError

FARTHEST = 1e6
"""Largest joint position [rad or m]; beyond, its pose would lose its precision."""

MOST_NAMES = 10_000
"""Joints that a message may name; a robot has far fewer."""


def check_lengths(names: Sequence[str], values: Sequence[float], what: str) -> None:
    """
    Check how many joints and positions a message holds, before anything else is done with it.

    :param names: the joints.
    :param values: their positions.
    :param what: the name of the message, for the error.
    :raises ArgumentError: there are more than :data:`MOST_NAMES`, or the lengths differ.
    """
    if len(names) > MOST_NAMES:
        raise ArgumentError(what, f'names {len(names)} joints, more than {MOST_NAMES}')
    if len(names) != len(values):
        raise ArgumentError(what, f'has {len(names)} names, but {len(values)} positions')


def check_near(names: Sequence[str], values: np.ndarray) -> None:
    """
    Check positions [rad] or [m].

    :param names: the joints.
    :param values: (n,) their positions.
    :raises ArgumentError: a joint is at NaN, infinity or beyond :data:`FARTHEST`; naming it.
    """
    for name, value in zip(names, values.tolist(), strict=True):
        if not abs(value) <= FARTHEST:
            fault = f'beyond ±{FARTHEST:g}' if math.isfinite(value) else 'which is not finite'
            raise ArgumentError('joint_state', f'joint {quote(name)} is at {value:g}, {fault}')
