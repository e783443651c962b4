"""
Arms that are where they are commanded to be, and targets that move: what surrounds a cell.

One process with as little work as possible: commands are passed on as joint states without being
unpacked, but with the time in their stamps; the times of commands are those at which the nodes
published them. It runs until its standard input ends: ``clear`` there forgets the times so far,
``report`` prints them as a line of JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import json
import math
import struct
import sys
import time

from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from ik_service.ros.common.runtime import ros, spinning_node

TARGET_RATE = 25.0  # [Hz]
_STAMP, _STAMP_AT = struct.Struct('<iI'), 4  # in a message as it is sent
RADIUS, TURN = 0.06, 4.0  # of the circles of the targets [m], time of a turn [s]


class ObedientArm:
    """
    Arm that is where it was last commanded to be, and the target that it follows.

    :param arm: its joints, where they start, its root link as ``frame``, and the pose of the tip
        there: position [m] and quaternion (x, y, z, w).
    """

    def __init__(self, node: Node, name: str, arm: Mapping[str, Sequence]) -> None:
        self.times: list[int] = []
        self.late: list[int] = []
        self._home, self._frame = arm['pose'], arm['frame']
        state = JointState(name=list(arm['joints']), position=list(arm['start']))
        self._state = serialize_message(state)
        self._first = np.array(arm['start'])
        self._states = node.create_publisher(
            JointState, f'{name}/joint_states', qos_profile_sensor_data
        )
        self._targets = node.create_publisher(PoseStamped, f'{name}/target_pose', 1)
        node.create_subscription(JointState, f'{name}/joint_command', self._obey, 10, raw=True)

    def _obey(self, message: bytes, info: Mapping[str, int]) -> None:
        self._state = message
        self.times.append(info['source_timestamp'])
        self.late.append(info['received_timestamp'] - info['source_timestamp'])

    def publish_state(self) -> None:
        """Publish where it is now."""
        state = bytearray(self._state)
        _STAMP.pack_into(state, _STAMP_AT, *divmod(time.time_ns(), 10**9))
        self._states.publish(bytes(state))

    def publish_target(self, now: float, phase: float) -> None:
        """Publish where the target is: on a circle around the place where the arm started."""
        angle = 2.0 * math.pi * (now / TURN + phase)
        message = PoseStamped()
        at, turn = message.pose.position, message.pose.orientation
        x, y, z, turn.x, turn.y, turn.z, turn.w = self._home
        at.x, at.y, at.z = x, y + RADIUS * math.cos(angle), z + RADIUS * math.sin(angle)
        message.header.frame_id = self._frame
        self._targets.publish(message)

    @property
    def moved(self) -> float:
        """How far a joint is from where it started [rad]."""
        position = np.array(deserialize_message(self._state, JointState).position)
        return float(np.abs(position - self._first).max()) if len(position) else 0.0


def main() -> None:
    """Run the arms; the command line is one JSON text: arms by namespace."""
    arms_text = json.loads(sys.argv[1])
    with ros([]), spinning_node(node := Node('cell_arms')):
        arms = [ObedientArm(node, name, arm) for name, arm in arms_text.items()]
        node.create_timer(0.01, lambda: [arm.publish_state() for arm in arms])

        def publish_targets() -> None:
            now = time.monotonic()
            for i, arm in enumerate(arms):
                arm.publish_target(now, i / len(arms))

        node.create_timer(1.0 / TARGET_RATE, publish_targets)
        for line in sys.stdin:
            if line.strip() == 'clear':
                for arm in arms:
                    arm.times.clear()
                    arm.late.clear()
            if line.strip() == 'report':
                found = {
                    name: {'times': arm.times[:], 'late': arm.late[:], 'moved': arm.moved}
                    for name, arm in zip(arms_text, arms, strict=True)
                }
                print(json.dumps(found), flush=True)


if __name__ == '__main__':
    main()
