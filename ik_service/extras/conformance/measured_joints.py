"""Measured joint positions of the arm, from ``joint_states``."""

from __future__ import annotations

import threading
import time

from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.names import JOINT_STATES
from ik_service.extras.conformance.subject import Posture


class MeasuredJoints:
    """
    Measured joint positions; those of several publishers are put together.

    :param node: the node that listens; it spins in another thread.
    :param arm: the arm.
    """

    def __init__(self, node: Node, arm: TestedArm) -> None:
        self._arm = arm
        self._positions: dict[str, float] = {}
        self._news = threading.Condition()
        node.create_subscription(JointState, JOINT_STATES, self._on_state, qos_profile_sensor_data)

    def wait(self, patience: float) -> bool:
        """
        Wait until every joint of the arm is measured; return whether that is so in time.

        :param patience: how long to wait [s].
        """
        until = time.monotonic() + patience
        with self._news:
            while self.missing():
                if not self._news.wait(max(until - time.monotonic(), 0.0)):
                    return False
        return True

    def missing(self) -> list[str]:
        """Return the joints of the arm that no joint state has named."""
        return [name for name in self._arm.joint_names if name not in self._positions]

    def posture(self) -> Posture:
        """Return the latest positions; joints that are not measured stand next to 0."""
        with self._news:
            return self._arm.completed(self._positions)

    def _on_state(self, message: JointState) -> None:
        with self._news:
            self._positions.update(zip(message.name, message.position, strict=False))
            self._news.notify_all()
