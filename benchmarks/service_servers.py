"""Servers for comparison with compute_ik: they respond at once, in plain rclpy."""

from __future__ import annotations

import json
import sys

from moveit_msgs.msg import MoveItErrorCodes
from moveit_msgs.srv import GetPositionIK
import rclpy
from rclpy.node import Node
from std_srvs.srv import Trigger


def main() -> None:
    """
    Serve until a signal comes.

    The command line names the kind, and for the echo the joints of its answer as JSON.
    """
    kind, joints = sys.argv[1], sys.argv[2]
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
