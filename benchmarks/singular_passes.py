"""
Largest distance of the tip from its path while an arm follows it through singular regions.

The paths are made of smooth motions of all joints, so that each can be followed exactly; some run
straight through a singular posture of wrist or elbow, others beside it. The target moves along
them at 0.1 m/s, or as slowly as turning by 0.5 rad/s and half the speed of the joints ask for. The
arm is where it is commanded.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
import tempfile

import numpy as np
from records import options, progress, save
from robots import BenchRobot, chosen_robots, published_arms

from ik_service.extras.studies.paths import random_corners
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.pose_error import pose_error
from ik_service.motion.target_follower import TargetFollower
from ik_service.solvers.solver import Solver

_RATE = 100.0  # of targets and commands [Hz]
_SPEED, _TURNING = 0.1, 0.5  # of the tip [m/s], [rad/s]
_SHARE = 0.25  # of the joints' speed limits, on the path that makes the targets
_RAMP = 0.5  # of the target's speed at both ends [s]
_LEGS, _WIDTH = 6, 0.3  # of a path; share of the joints' ranges in each
_OFF = 5e-3  # distance from the path that counts as off it [m]
_REDUNDANT = (
    'iiwa14,panda,kinova_gen3,abb_yumi_right,baxter_left,motoman_csda10f,pr2_right_arm,'
    'schunk_lwa4d,tiago_torso_arm'
)
_SIX = 'ur5,abb_irb120'
_ELBOW, _WRIST = 2, 4  # joints of the arms of six


def wandering(chain: KinematicChain, seed: int) -> np.ndarray:
    """Joint path (N, n) from posture to posture, each joint by 30 % of its range at most."""
    return _through(random_corners(chain, seed, _LEGS, _WIDTH))


def crossing(chain: KinematicChain, joint: int, seed: int, beside: float) -> np.ndarray:
    """Joint path (N, n) on which a joint goes through 0, or turns round ``beside`` it [rad]."""
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -2.0), np.minimum(chain.upper, 2.0)
    middle = random.uniform(0.5 * lower, 0.5 * upper)
    way = random.uniform(0.3, 0.6, chain.n) * random.choice((-1.0, 1.0), chain.n)
    q = _through(np.array([middle - way, middle + way]))
    course = np.linspace(-1.0, 1.0, len(q))
    q[:, joint] = 0.6 * course if not beside else np.hypot(beside, 0.6 * course)
    return q


def _through(corners: np.ndarray) -> np.ndarray:
    """Smooth path (N, n) past corners, from the first to the last one."""
    legs = len(corners) - 1
    corners = np.concatenate([corners[:1], corners, corners[-1:]])
    course = np.linspace(0, legs + 2, 2000 * (legs + 2))
    straight = np.array([np.interp(course, np.arange(legs + 3), column) for column in corners.T])
    window = np.hanning(2000)
    smooth = [np.convolve(column, window / window.sum(), 'valid') for column in straight]
    return np.array(smooth).T


def timed(chain: KinematicChain, q: np.ndarray) -> np.ndarray:
    """Postures of a path at the moments at which its poses are published (M, n)."""
    poses = [chain.forward(row) for row in q]
    errors = np.array([pose_error(a, b) for a, b in pairwise(poses)])
    times = np.maximum(
        np.linalg.norm(errors[:, :3], axis=1) / _SPEED,
        np.linalg.norm(errors[:, 3:], axis=1) / _TURNING,
    )
    times = np.maximum(times, (np.abs(np.diff(q, axis=0)) / (_SHARE * chain.velocity)).max(axis=1))
    course = np.concatenate([[0.0], np.cumsum(times)])
    clock = np.arange(0.0, course[-1] + _RAMP, 1.0 / _RATE)
    moments = np.minimum(clock, 0.5 * clock**2 / _RAMP)
    moments = np.where(clock > _RAMP, clock - 0.5 * _RAMP, moments)
    left = np.maximum(course[-1] + _RAMP - clock, 0.0)
    slow = left < _RAMP
    moments[slow] = course[-1] - 0.5 * left[slow] ** 2 / _RAMP
    return np.array([np.interp(moments, course, column) for column in q.T]).T


def run(chain: KinematicChain, q: np.ndarray, **settings: float) -> dict[str, object]:
    """Follow the poses of postures (M, n) and return what is measured."""
    follower = TargetFollower(Solver(chain), velocity_scaling=0.5, **settings)
    targets = np.array([chain.forward(row) for row in q])
    measured, tips, motions, last = q[0], [], [], q[0]
    for k, target in enumerate(np.concatenate([targets, [targets[-1]] * round(2 * _RATE)])):
        now = k / _RATE
        follower.set_measured(measured, now)
        result = follower.set_target(target, at=now)
        motions.append(np.abs(result.q - last).max())
        last = result.q
        command = follower.tick(now)
        if command is not None:
            measured = command.q
        tips.append(chain.forward(measured))
    return _measures(targets, np.array(tips), np.array(motions[1:]))


def _measures(targets: np.ndarray, tips: np.ndarray, motions: np.ndarray) -> dict[str, object]:
    away = distances(targets[:, :3, 3], tips[:, :3, 3])
    late = np.linalg.norm((tips[: len(targets)] - targets)[:, :3, 3], axis=1)
    return {
        'seconds': len(targets) / _RATE,
        'largest_mm': 1e3 * float(away.max()),
        'mean_mm': 1e3 * float(away.mean()),
        'seconds_off': float((away > _OFF).sum()) / _RATE,
        'furthest_behind_mm': 1e3 * float(late.max()),
        'jumps_0.1': int((motions > 0.1).sum()),
        'arrived': bool(np.linalg.norm(pose_error(tips[-1], targets[-1])) < 1e-3),
    }


def distances(path: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distances (K,) of points (K, 3) from a path of corners (N, 3) [m]."""
    starts, ways = path[:-1], np.diff(path, axis=0)
    sizes = np.maximum((ways * ways).sum(axis=1), 1e-18)
    nearest = np.empty(len(points))
    for k, point in enumerate(points):
        share = np.clip(((point - starts) * ways).sum(axis=1) / sizes, 0.0, 1.0)
        nearest[k] = np.sqrt((((starts + share[:, None] * ways) - point) ** 2).sum(axis=1).min())
    return nearest


def cases(folder: Path, seeds: int) -> list[tuple[BenchRobot, str, np.ndarray]]:
    """Return robots, names of paths and the postures (M, n) on them."""
    found = []
    for robot in [*chosen_robots(_REDUNDANT), *published_arms(folder)]:
        for seed in range(seeds):
            found.append((robot, f'wandering {seed}', wandering(robot.chain, seed)))
    for robot in chosen_robots(_SIX):
        for seed in range(seeds):
            for name, joint in (('elbow', _ELBOW), ('wrist', _WRIST)):
                for beside in (0.0, 0.02):
                    how = 'beside' if beside else 'through'
                    path = crossing(robot.chain, joint, seed, beside)
                    found.append((robot, f'{how} {name} {seed}', path))
    return [(robot, name, timed(robot.chain, q)) for robot, name, q in found]


def main() -> None:
    """Measure and save."""
    args = options(__doc__, seeds=(3, 'paths of a kind'))
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for robot, name, q in cases(Path(folder), args.seeds):
            for feed_forward in (False, True):
                measured = run(robot.chain, q, feed_forward=feed_forward)
                row = {'chain': robot.name, 'path': name, 'feed_forward': feed_forward}
                rows.append({**row, **measured})
                progress(f'singular passes: {rows[-1]}')
    save('singular_passes', rows, seeds=args.seeds)


if __name__ == '__main__':
    main()
