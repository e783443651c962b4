"""
Cost of the middleware: the same node and client on one host and on two.

The hosts are network namespaces of this machine with a cable between them (veth), as far as one
machine can stand for two; needs root. They find each other by ROS_STATIC_PEERS alone, without
multicast. Latency is that of compute_ik, jitter that of the intervals between joint commands as
they arrive at the client's host.

    sudo .venv/bin/python benchmarks/two_hosts.py [--count 500] [--delay 2 --loss 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
import json
import os
from pathlib import Path
import subprocess
import sys
from tempfile import TemporaryDirectory
import threading
import time

from cell import cell_file
from cell_arms import ObedientArm, TARGET_RATE
from moveit_msgs.srv import GetPositionIK
import numpy as np
import rclpy
from rclpy.node import Node
from records import progress, save

from ik_service.extras.studies.tables import show
from ik_service.ros.common.runtime import ros, spinning_node

HERE = Path(__file__).resolve().parent
HOSTS = {'ik_host_a': '10.213.7.1', 'ik_host_b': '10.213.7.2'}
DOMAIN = '42'  # nobody else is in these networks
_READY = 120.0  # [s]
_PATIENCE = 5.0  # with an answer [s]


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__.strip().splitlines()[0])
    parser.add_argument('--count', type=int, default=500, help='calls of compute_ik')
    parser.add_argument('--seconds', type=float, default=10.0, help='of following')
    parser.add_argument('--delay', type=float, default=2.0, help='of the slow cable [ms]')
    parser.add_argument('--loss', type=float, default=1.0, help='of the slow cable [%%]')
    args = parser.parse_args()
    a, b = HOSTS
    udp = {'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4'}
    rows = []
    with hosts():
        rows.append(measure('one host, shared memory', a, a, {}, args))
        rows.append(measure('one host, UDP', a, a, udp, args))
        rows.append(measure('two hosts', a, b, {}, args))
        words = ['delay', f'{args.delay}ms', 'loss', f'{args.loss}%']
        name = f'two hosts, {args.delay:g} ms and {args.loss:g} % loss each way'
        try:
            for host in HOSTS:
                _inside(host, 'tc', 'qdisc', 'add', 'dev', 'cable', 'root', 'netem', *words)
            rows.append(measure(name, a, b, {}, args))
        except subprocess.CalledProcessError:
            progress('this kernel has no netem: no slow cable')
    show(rows)
    save('two_hosts', rows, **vars(args))


@contextmanager
def hosts() -> Iterator[None]:
    """Make two network namespaces with a cable between them, for a ``with`` block."""
    (a, at_a), (b, at_b) = HOSTS.items()
    with ExitStack() as stack:
        for host in HOSTS:
            _run('ip', 'netns', 'add', host)
            stack.callback(_run, 'ip', 'netns', 'delete', host)
            _inside(host, 'ip', 'link', 'set', 'lo', 'up')
        _run('ip', 'link', 'add', 'cable', 'netns', a, 'type', 'veth', 'peer', 'cable', 'netns', b)
        for host, address in ((a, at_a), (b, at_b)):
            _inside(host, 'ip', 'address', 'add', f'{address}/24', 'dev', 'cable')
            _inside(host, 'ip', 'link', 'set', 'cable', 'up')
        yield


def measure(
    name: str, server: str, client: str, variables: dict[str, str], args: argparse.Namespace
) -> dict[str, object]:
    """Run a node on one host and a client on another; return a row of the table."""
    progress(name)
    with TemporaryDirectory() as scratch:
        file, arms = cell_file(Path(scratch), 1)
        module = ['-m', 'ik_service.extras.cells.main', str(file)]
        node = _started(server, module, _environment(server, client, variables))
        try:
            words = [__file__, 'client', json.dumps(arms), str(args.count)]
            words.append(str(args.seconds))
            environment = _environment(client, server, variables)
            command = ['ip', 'netns', 'exec', client, sys.executable, *words]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=_READY + 120.0
            )
        finally:
            node.terminate()
            node.wait(30.0)
    if done.returncode:
        raise SystemExit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    calls, intervals = np.array(found['calls']) * 1e3, np.diff(found['arrivals']) * 1e3
    return {
        'connection': name,
        'call_median_ms': float(np.median(calls)),
        'call_p99_ms': float(np.percentile(calls, 99.0)),
        'lost_calls': found['lost'],
        'command_hz': len(intervals) / args.seconds,
        'interval_median_ms': float(np.median(intervals)),
        'interval_p99_ms': float(np.percentile(intervals, 99.0)),
        'interval_max_ms': float(intervals.max()),
        'found_after_s': found['found'],
    }


def _environment(host: str, peer: str, variables: dict[str, str]) -> dict[str, str]:
    """Discovery by the address of the other host alone; within one host by LOCALHOST."""
    path = os.pathsep.join([str(HERE.parent), str(HERE), os.environ.get('PYTHONPATH', '')])
    environment = {**os.environ, 'PYTHONPATH': path, 'ROS_DOMAIN_ID': DOMAIN, **variables}
    environment.pop('ROS_LOCALHOST_ONLY', None)  # older, and would win
    environment['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    environment['ROS_STATIC_PEERS'] = '' if host == peer else HOSTS[peer]
    return environment


def _started(
    host: str, words: Sequence[str], environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    command = ['ip', 'netns', 'exec', host, sys.executable, *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def _inside(host: str, *words: str) -> None:
    _run('ip', 'netns', 'exec', host, *words)


def _run(*words: str) -> None:
    subprocess.run(words, check=True)


class WatchedArm(ObedientArm):
    """Arm that notes when commands arrive here."""

    def __init__(self, *arguments: object) -> None:
        self.arrivals: list[float] = []
        super().__init__(*arguments)

    def _obey(self, message: bytes, info: dict[str, int]) -> None:
        self.arrivals.append(time.monotonic())
        super()._obey(message, info)


def client(arms: str, count: int, seconds: float) -> None:
    """Measure and print JSON: call compute_ik of the only arm, then let it follow a circle."""
    ((name, arm),) = json.loads(arms).items()
    began = time.monotonic()
    with ros([]), spinning_node(node := Node('client')):
        watched = WatchedArm(node, name, arm)
        service = node.create_client(GetPositionIK, f'{name}/compute_ik')
        node.create_timer(0.01, watched.publish_state)
        service.wait_for_service()
        found = time.monotonic() - began
        calls, lost = _calls(service, _request(arm), count)
        node.create_timer(1.0 / TARGET_RATE, lambda: watched.publish_target(time.monotonic(), 0.0))
        time.sleep(3.0)
        watched.arrivals.clear()
        time.sleep(seconds)
        arrivals = watched.arrivals[:]
    print(json.dumps({'calls': calls, 'lost': lost, 'arrivals': arrivals, 'found': found}))


def _calls(
    client: rclpy.client.Client, request: GetPositionIK.Request, count: int
) -> tuple[list[float], int]:
    """Call one by one; return the times that answers took [s], and how many did not come."""
    times, lost = [], 0
    for _ in range(count):
        done = threading.Event()
        began = time.perf_counter()
        future = client.call_async(request)
        future.add_done_callback(lambda _, done=done: done.set())
        if done.wait(_PATIENCE):
            times.append(time.perf_counter() - began)
        else:
            lost += 1
    return times, lost


def _request(arm: dict[str, list]) -> GetPositionIK.Request:
    request = GetPositionIK.Request()
    stamped = request.ik_request.pose_stamped
    stamped.header.frame_id = arm['frame']
    at, turn = stamped.pose.position, stamped.pose.orientation
    at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w = arm['pose']
    state = request.ik_request.robot_state.joint_state
    state.name, state.position = list(arm['joints']), list(arm['start'])
    return request


if __name__ == '__main__':
    if sys.argv[1:2] == ['client']:
        client(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
