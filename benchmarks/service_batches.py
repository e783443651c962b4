"""
Poses a second of compute_ik called one by one, pipelined, and of compute_ik_batch, in turns.

Node and client are two processes, in a ROS domain of their own. One by one is a plain client of
rclpy at its best: the executor spins in a thread of its own, and the requests are made before.
Meanwhile another client calls compute_ik now and then, for the time that it waits beside a batch.
Needs the environment of ``make env``, or a sourced ROS 2 with moveit_msgs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import ExitStack
import threading
from time import perf_counter, sleep

import numpy as np
from records import options, own_ros_domain, progress, save
from timing import quartiles

import ik_service as iks
from ik_service.common.child_process import ChildProcess
from ik_service.common.resources import urdf_path

TIP = 'panda_link8'
_READY = 300.0  # time that the node may take to start: kernels may have to be compiled [s]
_PATIENCE = 60.0  # with an answer [s]
_PAUSE = 0.005  # of the other client between two calls [s]


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        single=(500, 'poses one by one, in a turn'),
        batch=(20000, 'poses of a batch'),
        turns=(9, 'turns that count'),
        seed=(1, 'of the random poses'),
    )
    with own_ros_domain(), ExitStack() as stack:
        progress('service_batches: starting the node')
        arm = ['-p', f'urdf:={urdf_path("panda")}', '-p', f'tip_link:={TIP}']
        server = ChildProcess('the node', 'ik_service.ros.node.main', ['--ros-args', *arm])
        stack.enter_context(server).wait_for('compute_ik_batch is offered', _READY)
        rows = measured(poses(args.batch, args.seed), args)
    save('service_batches', rows, **vars(args))


def poses(count: int, seed: int) -> np.ndarray:
    """Reachable poses of the tip in the frame of the base, (N, 4, 4)."""
    chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', TIP)
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(chain.lower, chain.upper, (count, chain.n))
    return np.array([chain.forward(q) for q in drawn])


def measured(targets: np.ndarray, args: argparse.Namespace) -> list[dict[str, object]]:
    """Rows of the table."""
    from moveit_msgs.srv import GetPositionIK
    import rclpy

    from ik_service.ros.clients import IkClient
    from ik_service.ros.common.runtime import ros, spinning_node

    with ros([]), spinning_node(node := rclpy.create_node('benchmark')):
        single = node.create_client(GetPositionIK, 'compute_ik')
        single.wait_for_service()
        few = targets[: args.single]
        messages = [_request(T) for T in few]

        def one_by_one() -> list[bool]:
            answers = [single.call(message, timeout_sec=_PATIENCE) for message in messages]
            return [answer.error_code.val == 1 for answer in answers]

        with IkClient(node) as client:
            ways: dict[str, tuple[int, Callable[[], Sequence[bool]]]] = {
                'one by one': (args.single, one_by_one),
                'pipelined': (args.single, lambda: client.pipelined(few).result().success),
                'batch': (args.batch, lambda: client.solve(targets).result().success),
            }
            table = _in_turns(ways, args.turns)
            waits = {
                'alone': _waits(single, messages, lambda: sleep(2.0)),
                'beside a batch': _waits(
                    single, messages, lambda: [client.solve(targets).result() for _ in range(3)]
                ),
            }
    return table + [
        {
            'way': f'one compute_ik {when}',
            'poses': len(seconds),
            'p50_ms': 1e3 * float(np.median(seconds)),
            'p99_ms': 1e3 * float(np.percentile(seconds, 99)),
        }
        for when, seconds in waits.items()
    ]


def _in_turns(
    ways: dict[str, tuple[int, Callable[[], Sequence[bool]]]], turns: int
) -> list[dict[str, object]]:
    """Rates of each way, in turns; the first turn warms up and does not count."""
    rates, solved = {way: [] for way in ways}, {way: [] for way in ways}
    for turn in range(turns + 1):
        for way, (count, solve) in ways.items():
            began = perf_counter()
            share = np.mean(solve())
            if turn:
                rates[way].append(count / (perf_counter() - began))
                solved[way].append(share)
        progress(', '.join(f'{way} {each[-1]:.0f}/s' for way, each in rates.items() if each))
    reference = np.array(rates['one by one'])
    return [
        {
            'way': way,
            'poses': ways[way][0],
            'poses_per_second': float(np.median(each)),
            **quartiles('times_one_by_one', np.array(each) / reference),
            'success_percent': 100.0 * float(np.mean(solved[way])),
        }
        for way, each in rates.items()
    ]


def _waits(client: object, messages: list, meanwhile: Callable[[], object]) -> np.ndarray:
    """Round trips of single calls while something else goes on [s]."""
    other = threading.Thread(target=meanwhile)
    other.start()
    seconds = []
    while other.is_alive():
        began = perf_counter()
        client.call(messages[len(seconds) % len(messages)], timeout_sec=_PATIENCE)
        seconds.append(perf_counter() - began)
        sleep(_PAUSE)
    return np.array(seconds)


def _request(T: np.ndarray) -> object:
    """A request with the pose and nothing else."""
    from moveit_msgs.srv import GetPositionIK

    from ik_service.ros.common.conversions import pose_from_matrix

    request = GetPositionIK.Request()
    request.ik_request.pose_stamped.pose = pose_from_matrix(T)
    return request


if __name__ == '__main__':
    main()
