"""
Time of the forward kinematics and of the Jacobian, from Python and inside compiled code.

The chains are generated: n joints about random axes with random origins between them. A time is
the least of some rounds, each over many different postures.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import math
from time import perf_counter

import numpy as np
from robots import random_chain

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.kinematics import kernels
from ik_service.kinematics.kernels import ChainArrays

LENGTHS = (6, 7, 30, 60)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--count', type=int, default=10_000, help='postures in a round')
    parser.add_argument('--rounds', type=int, default=5)
    args = parser.parse_args()
    if min(args.count, args.rounds) < 1:
        parser.error('--count and --rounds have to be at least 1')
    print('ns per call      forward kinematics          Jacobian (with its FK)')
    print(f'{"n":>3} {"compiled":>14} {"from Python":>14} {"compiled":>14} {"from Python":>14}')
    for n in LENGTHS:
        chain = random_chain(n)
        postures = np.random.default_rng(n).uniform(chain.lower, chain.upper, (args.count, n))
        times = [
            best(call, args.count, args.rounds)
            for function in ('forward', 'jacobian')
            for call in (compiled(chain, function, postures), python(chain, function, postures))
        ]
        print(f'{n:3} ' + ' '.join(f'{time:14.0f}' for time in times), flush=True)


def best(call: Callable[[], object], count: int, rounds: int) -> float:
    """Least time of a call that does something ``count`` times, for one of them [ns]."""
    call()
    least = math.inf
    for _ in range(rounds):
        began = perf_counter()
        call()
        least = min(least, perf_counter() - began)
    return least / count * 1e9


def python(chain: iks.KinematicChain, function: str, postures: np.ndarray) -> Callable[[], object]:
    """A function that calls the method of the chain for every posture."""
    method = getattr(chain, function)
    rows = list(postures)

    def call() -> None:
        for q in rows:
            method(q)

    return call


def compiled(
    chain: iks.KinematicChain, function: str, postures: np.ndarray
) -> Callable[[], object]:
    """A function that runs a kernel over all postures in compiled code."""
    axes, frame = np.empty((chain.n, 6)), np.empty(12)
    if function == 'forward':
        return lambda: all_poses(chain.arrays, postures, axes, frame, np.eye(4))
    rows, matrix = np.empty((chain.n, 6)), np.empty((6, chain.n))
    return lambda: all_jacobians(chain.arrays, postures, axes, frame, rows, matrix)


@kernel
def all_poses(
    chain: ChainArrays,
    postures: np.ndarray,
    axes: np.ndarray,
    frame: np.ndarray,
    pose: np.ndarray,
) -> None:
    """Forward kinematics of every posture."""
    for k in range(postures.shape[0]):
        kernels.forward(chain, postures[k], axes, frame, pose)


@kernel
def all_jacobians(
    chain: ChainArrays,
    postures: np.ndarray,
    axes: np.ndarray,
    frame: np.ndarray,
    rows: np.ndarray,
    matrix: np.ndarray,
) -> None:
    """Jacobian of every posture."""
    for k in range(postures.shape[0]):
        kernels.jacobian(chain, postures[k], axes, frame, rows, matrix)


if __name__ == '__main__':
    main()
