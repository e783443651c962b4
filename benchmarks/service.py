"""
Round trips and throughput of compute_ik over DDS, beside servers that do nothing.

The echo server answers requests of the same type with an answer of the same size, the other one
std_srvs/Trigger; both are plain rclpy. All servers and clients are processes of their own, in a
ROS domain of their own. Needs the environment of ``make env``, or a sourced ROS 2 with
moveit_msgs.
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack
import json
from pathlib import Path
from time import monotonic, perf_counter

import numpy as np
from records import own_ros_domain, progress, save
from timing import quartiles

import ik_service as iks
from ik_service.common.child_process import ChildProcess
from ik_service.common.resources import urdf_path

TIP = 'panda_link8'
_READY = 120.0  # time that a server may take to start: kernels may have to be compiled [s]
_PATIENCE = 10.0  # with an answer [s]
_ROUND = 100  # calls of which each has a median
_HEAD_START = 8.0  # for the clients to find the servers [s]


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--count', type=int, default=2000, help='round trips of each service')
    parser.add_argument('--clients', type=int, default=16, help='concurrent clients')
    parser.add_argument('--processes', type=int, default=4, help='that they are spread over')
    parser.add_argument('--windows', type=int, default=5, help='of throughput, for each service')
    parser.add_argument('--seconds', type=float, default=2.0, help='length of a window')
    parser.add_argument('--seed', type=int, default=1, help='of the random targets')
    args = parser.parse_args()
    if args.clients % args.processes:
        parser.error('--clients has to be a multiple of --processes')
    joints, targets = poses(200, args.seed)
    with own_ros_domain(Path(__file__).parent), ExitStack() as children:
        progress('service: starting the servers')
        start_servers(children, joints)
        progress('service: round trips')
        rows = round_trips(joints, targets, args.count)
        progress(f'service: {args.clients} clients')
        rows += throughput(joints, targets, args)
    save('service', rows, **vars(args))


def poses(count: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Names of all joints of the arm, and pose and seed of each request, (N, 7 + joints)."""
    from ik_service.common.quaternions import quaternion_xyzw_from_rotation

    robot = iks.Robot.from_urdf(urdf_path('panda'))
    chain = robot.chain('panda_link0', TIP)
    names = [joint.name for joint in robot.joints.values() if joint.movable]
    seed_state = dict.fromkeys(names, 0.0)
    seed_state.update(zip(chain.joint_names, chain.mid_range().tolist(), strict=True))
    rng = np.random.default_rng(seed)
    rows = []
    for q in rng.uniform(chain.lower, chain.upper, (count, chain.n)):
        T = chain.forward(q)
        quaternion = quaternion_xyzw_from_rotation(T[:3, :3])
        rows.append([*T[:3, 3], *quaternion, *seed_state.values()])
    return names, np.array(rows)


def start_servers(children: ExitStack, joints: list[str]) -> None:
    """Start the three servers and wait until they serve."""
    arm = ['-p', f'urdf:={urdf_path("panda")}', '-p', f'tip_link:={TIP}']
    servers = [
        ChildProcess('compute_ik', 'ik_service.ros.node.main', ['--ros-args', *arm]),
        ChildProcess('echo', 'service_programs', ['echo', json.dumps(joints)]),
        ChildProcess('trigger', 'service_programs', ['trigger', '']),
    ]
    for server in servers:
        children.enter_context(server)
    for server in servers:
        server.wait_for('ready', _READY)


def round_trips(joints: list[str], targets: np.ndarray, count: int) -> list[dict[str, object]]:
    """Rows of the table: one call after the other, the services in turn."""
    from moveit_msgs.srv import GetPositionIK
    import rclpy
    from service_programs import requests
    from std_srvs.srv import Trigger

    from ik_service.ros.common.runtime import ros, spinning_node

    messages = requests(joints, targets)
    # Spins in its own thread: spin_until_future_complete busy-waits on Jazzy.
    with ros([]), spinning_node(node := rclpy.create_node('client')):
        clients = {
            'compute_ik': node.create_client(GetPositionIK, 'compute_ik'),
            'echo': node.create_client(GetPositionIK, 'echo'),
            'trigger': node.create_client(Trigger, 'trigger'),
        }
        times, solved = {name: [] for name in clients}, 0
        for client in clients.values():
            client.wait_for_service()
        for k in range(-_ROUND, count):  # the first ones warm up and do not count
            message = messages[k % len(messages)]
            for name, client in clients.items():
                request = Trigger.Request() if name == 'trigger' else message
                began = perf_counter()
                answer = client.call(request, timeout_sec=_PATIENCE)
                seconds = perf_counter() - began
                if k >= 0:
                    times[name].append(seconds)
                    solved += name == 'compute_ik' and answer.error_code.val == 1
    echo = _medians(times['echo'])
    return [
        {
            'service': name,
            'clients': 1,
            'calls': count,
            'p50_us': 1e6 * float(np.median(seconds)),
            'p99_us': 1e6 * float(np.percentile(seconds, 99)),
            'calls_per_second': 1.0 / float(np.mean(seconds)),
            'success_percent': 100.0 * solved / count if name == 'compute_ik' else '',
            **quartiles('times_echo', _medians(seconds) / echo),
        }
        for name, seconds in times.items()
    ]


def _medians(seconds: list[float]) -> np.ndarray:
    return np.array([np.median(part) for part in np.array_split(seconds, _parts(len(seconds)))])


def _parts(count: int) -> int:
    return max(1, count // _ROUND)


def throughput(
    joints: list[str], targets: np.ndarray, args: argparse.Namespace
) -> list[dict[str, object]]:
    """Rows of the table: many clients at once, the services in turn."""
    services = ['echo', 'compute_ik'] * (args.windows + 1)  # the first ones warm up
    start = monotonic() + _HEAD_START
    data = [json.dumps(joints), json.dumps(targets.tolist())]
    each = args.clients // args.processes
    schedule = ['clients', str(each), repr(start), str(args.seconds), ','.join(services)]
    with ExitStack() as stack:
        workers = [
            stack.enter_context(
                ChildProcess(f'clients {k}', 'service_programs', [*schedule, *data])
            )
            for k in range(args.processes)
        ]
        patience = _HEAD_START + len(services) * (args.seconds + 1.0) + 10.0
        counts = [json.loads(w.wait_for(r'^counts (.*)$', patience)[1]) for w in workers]
    rates = np.sum(counts, axis=0).reshape(-1, 2)[1:] / args.seconds
    return [
        {
            'service': name,
            'clients': each * args.processes,
            'calls': int(rates[:, k].sum() * args.seconds),
            'calls_per_second': float(np.median(rates[:, k])),
            **quartiles('times_echo', rates[:, k] / rates[:, 0]),
        }
        for k, name in enumerate(services[:2])
    ]


if __name__ == '__main__':
    main()
