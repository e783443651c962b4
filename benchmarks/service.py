"""
Round trips and throughput of compute_ik over DDS, beside servers that do nothing.

The echo server answers requests of the same type with an answer of the same size, the other one
std_srvs/Trigger; both are plain rclpy. All servers and clients are processes of their own, in a
ROS domain of their own. Needs the environment of ``make env``, or a sourced ROS 2 with
moveit_msgs.

Several programs of clients run at the same time. Which service they call when follows from the
clock alone: windows of the same length, one after the other, from a given moment.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
import json
from pathlib import Path
import sys
from time import monotonic, perf_counter, sleep

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
import rclpy
from rclpy.client import Client
from rclpy.node import Node
from records import options, own_ros_domain, progress, save
from std_srvs.srv import Trigger
from timing import quartiles

import ik_service as iks
from ik_service.common.child_process import ChildProcess
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.resources import urdf_path
from ik_service.ros.common.runtime import ros, spinning_node

TIP = 'panda_link8'
_READY = 120.0  # time that a server may take to start: kernels may have to be compiled [s]
_PATIENCE = 10.0  # with an answer [s]
_ROUND = 100  # calls of which each has a median
_HEAD_START = 8.0  # for the clients to find the servers [s]

PAUSE = 0.3  # between two windows [s]: what is under way has to come in


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__,
        count=(2000, 'round trips of each service'),
        clients=(16, 'concurrent clients'),
        processes=(4, 'that they are spread over'),
        windows=(5, 'of throughput, for each service'),
        seconds=(2.0, 'length of a window'),
        seed=(1, 'of the random targets'),
    )
    if args.clients % args.processes:
        raise SystemExit('--clients has to be a multiple of --processes')
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
        ChildProcess('echo', 'service', ['serve', 'echo', json.dumps(joints)]),
        ChildProcess('trigger', 'service', ['serve', 'trigger', '']),
    ]
    for server in servers:
        children.enter_context(server)
    for server in servers:
        server.wait_for('ready', _READY)


def round_trips(joints: list[str], targets: np.ndarray, count: int) -> list[dict[str, object]]:
    """Rows of the table: one call after the other, the services in turn."""
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
            stack.enter_context(ChildProcess(f'clients {k}', 'service', [*schedule, *data]))
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


def serve(kind: str, joints: str) -> None:
    """Serve ``echo``, with joints as JSON in its answer, or ``trigger`` until a signal comes."""
    rclpy.init()
    node = Node(f'{kind}_server')
    if kind == 'echo':
        answer = _canned(json.loads(joints))
        node.create_service(GetPositionIK, 'echo', lambda _request, _response: answer)
    else:
        node.create_service(Trigger, 'trigger', lambda _request, response: response)
    print('ready', flush=True)
    try:
        rclpy.spin(node)
    except KeyboardInterrupt:
        rclpy.try_shutdown()


def call(count: str, begin: str, seconds: str, names: str, joints: str, targets: str) -> None:
    """Call services in windows from a monotonic time on, and print the counts as JSON."""
    clients, start, length, services = int(count), float(begin), float(seconds), names.split(',')
    messages = requests(json.loads(joints), np.array(json.loads(targets)))
    with ros([]), spinning_node(node := Node('clients')):
        groups = {
            name: [node.create_client(GetPositionIK, name) for _ in range(clients)]
            for name in dict.fromkeys(services)
        }
        for group in groups.values():
            for client in group:
                client.wait_for_service()
        late = monotonic() - start
        if late > 0.0:
            raise SystemExit(f'{late:.1f} s late: the machine is too busy')
        counts = []
        for k, name in enumerate(services):
            sleep(max(0.0, start + k * (length + PAUSE) - monotonic()))
            counts.append(_window(groups[name], messages, length))
    print(f'counts {json.dumps(counts)}', flush=True)


def requests(joints: Sequence[str], targets: np.ndarray) -> list[GetPositionIK.Request]:
    """
    Requests as MoveIt's plugin sends them: the full seed, a pose, and the default time-out.

    :param targets: (N, 7 + joints): position [m], quaternion (x, y, z, w), and the seed's joint
        positions [rad] or [m].
    """
    found = []
    for row in targets:
        request = GetPositionIK.Request()
        state = request.ik_request.robot_state.joint_state
        state.name, state.position = list(joints), row[7:].tolist()
        pose = request.ik_request.pose_stamped.pose
        pose.position.x, pose.position.y, pose.position.z = row[:3].tolist()
        orientation = pose.orientation
        orientation.x, orientation.y, orientation.z, orientation.w = row[3:7].tolist()
        found.append(request)
    return found


def _window(clients: Sequence[Client], messages: Sequence[object], length: float) -> int:
    """Number of answers that come within a window; every client has one call under way."""
    end = monotonic() + length
    answers = [0] * len(clients)

    def send(k: int) -> None:
        future = clients[k].call_async(messages[(7 * k + answers[k]) % len(messages)])
        future.add_done_callback(lambda _: arrived(k))

    def arrived(k: int) -> None:
        if monotonic() < end:
            answers[k] += 1
            send(k)

    for k in range(len(clients)):
        send(k)
    sleep(max(0.0, end - monotonic()))
    return sum(answers)


def _canned(joints: list[str]) -> GetPositionIK.Response:
    """An answer with as much in it as that of compute_ik."""
    response = GetPositionIK.Response()
    state = response.solution.joint_state
    state.header.frame_id = 'panda_link0'
    state.name = joints
    state.position = [0.1 * i for i in range(len(joints))]
    response.error_code.val = MoveItErrorCodes.SUCCESS
    response.error_code.message = (
        'reached within 0.00012 mm and 0.00034° after 6 iterations in 1 searches, 0.005 ms'
    )
    return response


if __name__ == '__main__':
    match sys.argv[1:]:
        case ['serve', *words]:
            serve(*words)
        case ['clients', *words]:
            call(*words)
        case _:
            main()
