"""Client of one arm for ``two_hosts.py``: calls compute_ik, then lets the arm follow a circle."""

from __future__ import annotations

import json
import sys
import threading
import time

from cell_arms import ObedientArm, TARGET_RATE
from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.node import Node

from ik_service.ros.common.runtime import ros, spinning_node

_PATIENCE = 5.0  # with an answer [s]


class WatchedArm(ObedientArm):
    """Arm that notes when commands arrive here."""

    def __init__(self, *arguments: object) -> None:
        self.arrivals: list[float] = []
        super().__init__(*arguments)

    def _obey(self, message: bytes, info: dict[str, int]) -> None:
        self.arrivals.append(time.monotonic())
        super()._obey(message, info)


def main() -> None:
    """Measure and print JSON; the command line: the arm, number of calls, seconds of following."""
    ((name, arm),) = json.loads(sys.argv[1]).items()
    count, seconds = int(sys.argv[2]), float(sys.argv[3])
    began = time.monotonic()
    with ros([]), spinning_node(node := Node('client')):
        watched = WatchedArm(node, name, arm)
        client = node.create_client(GetPositionIK, f'{name}/compute_ik')
        node.create_timer(0.01, watched.publish_state)
        client.wait_for_service()
        found = time.monotonic() - began
        calls, lost = _calls(client, _request(arm), count)
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
    main()
