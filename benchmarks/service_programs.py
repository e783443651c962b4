"""
Programs beside ``service.py``: servers that respond at once, in plain rclpy, and clients.

Several programs of clients run at the same time. Which service they call when follows from the
clock alone: windows of the same length, one after the other, from a given moment.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
import sys
import time

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import numpy as np
import rclpy
from rclpy.client import Client
from rclpy.node import Node
from std_srvs.srv import Trigger

from ik_service.ros.common.runtime import ros, spinning_node

PAUSE = 0.3
"""Between two windows [s]: what is under way has to come in."""


def main() -> None:
    """Run the program that the first word of the command line names."""
    program, words = sys.argv[1], sys.argv[2:]
    call(*words) if program == 'clients' else serve(program, *words)


def serve(kind: str, joints: str) -> None:
    """
    Serve until a signal comes.

    :param kind: ``echo`` or ``trigger``, also the name of the service.
    :param joints: those of the answer of the echo, as JSON.
    """
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
    """
    Call, and print how many answers came in each window, as JSON.

    :param count: of clients.
    :param begin: on the monotonic clock [s].
    :param seconds: length of a window [s].
    :param names: services of the windows, separated by commas.
    :param joints: their names, as JSON.
    :param targets: see :func:`requests`, as JSON.
    """
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
        late = time.monotonic() - start
        if late > 0.0:
            raise SystemExit(f'{late:.1f} s late: the machine is too busy')
        counts = []
        for k, name in enumerate(services):
            time.sleep(max(0.0, start + k * (length + PAUSE) - time.monotonic()))
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
    end = time.monotonic() + length
    answers = [0] * len(clients)

    def send(k: int) -> None:
        future = clients[k].call_async(messages[(7 * k + answers[k]) % len(messages)])
        future.add_done_callback(lambda _: arrived(k))

    def arrived(k: int) -> None:
        if time.monotonic() < end:
            answers[k] += 1
            send(k)

    for k in range(len(clients)):
        send(k)
    time.sleep(max(0.0, end - time.monotonic()))
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
    main()
