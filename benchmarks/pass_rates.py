"""
Success of each method on random reachable poses, on the arms of this package.

Every pose is the forward kinematics of a random posture within the limits, the seed is the middle
of the limits, and the tolerances are 1e-5 m and 1e-5 rad. The transpose is also measured as it is
meant to be used: for positions alone, to 1e-3 m.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

import ik_service as iks
from ik_service.common.resources import urdf_path

ARMS = {
    'planar_6r': ('base_link', 'tool0'),
    'panda': ('panda_link0', 'panda_hand_tcp'),
    'ur5e': ('base_link', 'tool0'),
}
POSITION_ONLY = {'task_weights': (1, 1, 1, 0, 0, 0), 'position_tolerance': 1e-3}
HEADER = (
    f'{"arm":10} {"solver":34} {"reached":>8} {"in limits":>9} '
    f'{"mean":>8} {"median":>8} {"p99":>9} {"iterations":>10} {"searches":>8}'
)


@dataclass(frozen=True)
class Rates:
    """
    Results of a method on an arm.

    :ivar reached: share of the poses that were reached.
    :ivar within: share of the answers within the limits.
    :ivar times: (N,) time of each solve [µs].
    """

    reached: float
    within: float
    times: np.ndarray
    iterations: float
    searches: float

    def row(self) -> str:
        """The numbers in the order of the header."""
        return (
            f'{self.reached:8.2%} {self.within:9.2%} {self.times.mean():8.1f} '
            f'{np.median(self.times):8.1f} {np.percentile(self.times, 99):9.1f} '
            f'{self.iterations:10.1f} {self.searches:8.2f}'
        )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--count', type=int, default=1000, help='poses for each arm')
    parser.add_argument('--seed', type=int, default=0, help='of the random poses')
    args = parser.parse_args()
    if args.count < 1:
        parser.error('--count has to be at least 1')
    print(f'{args.count} reachable poses, seed mid-range, times in µs')
    print(HEADER)
    for arm, links in ARMS.items():
        chain = iks.Robot.from_urdf(urdf_path(arm)).chain(*links)
        targets = reachable_poses(chain, args.count, args.seed)
        for solver in iks.solver_names():
            print(f'{arm:10} {solver:34} {measure(chain, solver, targets).row()}', flush=True)
        rates = measure(chain, 'transpose', targets, **POSITION_ONLY)
        print(f'{arm:10} {"transpose, position only to 1 mm":34} {rates.row()}', flush=True)


def reachable_poses(chain: iks.KinematicChain, count: int, seed: int) -> np.ndarray:
    """Poses of random postures within the limits, (count, 4, 4)."""
    rng = np.random.default_rng(seed)
    return np.array([chain.forward(rng.uniform(chain.lower, chain.upper)) for _ in range(count)])


def measure(
    chain: iks.KinematicChain, solver: str, targets: np.ndarray, **options: object
) -> Rates:
    """Solve for every target, one after the other."""
    prepared = iks.Solver(chain, solver, iks.IkOptions(**options))
    prepared.warm_up()
    results = [prepared.solve(target) for target in targets]
    q = np.array([result.q for result in results])
    return Rates(
        reached=np.mean([result.success for result in results]),
        within=np.mean(np.all((chain.lower <= q) & (q <= chain.upper), axis=1)),
        times=np.array([result.solve_time * 1e6 for result in results]),
        iterations=np.mean([result.iterations for result in results]),
        searches=np.mean([result.searches for result in results]),
    )


if __name__ == '__main__':
    main()
