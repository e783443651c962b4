"""Comparison of the arm that a map was made of with another one."""

from __future__ import annotations

import numpy as np

from ik_service.common.quoting import truncate
from ik_service.kinematics.chain import KinematicChain

_SAME = 1e-6  # by how much poses [m] and limits [rad] or [m] may differ
_POSTURES = (0.25, 0.5, 0.8)  # at which poses are compared, as shares of the joints' ranges


def arm_difference(of_map: KinematicChain, chain: KinematicChain) -> str:
    """Return what the arm of a map is instead of the given one; empty where it is the same."""
    for what, there, here in (
        ('base link', of_map.base_link, chain.base_link),
        ('tip link', of_map.tip_link, chain.tip_link),
        ('joints', ', '.join(of_map.joint_names), ', '.join(chain.joint_names)),
    ):
        if there != here:
            return f'another arm: {what} {truncate(there)} there, and {truncate(here)} here'
    lower, upper = chain.sampling_bounds()
    for share in _POSTURES:
        q = lower + share * (upper - lower)
        if not np.allclose(of_map.forward(q), chain.forward(q), atol=_SAME):
            return 'another arm: the same joint positions put its tip elsewhere'
    limits, own = (np.array([arm.lower, arm.upper]) for arm in (of_map, chain))
    apart = ~np.isclose(limits, own, atol=_SAME).all(axis=0)
    if apart.any():
        names = ', '.join(np.array(chain.joint_names)[apart])
        return f'an arm with other joint limits: of {truncate(names)}'
    return ''
