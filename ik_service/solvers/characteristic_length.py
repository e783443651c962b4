"""Length by which a method compares rotations with distances."""

from __future__ import annotations

import math

import numpy as np

from ik_service.exceptions import OptionError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.options import IkOptions

# Share of the reach: about the mean distance of the joints of an arm. Steps of first order need
# the fewest iterations with it; half or twice as much makes little difference.
_SHARE = 0.2


def characteristic_length(chain: KinematicChain | KinematicTree, options: IkOptions) -> float:
    """
    Return the length that weighs as much as a radian [m]: the one given, or a share of the reach.

    Slides count for no more than the links do, so one without an end is as good as any.

    :param chain: the chain, or the tree; of several tips the longest chain counts.
    :param options: with ``characteristic_length``.
    """
    if options.characteristic_length is not None:
        return float(options.characteristic_length)
    if isinstance(chain, KinematicTree):
        return max(characteristic_length(part, options) for part in chain.chains)
    links = float(np.linalg.norm(chain.arrays.joints[:, 1:4], axis=1).sum())
    reach = float(chain.arrays.reach[3])
    size = min(reach, 2.0 * links) if links > 0.0 else reach
    return _SHARE * size if 0.0 < size < math.inf else 1.0


def refuse_characteristic_length(options: IkOptions) -> None:
    """
    Check that none is given to a variant that compares rotations with distances as they are.

    :param options: the options.
    :raises OptionError: naming the variant that uses it.
    """
    if options.characteristic_length is not None:
        raise OptionError(
            'characteristic_length', "is not used by classical steps; take variant='accelerated'"
        )
