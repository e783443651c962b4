"""
Times of two checkouts of this project in turns, and their ratios.

    .venv/bin/python benchmarks/compare_checkouts.py ../base .

Every group of measurements runs in a process of its own with one of the checkouts on PYTHONPATH,
the two checkouts one after the other, in alternating order, round after round. A time is that of
the processor, and the least of some repeats in a process. The table gives the least of all rounds
with their ratio, and the median and quartiles of the ratios of each round; a row is marked where
both ratios are above the limit. Only names of the public API are
used, so that the checkouts may differ in everything else; what one of them does not offer is left
out. The callback of ``compute_ik`` is called without DDS, and only where ROS 2 and moveit_msgs can
be imported.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
import json
import math
import os
from pathlib import Path
import subprocess
import sys
from time import monotonic, process_time, sleep, thread_time
from typing import Any, TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from moveit_msgs.srv import GetPositionIK
    from rclpy.node import Node

    import ik_service as iks


_TIPS = {'panda': ('panda_link0', 'panda_hand_tcp'), 'ur5e': ('base_link', 'tool0')}
_REPEATS = 9
_PART = 10  # calls between two looks at the clock
_SOLVES = 500
_TARGETS = 100  # of the other methods
_BATCH = 2000
_STARTING = 60.0  # patience with the node [s]

Times = dict[str, float]
Rounds = dict[str, list[float]]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('before', type=Path, help='folder of the checkout to compare with')
    parser.add_argument('after', type=Path, help='folder of the other one')
    parser.add_argument('--rounds', type=int, default=7, help='default: %(default)s')
    parser.add_argument(
        '--only',
        default=','.join(GROUPS),
        help='groups of measurements, separated by commas (default: %(default)s)',
    )
    parser.add_argument(
        '--limit', type=float, default=1.03, help='ratio above which a row is marked slower'
    )
    args = parser.parse_args()
    checkouts = [folder.resolve() for folder in (args.before, args.after)]
    for folder in checkouts:
        if not (folder / 'ik_service' / '__init__.py').is_file():
            parser.error(f'{folder} is no checkout of this project')
    groups = args.only.split(',')
    unknown = sorted(set(groups) - set(GROUPS))
    if unknown:
        parser.error(f'no group {", ".join(unknown)} among {", ".join(GROUPS)}')
    _print_table(*measure(checkouts, groups, args.rounds), args.limit)


def measure(checkouts: list[Path], groups: list[str], rounds: int) -> list[Rounds]:
    """Return the times of each round by name [s], for each of two checkouts, measured in turns."""
    found: list[Rounds] = [{}, {}]
    for group in groups:
        for folder in checkouts:  # compiles, and fills the cache
            _timed(folder, group)
        for number in range(rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            for k in order:
                for name, seconds in _timed(checkouts[k], group).items():
                    found[k].setdefault(name, []).append(seconds)
            print(f'{group}: round {number + 1} of {rounds}', file=sys.stderr, flush=True)
    return found


def _timed(checkout: Path, group: str) -> Times:
    """Times of a group by name [s], from a process of its own."""
    environment = {
        **os.environ,
        'PYTHONPATH': str(checkout),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'OFF',
        **dict.fromkeys(('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS'), '1'),
    }
    command = [sys.executable, __file__, '--here', group]
    done = subprocess.run(
        command, env=environment, cwd=checkout, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f'{checkout}: {group} failed:\n{done.stderr}')
    times: Times = json.loads(done.stdout.splitlines()[-1])
    return times


def _time_here(group: str) -> None:
    """Time a group with the checkout on PYTHONPATH in this process, and print JSON."""
    checkout = Path(os.environ['PYTHONPATH'])
    if group != 'service':  # whose node has several threads
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    times = GROUPS[group]()
    import ik_service

    if checkout not in Path(ik_service.__file__).parents:
        sys.exit(f'{ik_service.__file__} is not in {checkout}')
    print(json.dumps(times))


def _print_table(before: Rounds, after: Rounds, limit: float) -> None:
    """Print times and ratios as a Markdown table; rows above the limit are marked."""
    print('| what | before | after | ratio | ratio of a round (quartiles) | |')
    print('|---|---|---|---|---|---|')
    for name in before:
        if name not in after:
            continue
        low, middle, high = np.percentile(np.divide(after[name], before[name]), (25, 50, 75))
        least = min(after[name]) / min(before[name])
        mark = 'slower' if min(least, middle) > limit else ''
        print(
            f'| {name} | {_text(min(before[name]))} | {_text(min(after[name]))} | {least:.3f} '
            f'| {middle:.3f} ({low:.3f}–{high:.3f}) | {mark} |'
        )
    for name in sorted(before.keys() ^ after.keys()):
        print(f'left out: {name} is only in one of the checkouts', file=sys.stderr)


def _text(seconds: float) -> str:
    if seconds >= 0.1:
        return f'{seconds:.3f} s'
    return f'{1e3 * seconds:.3g} ms' if seconds >= 1e-3 else f'{1e6 * seconds:.3f} µs'


def time_start() -> Times:
    """Return the times of the import and of the first solve, from the cache."""
    began = process_time()
    import ik_service as iks

    imported = process_time()
    chain = iks.Robot.from_urdf(_urdf('panda')).chain(*_TIPS['panda'])
    q = chain.mid_range()
    iks.solve_ik(chain, chain.forward(q), q)
    return {'import': imported - began, 'first solve, from the cache': process_time() - imported}


def time_solves() -> Times:
    """Return the times of single solves with the default method."""
    import ik_service as iks

    times = {}
    for arm in _TIPS:
        chain, solver, q, targets = _problems(arm, _SOLVES)
        near = [
            (T, start)
            for T, start in zip(targets, 0.98 * q + 0.02 * chain.mid_range(), strict=True)
        ]
        times[f'{arm}: Solver.solve, seed nearby'] = _least(solver.solve, near)
        far = [(T, chain.mid_range()) for T in targets]
        times[f'{arm}: Solver.solve, random target'] = _least(solver.solve, far)
        calls = [(chain, T, seed) for T, seed in far]
        times[f'{arm}: solve_ik, random target'] = _least(iks.solve_ik, calls)
    return times


def time_methods() -> Times:
    """Return the times of solves with each method."""
    import ik_service as iks

    times = {}
    for name in iks.solver_names():
        chain, solver, _, targets = _problems('panda', _TARGETS, name)
        calls = [(T, chain.mid_range()) for T in targets]
        times[f'panda: {name}'] = _least(solver.solve, calls, repeats=3)
    return times


def time_batch() -> Times:
    """Return the time of a batch call, for one of its targets."""
    import ik_service as iks

    times = {}
    for arm in _TIPS:
        chain, _, _, targets = _problems(arm, _BATCH)
        poses = np.array(targets)

        call = partial(iks.solve_ik_batch, chain, poses, threads=1)
        times[f'{arm}: batch of {_BATCH}, a target'] = _least(call, [()]) / _BATCH
    return times


def time_kinematics() -> Times:
    """Return the times of forward kinematics and Jacobian, called from Python."""
    times = {}
    for arm in _TIPS:
        chain, _, q, _ = _problems(arm, 2000)
        rows = [(row,) for row in q]
        times[f'{arm}: forward'] = _least(chain.forward, rows)
        times[f'{arm}: jacobian'] = _least(chain.jacobian, rows)
    return times


def time_reading() -> Times:
    """Return the times of reading descriptions from text."""
    import ik_service as iks

    times = {}
    for arm in _TIPS:
        text = Path(_urdf(arm)).read_text()
        times[f'{arm}: Robot.from_urdf of text'] = _least(iks.Robot.from_urdf, [(text,)] * 20)
    return times


def time_service() -> Times:
    """Return the time of the ``compute_ik`` callback without DDS; nothing without ROS 2."""
    try:
        from moveit_msgs.srv import GetPositionIK
        import rclpy

        from ik_service.ros.node.ik_node import IkNode
    except ImportError:
        return {}
    base, tip = _TIPS['panda']
    values = {'urdf': _urdf('panda'), 'base_link': base, 'tip_link': tip}
    arguments = [word for item in values.items() for word in ('-p', '{}:={}'.format(*item))]
    rclpy.init(args=['--ros-args', *arguments, '--log-level', 'fatal'])
    node = IkNode()
    try:
        node.start()
        with node.running():
            callback = _callback(node, 'compute_ik')
            requests = [(request, GetPositionIK.Response()) for request in _requests()]
            return {'panda: compute_ik without DDS': _least(callback, requests, clock=thread_time)}
    finally:
        node.destroy_node()
        rclpy.shutdown()


def _urdf(arm: str) -> str:
    return str(Path(os.environ['PYTHONPATH'], 'urdf', f'{arm}.urdf'))


def _problems(
    arm: str, count: int, method: str = 'levenberg_marquardt'
) -> tuple[iks.KinematicChain, iks.Solver, np.ndarray, list[np.ndarray]]:
    """Chain, prepared solver, random postures (count, n), and their poses."""
    import ik_service as iks

    chain = iks.Robot.from_urdf(_urdf(arm)).chain(*_TIPS[arm])
    solver = iks.Solver(chain, method)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    q = np.random.default_rng(1).uniform(lower, upper, (count, chain.n))
    return chain, solver, q, [chain.forward(row) for row in q]


def _least(
    call: Callable[..., object],
    arguments: Sequence[tuple[Any, ...]],
    repeats: int = _REPEATS,
    clock: Callable[[], float] = process_time,
) -> float:
    """Mean time of a call [s]; of a few calls in a row, the least of all repeats counts."""
    parts = [arguments[first : first + _PART] for first in range(0, len(arguments), _PART)]
    least = [math.inf] * len(parts)
    for repeat in range(-1, repeats):  # the first one does not count
        for k, part in enumerate(parts):
            began = clock()
            for row in part:
                call(*row)
            if repeat >= 0:
                least[k] = min(least[k], clock() - began)
    return sum(least) / len(arguments)


def _callback(node: Node, service: str) -> Callable[..., object]:
    """Wait for a service of the node, and return its callback."""
    end = monotonic() + _STARTING
    while monotonic() < end:
        for offered in node.services:
            if offered.srv_name.rpartition('/')[2] == service:
                return offered.callback
        sleep(0.05)
    raise TimeoutError(f'the node does not offer {service}')


def _requests() -> list[GetPositionIK.Request]:
    """Requests for random poses, with a seed in the middle of the limits."""
    from moveit_msgs.srv import GetPositionIK

    from ik_service.ros.common.conversions import pose_from_matrix

    chain, _, _, targets = _problems('panda', 300)
    requests = []
    for T in targets:
        request = GetPositionIK.Request()
        joints = request.ik_request.robot_state.joint_state
        joints.name, joints.position = list(chain.joint_names), chain.mid_range().tolist()
        request.ik_request.pose_stamped.pose = pose_from_matrix(T)
        requests.append(request)
    return requests


GROUPS: dict[str, Callable[[], Times]] = {
    'start': time_start,
    'solves': time_solves,
    'methods': time_methods,
    'batch': time_batch,
    'kinematics': time_kinematics,
    'reading': time_reading,
    'service': time_service,
}


if __name__ == '__main__':
    if sys.argv[1:2] == ['--here']:
        _time_here(sys.argv[2])
    else:
        main()
