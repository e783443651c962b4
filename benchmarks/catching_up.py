"""
Lag of an arm behind its target after messages of the target got lost.

The target moves no faster than the joints can; some of its messages are lost, so that the commands
leave its way and are behind it. Measured is for how long they are, and how far the tip is from the
target and from its way meanwhile. The arm is where it is commanded.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math

import numpy as np
from records import progress, save

from ik_service.extras.studies.arms import load_arm
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.target_follower import TargetFollower
from ik_service.solvers.solver import Solver

_RATE = 100.0  # of targets and commands [Hz]
_SCALING = 0.5  # default of ik_node's velocity_scaling
_PERIOD = 6.0  # of the target's motion [s]
_RAMP = 1.0  # from rest to full speed [s]
_LOST, _AFTERWARDS = 5.0, 8.0  # when messages get lost; how long is looked at after that [s]
_CAUGHT_UP = 2e-3  # lag [m]
_START = {
    'panda': (0.0, -0.3, 0.0, -2.2, 0.0, 1.9, math.pi / 4),
    'ur5e': (0.3, -1.4, 1.9, -2.0, -1.57, 0.2),
}
# Accelerations as joint_limits.yaml files give them [rad/s²], jerk [rad/s³].
_PANDA = (3.75, 1.875, 2.5, 3.125, 3.75, 5.0, 5.0)


@dataclass(frozen=True)
class Limits:
    """
    Limits of a parameter file.

    :ivar acceleration: of each joint [rad/s²]; empty for the node's default.
    :ivar jerk: of all joints [rad/s³].
    """

    name: str
    acceleration: Sequence[float] = ()
    jerk: float = math.inf

    def bounds(self, chain: KinematicChain) -> MotionBounds:
        """Return the limits for a chain."""
        rows = zip(chain.joint_names, self.acceleration, strict=bool(self.acceleration))
        return MotionBounds(
            {name: JointBounds(acceleration=a, jerk=self.jerk) for name, a in rows}
        )


_CASES = {
    'panda': (
        Limits('default'),
        Limits('1.9 to 5 rad/s²', _PANDA),
        Limits('6 rad/s², 50 rad/s³', (6.0,) * 7, 50.0),
    ),
    'ur5e': (Limits('default'), Limits('2 rad/s²', (2.0,) * 6)),
}


def _circle(angle: float) -> np.ndarray:
    """Return a place on a circle of 0.2 m (3,) [m]."""
    return 0.2 * np.array([math.sin(angle), math.cos(angle) - 1.0, 0.0])


def _eight(angle: float) -> np.ndarray:
    """Return a place on an upright eight, 0.24 m wide (3,) [m]."""
    return 0.12 * np.array([0.0, math.sin(angle), 0.5 * math.sin(2.0 * angle)])


_WAYS = {'circle': _circle, 'eight': _eight}


def run(
    arm: str, limits: Limits, way: Callable[[float], np.ndarray], gap: float
) -> dict[str, object]:
    """Follow a target whose messages are lost for a gap [s], and return a row of the table."""
    chain, q = load_arm(arm), np.array(_START[arm])
    T_start = chain.forward(q)

    def pose(time: float) -> np.ndarray:
        time = max(time, 0.0)
        turned = 0.5 * time * time / _RAMP if time < _RAMP else time - 0.5 * _RAMP
        T = T_start.copy()
        T[:3, 3] += way(2.0 * math.pi / _PERIOD * turned)
        return T

    end = _LOST + gap + _AFTERWARDS
    places = np.array([pose(time)[:3, 3] for time in np.arange(0.0, end + 0.5, 0.002)])
    follower = TargetFollower(
        Solver(chain), velocity_scaling=_SCALING, bounds=limits.bounds(chain)
    )
    lag, off = [], []
    for k in range(-20, round(end * _RATE)):
        now = k / _RATE
        follower.set_measured(q, now)
        if not _LOST < now < _LOST + gap:
            follower.set_target(pose(now), at=now, arrived=now)
        command = follower.tick(now)
        q = q if command is None else command.q
        tip = chain.forward(q)[:3, 3]
        lag.append(float(np.linalg.norm(tip - pose(now)[:3, 3])))
        off.append(float(np.linalg.norm(places - tip, axis=1).min()))
    again = 20 + round((_LOST + gap) * _RATE)
    after, aside = np.array(lag[again:]), np.array(off[again:])
    behind = np.flatnonzero(after > _CAUGHT_UP)
    return {
        'caught_up_after_s': 0.0 if not len(behind) else float(behind[-1] + 1) / _RATE,
        'mean_lag_mm': 1e3 * float(after.mean()),
        'last_lag_mm': 1e3 * float(after[-1]),
        'largest_off_mm': 1e3 * float(aside.max()),
    }


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--gaps', type=float, nargs='+', default=[0.1, 0.3], help='[s]')
    args = parser.parse_args()
    rows = []
    for arm, cases in _CASES.items():
        for limits in cases:
            for name, way in _WAYS.items():
                for gap in args.gaps:
                    case = {'arm': arm, 'limits': limits.name, 'way': name, 'gap_s': gap}
                    rows.append({**case, **run(arm, limits, way, gap)})
                    progress(f'catching up: {rows[-1]}')
    save('catching_up', rows, rate=_RATE, period=_PERIOD)


if __name__ == '__main__':
    main()
