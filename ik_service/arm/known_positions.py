"""Positions of a joint state without those that say "not measured"."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.arm.joint_checks import check_lengths
from ik_service.arm.joint_state import PostureSpace


def known_positions(
    postures: PostureSpace,
    names: Sequence[str],
    values: Sequence[float],
    used: np.ndarray | None,
) -> tuple[Sequence[str], Sequence[float]]:
    """
    Return a joint state without the joints at NaN that do not matter.

    :param postures: the full postures of the robot.
    :param names: the joints.
    :param values: their positions [rad] or [m].
    :param used: indices of the joints that matter, in the full posture; None for all.
    :returns: the joints and positions that are left; all of them where NaN matters.
    :raises ArgumentError: the lengths differ, or a joint is named twice.
    :raises UnknownJointError: the robot has no such movable joint.
    """
    if used is None:
        return names, values
    check_lengths(names, values, 'joint_state')
    matter = set(used.tolist())
    indices = postures.indices(names).tolist()
    kept = [k for k, i in enumerate(indices) if i in matter or not np.isnan(values[k])]
    return [names[k] for k in kept], [values[k] for k in kept]
