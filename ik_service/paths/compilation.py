"""
Compilation of what Cartesian paths need: the search, and the timing.

The :class:`~ik_service.solvers.compilation.Compiler` runs this module in a process of its own.
"""

from __future__ import annotations

import os
import sys

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.jit.compiled import is_cached, is_compiled
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.many_postures import tip_poses
from ik_service.paths.search.preparation import PathKernels
from ik_service.paths.timing.timing import time_path
from ik_service.paths.timing.timing_kernels import segment_excess
from ik_service.robot import Robot
from ik_service.solvers.compilation import DONE, ELIMINATION


class CartesianPathKernels(PathKernels):
    """
    Kernels of paths and of their timing.

    :param chain: a chain.
    :param eliminates: whether to prepare the elimination also where the chain does not need it.
    """

    chain: KinematicChain
    name = 'the search for paths and their timing'
    compiled_by = 'ik_service.paths.compilation'

    @property
    def compiled(self) -> bool:
        """Whether this process has them."""
        return super().compiled and is_compiled(segment_excess, *_last_arguments())

    @property
    def cached(self) -> bool:
        """Whether they are on disk, so that they need only be loaded."""
        return super().cached and is_cached(segment_excess, *_last_arguments())

    def warm_up(self) -> None:
        """Compile them, or load them from the cache."""
        super().warm_up()
        chain = self.chain
        room = np.minimum(chain.upper - self._posture, 0.1)
        rows = self._posture + np.linspace(0.0, 1.0, 5)[:, None] * room
        targets = tip_poses(chain, rows)
        still = np.where(chain.velocity > 0.0, rows, rows[0])  # of joints that cannot move
        time_path(chain, still, jerk=1.0)
        time_path(chain, still, targets=targets, cartesian_speed=1.0)
        time_path(chain, still)


def _last_arguments() -> tuple:
    """Return examples of the arguments of the kernel that runs last."""
    points, limits = np.empty((2, 1)), np.empty(1)
    return np.empty(2), points, points, points, limits, limits, np.empty((1, 2))


def main() -> None:
    """Compile for chains."""
    os.nice(5)
    chain = Robot.from_urdf(urdf_path('planar_6r')).chain('base_link', 'tool0')
    CartesianPathKernels(chain, ELIMINATION in sys.argv).warm_up()
    print(DONE)


if __name__ == '__main__':
    main()
