"""The simulated arm on the ROS graph."""

from __future__ import annotations

import array
from collections.abc import Mapping, Sequence
import os
import time

from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from ik_service.exceptions import IkServiceError, OptionError
from ik_service.model.robot import Robot
from ik_service.ros.complaint import Complaint
from ik_service.ros.position_list import parse_positions
from ik_service.ros.qos import COMMAND_QOS, DESCRIPTION_QOS
from ik_service.ros.simulated_arm import SimulatedArm

_LONGEST_STEP = 0.1
"""What is simulated at once, at most [s]: after the process was suspended nothing leaps."""


class SimulatedArmNode(Node):
    """
    Takes ``joint_command`` or ``joint_trajectory``, and publishes ``joint_states``.

    All movable joints of the robot are published, mimic joints among them. The description comes
    from the parameter ``urdf`` or ``robot_description``, or else from the topic of that name; when
    the topic brings another one, joints of the same names stay where they are. A command that
    cannot be understood is ignored as a whole, and that is said once.

    :raises IkServiceError: the parameters describe no arm.
    """

    def __init__(self) -> None:
        super().__init__('ik_sim')
        urdf = self._declare('urdf', '', 'Path of the URDF file; wins over robot_description')
        text = self._declare(
            'robot_description', '', 'The URDF as text; empty: from the topic of that name'
        )
        rate = self._declare('rate', 100.0, 'Joint states a second [Hz]', (1.0, 500.0))
        self._time_constant = self._declare(
            'time_constant', 0.05, 'Of the approach to a command, first order [s]', (0.0, 10.0)
        )
        positions = self._declare(
            'initial_positions',
            '',
            "Where joints start [rad or m], such as 'joint_1=0.5, joint_2=-1'; the others start "
            'in the middle of their limits',
        )
        self._initial = parse_positions(positions, 'initial_positions')
        self._arm: SimulatedArm | None = None
        self._urdf = ''
        self._complaint = Complaint(self.get_logger().warning)
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self.create_subscription(JointState, 'joint_command', self._on_command, COMMAND_QOS)
        self.create_subscription(
            JointTrajectory, 'joint_trajectory', self._on_trajectory, COMMAND_QOS
        )
        if urdf or text:
            self._start(os.path.expanduser(urdf) or text, self._initial)
        else:
            self.create_subscription(
                String, 'robot_description', self._on_description, DESCRIPTION_QOS
            )
            self.get_logger().info('waiting for a robot on the topic robot_description')
        self._now = time.monotonic()
        self.create_timer(1.0 / rate, self._on_timer)

    def _declare(
        self,
        name: str,
        default: str | float,
        description: str,
        bounds: tuple[float, float] | None = None,
    ) -> str | float:
        descriptor = ParameterDescriptor(description=description, read_only=True)
        if bounds is not None:
            low, high = bounds
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        try:
            return self.declare_parameter(name, default, descriptor).value
        except InvalidParameterTypeException as error:
            wanted = 'text' if isinstance(default, str) else 'a number with a decimal point'
            raise OptionError(name, f'has to be {wanted}; {error}') from error
        except InvalidParameterValueException as error:
            raise OptionError(name, str(error)) from error

    def _start(self, urdf: str, positions: Mapping[str, float]) -> None:
        robot = Robot.from_urdf(urdf)
        self._arm = SimulatedArm(robot, positions, self._time_constant)
        self.get_logger().info(
            f'ready: {robot.name or "the robot"} with {len(self._arm.joint_names)} joints'
        )

    def _on_description(self, message: String) -> None:
        if message.data == self._urdf:
            return
        self._urdf = message.data
        positions = dict(self._initial)
        try:
            if self._arm is not None:
                names = Robot.from_urdf(message.data).movable_joint_names
                now = zip(self._arm.joint_names, self._arm.positions.tolist(), strict=True)
                positions = {name: position for name, position in now if name in names}
            self._start(message.data, positions)
        except IkServiceError as error:
            self.get_logger().error(f'robot_description is ignored: {error}')

    def _on_command(self, message: JointState) -> None:
        if not message.position and not message.name:
            return
        self._command(message.name, message.position)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        """Go where a trajectory ends; when it shall be there is not looked at."""
        if message.points:
            self._command(message.joint_names, message.points[-1].positions)

    def _command(self, names: Sequence[str], positions: Sequence[float]) -> None:
        if self._arm is None:
            return
        try:
            self._arm.command(names, positions)
        except IkServiceError as error:
            self._complaint.about(f'a command is ignored: {error}')
        else:
            self._complaint.settle()

    def _on_timer(self) -> None:
        before, self._now = self._now, time.monotonic()
        if self._arm is None:
            return
        self._arm.step(min(self._now - before, _LONGEST_STEP))
        message = JointState(
            name=self._arm.joint_names,
            position=array.array('d', self._arm.positions.tobytes()),
            velocity=array.array('d', self._arm.velocities.tobytes()),
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._states.publish(message)
