"""
The default method on arms whose limits mean none, or that stand on bases which drive far.

Six joints each, with lengths of their own; some stand on a rail or a base, and some joints have
the limits that converters write where there are none. Targets are drawn from ±π rad, ±3 m on a
rail and ±50 m on a base, within the limits. Pinocchio, which gets the same arms with plain limits,
makes the targets and verifies the answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
from time import process_time

import numpy as np
from records import options, progress, save
from robots import urdf_of
from timing import use_one_core
from verifier import Problems, Verifier

import ik_service as iks

_AXES = ('0 0 1', '0 1 0', '0 1 0', '1 0 0', '0 1 0', '1 0 0')
_READS = 50

Limits = tuple[str, str]
Slide = tuple[str, str, str, str]  # type, axis, lower and upper limit of a joint below the arm


@dataclass(frozen=True)
class OddArm:
    """Arm with unusual limits by number of the joint, and reach of targets along its base [m]."""

    name: str
    limits: dict[int, Limits]
    base: tuple[Slide, ...] = ()
    reach: float = 3.0

    base_link = 'link0'

    @property
    def tip_link(self) -> str:
        """The last link."""
        return f'link{len(self.base) + len(_AXES)}'

    @cached_property
    def text(self) -> str:
        """The URDF."""
        return self._urdf(plain=False)

    @cached_property
    def urdf(self) -> str:
        """It with limits of ±1e6, for Pinocchio, which only moves it."""
        return self._urdf(plain=True)

    @cached_property
    def chain(self) -> iks.KinematicChain:
        """The chain as this project builds it."""
        return iks.Robot.from_urdf(self.text).chain(self.base_link, self.tip_link)

    def _urdf(self, plain: bool) -> str:
        rng = np.random.default_rng(sum(self.name.encode()))
        joints = [((0, 0, 0), *slide) for slide in self.base]
        for number, axis in enumerate(_AXES):
            way = 0, round(rng.uniform(-0.05, 0.05), 4), round(rng.uniform(0.08, 0.4), 4)
            lower, upper = self.limits.get(number, ('-2.9', '2.9'))
            kind = 'continuous' if lower == 'continuous' else 'revolute'
            joints.append((way, kind, axis, lower, upper))
        rows = []
        for way, kind, axis, *limits in joints:
            given = ('-1e6', '1e6') if plain or kind == 'continuous' else limits
            rows.append((way, (0, 0, 0), given, axis.split(), kind))
        return urdf_of('odd', rows)


def _all(lower: str, upper: str) -> dict[int, Limits]:
    return dict.fromkeys(range(len(_AXES)), (lower, upper))


def _rail(lower: str, upper: str) -> tuple[Slide, ...]:
    return (('prismatic', '0 1 0', lower, upper),)


_X = ('prismatic', '1 0 0', '-inf', 'inf')
_Y = ('prismatic', '0 1 0', '-inf', 'inf')
_YAW = ('continuous', '0 0 1', '', '')

ARMS = (
    OddArm('all ±2.9, for comparison', {}),
    OddArm('all ±999999', _all('-999999', '999999')),
    OddArm('all ±1e12', _all('-1e12', '1e12')),
    OddArm('all ±1e16', _all('-1e16', '1e16')),
    OddArm('all ±1.79769e308', _all('-1.79769e308', '1.79769e308')),
    OddArm('all ±1e309', _all('-1e309', '1e309')),
    OddArm('all continuous', _all('continuous', '')),
    OddArm('all ±6.28', _all('-6.28', '6.28')),
    OddArm('all 0 … 1.8e308', _all('0', '1.8e308')),
    OddArm('joints 1 and 6 ±1e12', {0: ('-1e12', '1e12'), 5: ('-1e12', '1e12')}),
    OddArm('joint 4 −1e16 … 0', {3: ('-1e16', '0')}),
    OddArm('rail of ±3 m, for comparison', {}, _rail('-3', '3')),
    OddArm('rail of ±1e6 m', {}, _rail('-1e6', '1e6')),
    OddArm('rail of ±1.8e308 m', {}, _rail('-1.8e308', '1.8e308')),
    OddArm('rail of 0 … 1.8e308 m', {}, _rail('0', '1.8e308')),
    OddArm('base x, y, yaw', {}, (_X, _Y, _YAW), 50.0),
    OddArm('base yaw, x, y', {}, (_YAW, _X, _Y), 50.0),
    OddArm('base yaw, x', {}, (_YAW, _X), 50.0),
    OddArm('base x, y, yaw, at 1 km', {}, (_X, _Y, _YAW), 1000.0),
    OddArm('gantry of ±1e6 m', {}, (*_rail('-1e6', '1e6'), ('prismatic', '1 0 0', '-1e6', '1e6'))),
)


def main() -> None:
    """Measure and save."""
    args = options(__doc__, count=(1000, 'problems for each arm'), seed=1)
    use_one_core()
    progress('odd limits')
    rows = [measure(arm, args.count, args.seed) for arm in ARMS]
    save('odd_limits', rows, count=args.count, seed=args.seed)


def measure(arm: OddArm, count: int, seed: int) -> dict[str, object]:
    """One row of the table; times are those of the compiled solver, and of reading the URDF."""
    verifier = Verifier(arm)
    problems = _problems(arm, verifier, count, seed)
    solver = iks.Solver(arm.chain)
    solver.warm_up()
    results = [
        solver.solve(T, start) for T, start in zip(problems.targets, problems.seeds, strict=True)
    ]
    solved = [
        result.success and verifier.accepts(result.q, T)
        for result, T in zip(results, problems.targets, strict=True)
    ]
    times = np.array([result.solve_time for result in results]) * 1e6
    return {
        'arm': arm.name,
        'joints': arm.chain.n,
        'problems': count,
        'failures': count - sum(solved),
        'median_us': np.median(times),
        'mean_searches': float(np.mean([result.searches for result in results])),
        'max_searches': max(result.searches for result in results),
        'read_ms': _reading(arm.text),
    }


def _problems(arm: OddArm, verifier: Verifier, count: int, seed: int) -> Problems:
    """Targets within the limits, and within the ranges of this benchmark where those are none."""
    chain = arm.chain
    turns = [chain.robot.joints[name].type.value != 'prismatic' for name in chain.joint_names]
    reach = np.where(turns, math.pi, arm.reach)
    lower, upper = np.maximum(chain.lower, -reach), np.minimum(chain.upper, reach)
    truth = np.random.default_rng(seed).uniform(lower, upper, (count, chain.n))
    seeds = np.tile(chain.mid_range(), (count, 1))
    return Problems(truth, verifier.poses(truth), seeds)


def _reading(text: str) -> float:
    """Least processor time of reading a URDF [ms]."""
    times = []
    for _ in range(_READS):
        began = process_time()
        iks.Robot.from_urdf(text)
        times.append(process_time() - began)
    return 1e3 * min(times)


if __name__ == '__main__':
    main()
