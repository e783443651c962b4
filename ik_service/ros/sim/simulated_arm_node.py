"""ROS node of the simulated arm, with its parameters: commands in, joint states out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
import math
import time
from typing import Any, TypeVar, Unpack

from control_msgs.action import GripperCommand
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rcl_interfaces.msg import SetParametersResult
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from trajectory_msgs.msg import JointTrajectory as Message

from ik_service.arm.arm import gripper_joints, hands_of
from ik_service.arm.loader import read_robot, Source, source_of
from ik_service.common.arguments import parse_positions
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.periodic_calls import PeriodicCall
from ik_service.exceptions import IkServiceError, TrajectoryError
from ik_service.model.package_folders import parse_package_dirs
from ik_service.model.xacro_file import parse_xacro_args
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.robot import Robot
from ik_service.ros.capabilities.trajectory_goals import trajectory_from
from ik_service.ros.common.actions import DeferredActionServer, NodeOptions, NodeWithActions
from ik_service.ros.common.publishers import publishers_of
from ik_service.ros.common.qos import COMMAND_QOS, DESCRIPTION_QOS
from ik_service.ros.common.runtime import know_callers
from ik_service.ros.motion.command_channels import number_array
from ik_service.ros.parameters.parameter_declaration import (
    after_fields,
    declare_parameters,
    of_field,
    ParameterSpec,
    Value,
)
from ik_service.ros.parameters.parameter_services import ParameterServices
from ik_service.sim.real_time_simulation import (
    ArmState,
    FaultSettings,
    JointCommand,
    RealTimeSimulation,
)
from ik_service.sim.simulated_arm import check_start, DEFAULT_ENGINE, ENGINES, SimulatedArm

_PREFIX = 'faults.'

URDF = ParameterSpec(
    'urdf', '', 'Path of a URDF or xacro file; wins over robot_description', read_only=True
)
ROBOT_DESCRIPTION = ParameterSpec(
    'robot_description',
    '',
    'URDF or xacro text; empty: from the topic of that name, where xacro is refused',
    read_only=True,
)
XACRO_ARGS = ParameterSpec(
    'xacro_args',
    '',
    "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
    read_only=True,
)
PACKAGE_DIRS = ParameterSpec(
    'package_dirs',
    '',
    "Folders in which more packages lie, for xacro files, with ':' between them",
    read_only=True,
)
ENGINE = ParameterSpec(
    'engine',
    DEFAULT_ENGINE,
    'first_order: kinematics without mass; mujoco: physics, needs the extra sim',
    choices=ENGINES,
    read_only=True,
)
IK_NODE = ParameterSpec(
    'ik_node',
    'ik_service',
    'Name of the IK node, which drops its target at ~/reset',
    read_only=True,
)
GRIPPER_ACTION = ParameterSpec(
    'gripper_action',
    'gripper_action_controller/gripper_cmd',
    'Action (control_msgs/GripperCommand) of the first hand with one joint; empty: none',
    read_only=True,
)
RATE = ParameterSpec('rate', 100.0, 'Joint states a second [Hz]', (1.0, 500.0), read_only=True)
TIME_CONSTANT = ParameterSpec(
    'time_constant',
    0.05,
    'Time constant of the first-order approach to a command [s]; with the engine mujoco, to the '
    'set-points of the drives',
    (0.0, 10.0),
    read_only=True,
)
GRAVITY_COMPENSATION = ParameterSpec(
    'gravity_compensation',
    1.0,
    'Share of the gravity torques that the drives compensate; engine mujoco only',
    (0.0, 1.0),
    read_only=True,
)
INITIAL_POSITIONS = ParameterSpec(
    'initial_positions',
    '',
    "Where joints start [rad or m], within their limits, such as 'joint_1=0.5, joint_2=-1'; the "
    'others start in the middle of them',
    read_only=True,
)

_FIXED = (
    URDF,
    ROBOT_DESCRIPTION,
    XACRO_ARGS,
    PACKAGE_DIRS,
    ENGINE,
    IK_NODE,
    GRIPPER_ACTION,
    RATE,
    TIME_CONSTANT,
    GRAVITY_COMPENSATION,
    INITIAL_POSITIONS,
)


_FAULTS = after_fields(
    FaultSettings,
    {
        'lost_commands': of_field('Share of the commands that never arrive', (0.0, 1.0)),
        'lost_states': of_field('Share of the joint states that are never sent', (0.0, 1.0)),
        'command_delay': of_field('By how much commands come late [s]', (0.0, 2.0)),
        'state_delay': of_field('By how much joint states come late [s]', (0.0, 2.0)),
        'stuck_joint': of_field('A joint that does not move; empty: none'),
        'noise': of_field(
            'Standard deviation of the error of measured positions [rad or m]', (0.0, 0.1)
        ),
        'seed': of_field('Seed of the random numbers; a new one starts them anew', (0, 2**31 - 1)),
    },
    _PREFIX,
)
"""Faults, which may be changed at any time."""


T = TypeVar('T', bound=Value)


class SimParameters:
    """
    Parameters of a simulated arm's node, and the faults they ask for.

    :param apply: called with changed faults before they are accepted; raising an
        :class:`~ik_service.exceptions.IkServiceError` refuses them, with the reason.
    :ivar initial_positions: where joints start [rad] or [m], by name.
    :raises IkServiceError: a parameter has a value that it cannot have.
    """

    def __init__(self, node: Node, apply: Callable[[FaultSettings], object]) -> None:
        self._values = declare_parameters(node, (*_FIXED, *_FAULTS))
        self.initial_positions = parse_positions(self[INITIAL_POSITIONS], INITIAL_POSITIONS.name)
        # ROS enforces the types.
        faults: dict[str, Any] = {spec.field: self._values[spec] for spec in _FAULTS}
        self.faults = FaultSettings(**faults)
        self._apply = apply
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, spec: ParameterSpec[T]) -> T:
        """Return the value of a read-only parameter."""
        return self._values[spec]

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changed = {
            parameter.name.removeprefix(_PREFIX): parameter.value
            for parameter in parameters
            if parameter.name.startswith(_PREFIX)
        }
        if not changed:
            return SetParametersResult(successful=True)
        try:
            faults = FaultSettings(**{**vars(self.faults), **changed})
            self._apply(faults)
        except IkServiceError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.faults = faults
        return SetParametersResult(successful=True)


_PERIOD = 0.05  # between two checks of the hand [s]

_REACHED = 1e-3  # distance from the goal at which it is reached [m] or [rad]

_STALLED_SPEED, _STALLED_TIME = 1e-3, 1.0
"""A hand that is slower than this [m/s] or [rad/s] for so long [s], simulated, has stalled."""


class GripperAction:
    """
    Action that opens and closes the first hand of a simulated robot that has one joint.

    A goal replaces the one before, which is aborted, as one is whose hand stalls before it gets
    there. The effort of a goal is not limited. To be used from the thread that spins the node.

    :param name: name of the action; empty for none.
    """

    def __init__(self, node: Node, name: str, simulation: RealTimeSimulation) -> None:
        self._node, self._name, self._simulation = node, name, simulation
        self._server: DeferredActionServer | None = None
        self._joint = ''
        self._goal: ServerGoalHandle | None = None
        self._moved_at = 0.0

    def take(self, robot: Robot) -> None:
        """Take another robot; the action is offered from the first one with a hand on."""
        self._joint = gripper_joint(robot)
        if self._joint and self._name and self._server is None:
            self._server = DeferredActionServer(
                self._node, GripperCommand, self._name, self._begin, self._cancel, None
            )
            self._timer = self._node.create_timer(_PERIOD, self._attend)

    def _begin(self, handle: ServerGoalHandle) -> None:
        if self._goal is not None:
            self._finish(self._goal, 'a newer goal replaces it')
        position = handle.request.command.position
        if not self._joint:
            self._finish(handle, 'the robot has no hand any more')
        elif not math.isfinite(position):
            self._finish(handle, f'command.position is {position}; a finite number is right')
        else:
            self._goal, self._moved_at = handle, self._simulation.real_time.simulated
            self._timer.reset()
            self._command(position)

    def _cancel(self, handle: ServerGoalHandle) -> bool:
        return handle is self._goal

    def _attend(self) -> None:
        """Give feedback on the goal, and end it when that is due."""
        goal, arm, now = self._goal, self._simulation.arm, self._simulation.real_time.simulated
        if goal is None:
            self._timer.cancel()  # until the next goal
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
        command: JointCommand = [self._joint], [position], []
        self._simulation.command(command, time.monotonic(), streamed=False)

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
    """Return the joint of the first hand that has one joint; empty for no such hand."""
    try:
        hands = hands_of(robot, robot.chain().joint_names)
    except IkServiceError:  # a robot without an arm
        return ''
    return next(iter(gripper_joints(hands).values()), '')


_SLOW = 0.9  # real-time factor below which the simulation is too slow

_PATIENCE = 2
"""Slow reports in a row before that is logged; starting programs make the first ones slow."""


class SimulationDiagnostics:
    """Diagnostics of how fast the simulated time runs, and of the injected faults."""

    def __init__(self, node: Node, engine: str, simulation: RealTimeSimulation) -> None:
        self._node = node
        self._engine = engine
        self._simulation = simulation
        self._slow_reports = 0
        self._factor_logged = False
        self._slow = FaultLogger(node.get_logger().warning)
        self._namesakes = FaultLogger(node.get_logger().warning)
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish(self, breakdown: str) -> None:
        """Publish the state of the simulation once a second, with its last breakdown."""
        factor, load = self._simulation.real_time.measure(time.monotonic())
        if self._simulation.arm is None:
            return
        paused = self._simulation.paused
        slow = factor < _SLOW and not paused
        if not paused:
            self._log(factor, load, slow)
        message = 'the time stands still' if paused else f'running at {factor:.2f} of real time'
        values = {
            'engine': self._engine,
            'real-time factor': f'{factor:.3f}',
            'share of time spent computing': f'{load:.3f}',
            'simulated time [s]': f'{self._simulation.real_time.simulated:.3f}',
            'faults on request': str(self._simulation.faults),
            'last break-down': breakdown or 'none',
        }
        status = DiagnosticStatus(
            level=DiagnosticStatus.WARN if slow else DiagnosticStatus.OK,
            name=f'{self._node.get_name()}: simulation',
            message=message,
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(array)
        self._look_for_namesakes()

    def _look_for_namesakes(self) -> None:
        name = self._node.get_fully_qualified_name()
        if publishers_of(self._node, 'joint_states').count(name) > 1:
            self._namesakes.report(
                f'another {name} publishes joint_states and takes the same commands, or was '
                'killed in the last 20 s: end one of them, or put it into a namespace'
            )
        else:
            self._namesakes.clear()

    def _log(self, factor: float, load: float, slow: bool) -> None:
        self._slow_reports = self._slow_reports + 1 if slow else 0
        if self._slow_reports >= _PATIENCE:
            self._slow.report(f'the simulation is too slow: {factor:.2f} of real time', 'slow')
        elif not slow:
            self._slow.clear()
            if not self._factor_logged:
                self._factor_logged = True
                self._node.get_logger().info(
                    f'real-time factor {factor:.2f}, computing {100 * load:.1f} % of the time'
                )


@dataclass(frozen=True)
class PlayedTrajectory:
    """Trajectory, and when it begins on the monotonic clock [s]."""

    trajectory: JointTrajectory
    start: float

    @classmethod
    def of(cls, message: Message, stamped_now: int, now: float) -> PlayedTrajectory:
        """
        Return the trajectory of a message.

        :param message: the message; a stamp of 0 means "now".
        :param stamped_now: present time of the ROS graph [ns].
        :param now: present time on the monotonic clock [s].
        :raises TrajectoryError: it is none.
        """
        stamp = message.header.stamp
        stamped = stamp.sec * 10**9 + stamp.nanosec
        ahead = 1e-9 * (stamped - stamped_now) if stamped else 0.0
        return cls(trajectory_from(message), now + ahead)

    def command(self, now: float) -> JointCommand:
        """Return the command of a moment: names, positions and velocities."""
        q, velocity, _ = self.trajectory.at(now - self.start)
        return self.trajectory.joint_names, q.tolist(), velocity.tolist()

    def has_ended(self, now: float) -> bool:
        """Return whether nothing changes any more."""
        return now - self.start > self.trajectory.duration


_REPORT_PERIOD = 1.0  # [s]


class SimulatedArmNode(NodeWithActions):
    """
    Node that takes ``joint_command`` or ``joint_trajectory`` and publishes ``joint_states``.

    All movable joints of the robot are published, mimic joints among them. The description comes
    from the parameter ``urdf`` or ``robot_description``, or else from the topic of that name; when
    the topic brings another one, joints of the same names stay where they are. A command that
    cannot be understood is ignored as a whole, and logged.

    ``~/reset`` puts the arm where it started, and lets the IK node drop its target; ``~/pause``
    stops the simulated time. The parameters ``faults.*`` inject faults, see
    :class:`~ik_service.sim.real_time_simulation.FaultSettings`.

    :param node_options: passed on to :class:`rclpy.node.Node`, such as ``namespace``.
    :ivar streams: callback group of the commands.
    :raises IkServiceError: the parameters describe no arm.
    """

    def __init__(self, **node_options: Unpack[NodeOptions]) -> None:
        know_callers()
        super().__init__('ik_sim', start_parameter_services=False, **node_options)
        self._settings = SimParameters(self, self._apply_faults)
        ParameterServices(self)
        self._urdf = ''
        self._played: PlayedTrajectory | None = None
        log = self.get_logger()
        # Separate functions, because rclpy wants one severity from each place in the code.
        self._break_downs = FaultLogger(lambda text: log.error(text))
        self._bad_commands = FaultLogger(
            lambda text: log.warning(text), recovered='commands are understood again'
        )
        self._simulation = RealTimeSimulation(
            self._settings.faults,
            self._bad_commands,
            self._break_downs,
            1.0 / self._settings[RATE],
        )
        self._diagnostics = SimulationDiagnostics(self, self._settings[ENGINE], self._simulation)
        self._gripper = GripperAction(self, self._settings[GRIPPER_ACTION], self._simulation)
        self._states = self.create_publisher(JointState, 'joint_states', 10)
        self._take_description()
        self.streams = MutuallyExclusiveCallbackGroup()
        for kind, topic, take in (
            (JointState, 'joint_command', self._on_command),
            (Message, 'joint_trajectory', self._on_trajectory),
        ):
            self.create_subscription(kind, topic, take, COMMAND_QOS, callback_group=self.streams)
        self._stop = self.create_client(Trigger, f'{self._settings[IK_NODE]}/stop')
        self.create_service(Trigger, '~/reset', self._on_reset)
        self.create_service(SetBool, '~/pause', self._on_pause)
        self.create_timer(
            _REPORT_PERIOD, lambda: self._diagnostics.publish(self._break_downs.last)
        )

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the simulation in a thread, for a ``with`` block; spin the node meanwhile."""
        with PeriodicCall(self._on_tick, self._settings[RATE], self._on_error):
            yield

    # The robot

    def _take_description(self) -> None:
        urdf, text = self._settings[URDF], self._settings[ROBOT_DESCRIPTION]
        if urdf or text:
            self._start(source_of(urdf, text), own=True)
            return
        self.create_subscription(
            String, 'robot_description', self._on_description, DESCRIPTION_QOS
        )
        self.get_logger().info('waiting for a robot on the topic robot_description')

    def _start(
        self, source: Source, positions: Mapping[str, float] | None = None, own: bool = False
    ) -> None:
        """Simulate a robot, from the positions given or else from those of the parameter."""
        settings = self._settings
        arguments = parse_xacro_args(settings[XACRO_ARGS], XACRO_ARGS.name)
        folders = parse_package_dirs(settings[PACKAGE_DIRS])
        robot = read_robot(source, True, arguments, own, folders)
        if positions is None:
            positions = settings.initial_positions
            check_start(robot, positions, INITIAL_POSITIONS.name)
        engine = settings[ENGINE]
        arm = SimulatedArm(
            robot, positions, settings[TIME_CONSTANT], engine, settings[GRAVITY_COMPENSATION]
        )
        self._simulation.set_arm(arm)
        self._gripper.take(robot)
        for remark in arm.engine.remarks:
            self.get_logger().info(remark)
        name, count = robot.name or 'the robot', len(arm.joint_names)
        self.get_logger().info(f'ready: {name} with {count} joints, engine {engine}')

    def _on_description(self, message: String) -> None:
        if message.data == self._urdf:
            return
        self._urdf = message.data
        positions, arm = None, self._simulation.arm
        try:
            if arm is not None:
                names = read_robot(message.data).movable_joint_names
                now = zip(arm.joint_names, arm.positions.tolist(), strict=True)
                positions = {name: position for name, position in now if name in names}
            self._start(message.data, positions)
        except IkServiceError as error:
            self.get_logger().error(f'robot_description is ignored: {error}')

    # Subscriptions and services

    def _on_command(self, message: JointState) -> None:
        if message.position or message.name:
            self._played = None
            command = message.name, message.position, message.velocity
            self._simulation.command(command, time.monotonic())

    def _on_trajectory(self, message: Message) -> None:
        """Play a trajectory from now on, instead of the one before."""
        now = self.get_clock().now().nanoseconds
        try:
            self._played = PlayedTrajectory.of(message, now, time.monotonic())
        except TrajectoryError as error:
            self._bad_commands.report(f'a command is ignored: {error}')

    def _on_reset(self, _: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        if self._stop.service_is_ready():  # or the node would fetch the arm back
            self._stop.call_async(Trigger.Request())
        self._played = None
        answer.success = self._simulation.reset(time.monotonic())
        answer.message = (
            'the arm is where it started' if answer.success else 'there is no robot yet'
        )
        return answer

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        self._simulation.paused = request.data
        answer.success = True
        answer.message = 'the time stands still' if request.data else 'the time goes on'
        return answer

    def _apply_faults(self, faults: FaultSettings) -> None:
        self._simulation.set_faults(faults)
        self.get_logger().info(f'faults on request: {faults}')

    # Periodic calls

    def _on_tick(self, now: float) -> None:
        stamp = self.get_clock().now().to_msg()
        played = self._played
        if played is not None:
            self._simulation.command(played.command(now), now)
            if played.has_ended(now):
                self._played = None
        for state in self._simulation.advance(now, stamp):
            self._states.publish(_message(state))

    def _on_error(self, error: Exception) -> None:
        self.get_logger().error(
            f'error in the simulation: {type(error).__name__}: {error}', throttle_duration_sec=5.0
        )


def _message(state: ArmState) -> JointState:
    message = JointState(
        name=state.names,
        position=number_array(state.positions),
        velocity=number_array(state.velocities),
        effort=number_array(() if state.efforts is None else state.efforts),
    )
    message.header.stamp = state.stamp
    return message
