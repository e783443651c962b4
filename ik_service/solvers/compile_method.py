"""
Compiles a method into the cache on disk, for other processes to load.

    python -m ik_service.solvers.compile_method bfgs

Kernels depend on the method, not on the arm. The process gives way to others.
"""

from __future__ import annotations

import os
import sys

from ik_service.common.resources import urdf_path
from ik_service.robot import Robot
from ik_service.solvers.solver import Solver

DONE = 'compiled'
"""What is printed at the end."""


def main() -> None:
    """Compile the method that the command line names."""
    os.nice(5)
    chain = Robot.from_urdf(urdf_path('planar_6r')).chain('base_link', 'tool0')
    Solver(chain, sys.argv[1]).warm_up()
    print(DONE)


if __name__ == '__main__':
    main()
