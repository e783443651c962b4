"""Whether a map was made with the arm that is shown."""

from __future__ import annotations

import numpy as np

from ik_service.common.quoting import truncate
from ik_service.exceptions import IkServiceError
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.extras.viewer.reach.reach_map import ReachMap
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot

_CLOSE = 1e-6  # of poses [m], and of limits [rad] or [m]
_POSTURES = (0.25, 0.5, 0.8)  # at which poses are compared, as shares of the joints' ranges


def difference(found: ReachMap, chain: KinematicChain) -> str:
    """
    Return why a map does not belong to a chain.

    :param found: the map.
    :param chain: the chain that is shown.
    :returns: a sentence; empty where it belongs to it, as far as the map tells.
    """
    for what, of_map, of_arm in (
        ('base', found.base_link, chain.base_link),
        ('tip', found.tip_link, chain.tip_link),
    ):
        if of_map != of_arm:
            return (
                f'the map is of another arm: its {what} link is {truncate(of_map)}, '
                f'and the {what} link here is {truncate(of_arm)}'
            )
    if found.spec is None:
        return ''
    try:
        other = chain_of(found.spec)
    except IkServiceError as error:
        return f'the arm of the map cannot be built: {error}'
    return _chain_difference(other, chain)


def chain_of(spec: ChainSpec) -> KinematicChain:
    """
    Return the chain of a specification, without preparing its solver or reading its meshes.

    :param spec: the specification.
    :raises IkServiceError: it is faulty.
    """
    robot = Robot.from_urdf(spec.urdf)
    return robot.chain(spec.base_link or None, spec.tip_link or None, dict(spec.locked) or None)


def _chain_difference(other: KinematicChain, chain: KinematicChain) -> str:
    if other.joint_names != chain.joint_names:
        names = truncate(', '.join(other.joint_names))
        return f'the map is of another arm: the joints that move there are {names}'
    for share in _POSTURES:
        q = _posture(chain, share)
        if not np.allclose(other.forward(q), chain.forward(q), atol=_CLOSE):
            return 'the map is of another arm: the same joint positions put its tip elsewhere'
    for name, *limits in zip(
        chain.joint_names, other.lower, chain.lower, other.upper, chain.upper, strict=True
    ):
        if not np.allclose(limits[::2], limits[1::2], atol=_CLOSE):
            return (
                f'the map is of an arm with other joint limits: {name} goes from '
                f'{limits[0]:.4g} to {limits[2]:.4g} there, and from {limits[1]:.4g} to '
                f'{limits[3]:.4g} here'
            )
    return ''


def _posture(chain: KinematicChain, share: float) -> np.ndarray:
    """Return joint positions (n,) in the limits; around 0 where there are none."""
    lower, upper = chain.sampling_bounds()
    return lower + share * (upper - lower)
