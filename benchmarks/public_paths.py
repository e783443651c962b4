"""
Paths of the problems of CppFlow and TORM, and of the example of IKLink, with the fewest jumps.

The paths and the arms beside the Panda are read from checkouts of
https://github.com/jstmn/cppflow and https://github.com/uwgraphics/IKLink, which have no shapes of
the Fetch: those, and the pairs of links that may touch, are in one of
https://github.com/ZebraDevs/fetch_ros. Without it the Fetch is measured without collisions. The
start is free, as it is there. Obstacles and contacts of the arm with itself count.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from time import perf_counter

import numpy as np
from records import progress, save
import yaml

import ik_service as iks
from ik_service.common.quaternions import rotation_from_quaternion_xyzw

_OWN_ROBOTS = Path(__file__).resolve().parents[1] / 'urdf'
_FETCH = [
    f'{robot}__{path}'
    for robot in ('fetch', 'fetch_arm')
    for path in ('circle', 'hello', 'rot_yz', 'rot_yz2', 's', 'square')
]
_PANDA = ['panda__1cube', 'panda__2cubes', 'panda__flappy_bird']
# Chains from base to tip; the arm of the Fetch stands on its torso, which is down.
_FETCH_BASES = {'fetch': 'base_link', 'fetch_arm': 'torso_lift_link'}
# Largest step: that of CppFlow is 7° (and 2 cm of the lift, which is not asked for here); IKLink's
# is the slowest joint of the Panda in a thirtieth of a second [rad].
_STEP = np.deg2rad(7.0)
_IKLINK_STEP = 2.175 / 30.0


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--cppflow', type=Path, required=True, help='checkout of CppFlow')
    parser.add_argument('--iklink', type=Path, required=True, help='checkout of IKLink')
    parser.add_argument('--fetch', type=Path, help='checkout of fetch_ros')
    parser.add_argument('--repeats', type=int, default=5)
    args = parser.parse_args()
    rows = []
    for name in [*_PANDA, *_FETCH]:
        rows.append(_measured(name, *_problem(args, name), _STEP, args.repeats))
    rows.append(_measured('panda, IKLink', *_iklink(args), _IKLINK_STEP, args.repeats))
    save('public_paths', rows, repeats=args.repeats)


def _problem(
    args: argparse.Namespace, name: str
) -> tuple[iks.KinematicChain, np.ndarray, iks.CollisionChecker | None]:
    """Return chain, targets and obstacles of a problem of CppFlow."""
    folder = args.cppflow / 'cppflow'
    given = yaml.safe_load((folder / 'problems' / f'{name}.yaml').read_text())
    targets = _poses(folder / 'paths' / f'{given["path_name"]}.csv', order=(4, 5, 6, 3))
    targets[:, :3, 3] += given['path_xyz_offset']
    targets[:, :3, :3] = targets[:, :3, :3] @ np.array(given['path_R_offset'], float)
    if given['robot'] == 'panda':
        robot = iks.Robot.from_urdf(_OWN_ROBOTS / 'panda.urdf')
        return robot.chain('panda_link0', 'panda_hand'), targets, _obstacles(robot, given)
    robot = _fetch(args)
    base = _FETCH_BASES[given['robot']]
    if base != given['path_offset_frame']:
        targets = robot.chain(base, given['path_offset_frame']).forward(np.zeros(1)) @ targets
    checker = None if args.fetch is None else _obstacles(robot, given)
    return robot.chain(base, 'gripper_link'), targets, checker


def _fetch(args: argparse.Namespace) -> iks.Robot:
    """Return the Fetch, with shapes where there is a checkout of them."""
    urdf = args.iklink / 'configs' / 'urdfs' / 'fetch.urdf'
    if args.fetch is None:
        return iks.Robot.from_urdf(urdf)
    srdf = args.fetch / 'fetch_moveit_config' / 'config' / 'fetch.srdf'
    folder = args.fetch / 'fetch_description'
    return iks.Robot.from_urdf(urdf, srdf=srdf, package_dirs=[folder])


def _obstacles(robot: iks.Robot, given: dict) -> iks.CollisionChecker:
    """Return a checker with the boxes of a problem, whose edges are parallel to the axes."""
    checker = iks.CollisionChecker(robot)
    for number, parts in enumerate(given.get('obstacles') or ()):
        box = {key: value for part in parts for key, value in part.items()}
        T = np.eye(4)
        T[:3, 3] = [box[axis] for axis in 'xyz']
        T[:3, 3] += given['obstacle_xyz_offset']
        checker.add(f'box {number}', iks.Box([box[f'size_{axis}'] for axis in 'xyz']), T)
    return checker


def _iklink(args: argparse.Namespace) -> tuple[iks.KinematicChain, np.ndarray, None]:
    """Return chain and targets of the example of IKLink, which knows no obstacles."""
    robot = iks.Robot.from_urdf(args.iklink / 'configs' / 'urdfs' / 'panda.urdf')
    (file,) = (args.iklink / 'input_trajectories').glob('panda_*.csv')
    return robot.chain('world', 'panda_hand'), _poses(file, order=(3, 4, 5, 6)), None


def _poses(file: Path, order: tuple[int, ...]) -> np.ndarray:
    """Return poses (N, 4, 4) of a table; after the time, columns of the quaternion are x to w."""
    with file.open(newline='') as stream:
        values = np.array(list(csv.reader(stream))[1:], float)[:, 1:]
    targets = np.tile(np.eye(4), (len(values), 1, 1))
    targets[:, :3, 3] = values[:, :3]
    x, y, z, w = (values[:, column] for column in order)
    targets[:, :3, :3] = rotation_from_quaternion_xyzw(x, y, z, w)
    return targets


def _measured(
    name: str,
    chain: iks.KinematicChain,
    targets: np.ndarray,
    checker: iks.CollisionChecker | None,
    max_step: float,
    repeats: int,
) -> dict[str, object]:
    """Return the row of a path: what was found, and the middle of the times."""
    options = iks.PathOptions(max_step=max_step, reconfigurations='fewest')
    iks.solve_path(chain, targets[:3], options=options, collisions=checker)
    seconds = []
    for _ in range(repeats):
        began = perf_counter()
        path = iks.solve_path(chain, targets, options=options, collisions=checker)
        seconds.append(perf_counter() - began)
    steps = np.abs(np.diff(path.q[: path.reached], axis=0))
    changes = [each.row - 1 for each in path.reconfigurations]
    row: dict[str, object] = {
        'path': name,
        'poses': len(targets),
        'reached': path.reached,
        'reconfigurations': len(changes),
        'seconds': float(np.median(seconds)),
        'least_seconds': min(seconds),
        'largest_step': path.largest_step,
        'joint_travel': float(steps.sum()),
        'of_it_in_reconfigurations': float(steps[changes].sum()),
        'ending': path.end.text,
    }
    progress(', '.join(f'{key} {value}' for key, value in row.items()))
    return row


if __name__ == '__main__':
    main()
