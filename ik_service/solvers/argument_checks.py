"""Checks of the arguments of solvers other than target and option values."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import JointSpace
from ik_service.kinematics.tree import KinematicTree
from ik_service.solvers.options import IkOptions

_MOST_THREADS = 1024


def check_kinds(chain: object, options: object) -> None:
    """
    Check the types of the chain and the options.

    :param chain: has to be a :class:`~ik_service.KinematicChain` or a
        :class:`~ik_service.KinematicTree`.
    :param options: have to be :class:`~ik_service.IkOptions`.
    :raises ArgumentError: naming the argument.
    """
    if not isinstance(chain, JointSpace):
        raise ArgumentError(
            'chain', f'has to be a KinematicChain or a KinematicTree, not {safe_repr(chain)}'
        )
    if not isinstance(options, IkOptions):
        raise ArgumentError('options', f'have to be IkOptions, not {safe_repr(options)}')


def check_course(progress: object, threads: object, chained: object) -> None:
    """
    Check the arguments that say how a batch runs.

    :param progress: function, or None.
    :param threads: number of threads, or None.
    :param chained: whether each target is seeded with the answer before it.
    :raises ArgumentError: naming the argument.
    """
    if progress is not None and not callable(progress):
        raise ArgumentError('progress', f'has to be a function, not {safe_repr(progress)}')
    if threads is not None and (
        isinstance(threads, bool)
        or not isinstance(threads, (int, np.integer))
        or not 1 <= threads <= _MOST_THREADS
    ):
        raise ArgumentError(
            'threads',
            f'has to be a whole number of at least 1 and at most {_MOST_THREADS}, '
            f'not {safe_repr(threads)}',
        )
    if not isinstance(chained, (bool, np.bool_)):
        raise ArgumentError('chained', f'has to be True or False, not {safe_repr(chained)}')


def check_seeds(chain: KinematicChain | KinematicTree, seeds: ArrayLike, count: int) -> np.ndarray:
    """
    Return a copy of the seeds as a (N, n) array.

    :param chain: the chain, with n variables.
    :param seeds: (N, n) or (n,) [rad] or [m].
    :param count: N, the number of targets.
    :raises ArgumentError: they are no finite numbers, or of another shape.
    """
    seeds = real_array(seeds, 'seeds')
    if seeds.shape not in ((chain.n,), (count, chain.n)):
        raise ArgumentError(
            'seeds', f'have shape {seeds.shape}, have to be ({count}, {chain.n}) or ({chain.n},)'
        )
    if not np.isfinite(seeds).all():
        row = int(np.argwhere(~np.isfinite(seeds))[0][0])
        raise ArgumentError('seeds', f'hold NaN or infinity in row {row}')
    return np.array(np.broadcast_to(seeds, (count, chain.n)), order='C')
