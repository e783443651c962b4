"""Action ``GripperCommand`` of a simulated hand, as a gripper_action_controller offers it."""

from __future__ import annotations

import math
import time

from control_msgs.action import GripperCommand
from rclpy.action.server import ServerGoalHandle
from rclpy.node import Node

from ik_service.arm.hands import gripper_joints, hands_of
from ik_service.exceptions import IkServiceError
from ik_service.robot import Robot
from ik_service.ros.common.deferred_action_server import DeferredActionServer
from ik_service.sim.real_time_simulation import RealTimeSimulation

_PERIOD = 0.05  # between two looks at the hand [s]

_REACHED = 1e-3
"""Distance from the goal at which it is reached [m] or [rad]."""

_STALLED_SPEED, _STALLED_TIME = 1e-3, 1.0
"""A hand that is slower than this [m/s] or [rad/s] for so long [s] has stalled."""


class GripperAction:
    """
    Action that opens and closes the first hand of a simulated robot that has one joint.

    A goal replaces the one before, which is aborted, as one is whose hand stalls before it gets
    there. The effort of a goal is not limited. To be used from the thread that spins the node.

    :param node: the node of the simulated arm.
    :param name: name of the action; empty for none.
    :param simulation: the simulation.
    """

    def __init__(self, node: Node, name: str, simulation: RealTimeSimulation) -> None:
        self._node, self._name, self._simulation = node, name, simulation
        self._server: DeferredActionServer | None = None
        self._joint = ''
        self._goal: ServerGoalHandle | None = None
        self._moved_at = 0.0

    def take(self, robot: Robot) -> None:
        """
        Take another robot; the action is offered from the first one with a hand on.

        :param robot: the robot.
        """
        self._joint = gripper_joint(robot)
        if self._joint and self._name and self._server is None:
            self._server = DeferredActionServer(
                self._node, GripperCommand, self._name, self._begin, self._cancel, None
            )
            self._node.create_timer(_PERIOD, self._attend)

    def _begin(self, handle: ServerGoalHandle) -> None:
        if self._goal is not None:
            self._finish(self._goal, 'a newer goal replaces it')
        position = handle.request.command.position
        if not self._joint:
            self._finish(handle, 'the robot has no hand any more')
        elif not math.isfinite(position):
            self._finish(handle, f'command.position is {position}; a finite number is right')
        else:
            self._goal, self._moved_at = handle, time.monotonic()
            self._command(position)

    def _cancel(self, handle: ServerGoalHandle) -> bool:
        return handle is self._goal

    def _attend(self) -> None:
        """Give feedback on the goal, and end it when that is due."""
        goal, arm, now = self._goal, self._simulation.arm, time.monotonic()
        if goal is None:
            return
        if arm is None or self._joint not in arm.joint_names:
            self._finish(goal, 'the robot was replaced by one without this hand')
            return
        joint = arm.joint_names.index(self._joint)
        position, speed = float(arm.positions[joint]), abs(float(arm.velocities[joint]))
        effort = 0.0 if arm.efforts is None else float(arm.efforts[joint])
        if speed > _STALLED_SPEED:
            self._moved_at = now
        state = {
            'position': position,
            'effort': effort,
            'stalled': now - self._moved_at > _STALLED_TIME,
            'reached_goal': abs(position - goal.request.command.position) < _REACHED,
        }
        goal.publish_feedback(GripperCommand.Feedback(**state))
        if goal.is_cancel_requested:
            self._command(position)
            self._finish(goal, '', **state)
        elif state['reached_goal']:
            self._finish(goal, '', **state)
        elif state['stalled']:
            self._finish(goal, f'{self._joint} has stalled at {position:.4f}', **state)

    def _command(self, position: float) -> None:
        self._simulation.command(([self._joint], [position], []), time.monotonic())

    def _finish(self, goal: ServerGoalHandle, fault: str, **state: float) -> None:
        """End a goal; with a fault, which is logged, it is aborted."""
        assert self._server is not None
        if goal is self._goal:
            self._goal = None
        if fault:
            end = goal.abort
            self._node.get_logger().warning(f'{self._name}: {fault}')
        else:
            end = goal.canceled if goal.is_cancel_requested else goal.succeed
        self._server.finish(goal, end, GripperCommand.Result(**state))


def gripper_joint(robot: Robot) -> str:
    """
    Return the joint that opens and closes the first hand with one joint; empty for no such hand.

    :param robot: the robot.
    """
    try:
        hands = hands_of(robot, robot.chain().joint_names)
    except IkServiceError:  # a robot without an arm
        return ''
    return next(iter(gripper_joints(hands).values()), '')
