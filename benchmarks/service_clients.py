"""
Clients that call a service in a loop, for measurements of throughput.

Several of these programs run at the same time. Which service they call when follows from the clock
alone: windows of the same length, one after the other, from a given moment.
"""

from __future__ import annotations

from collections.abc import Sequence
import json
import sys
import time

from moveit_msgs.srv import GetPositionIK
import numpy as np
from rclpy.client import Client
from rclpy.node import Node

from ik_service.ros.common.runtime import ros, spinning_node

PAUSE = 0.3
"""Between two windows [s]: what is under way has to come in."""


def main() -> None:
    """
    Call, and print how many answers came in each window, as JSON.

    The command line: number of clients, start on the monotonic clock [s], length of a window [s],
    services of the windows separated by commas, joint names as JSON, targets as JSON.
    """
    clients, start, length = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    services = sys.argv[4].split(',')
    messages = requests(json.loads(sys.argv[5]), np.array(json.loads(sys.argv[6])))
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


if __name__ == '__main__':
    main()
