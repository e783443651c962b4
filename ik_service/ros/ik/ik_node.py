"""The node: services, topics and parameters around an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import time
import traceback

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionFK, GetPositionIK
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ik_service.arm.arm import Arm, SolverSettings
from ik_service.arm.description import build_arm, source_of
from ik_service.arm.joint_state import MeasuredState
from ik_service.arm.loader import ArmLoader
from ik_service.common.fault_logger import FaultLogger, refusal_logger
from ik_service.common.periodic_thread import PeriodicThread
from ik_service.exceptions import IkServiceError
from ik_service.following.settings import FollowerSettings
from ik_service.ros.common.executors import partition
from ik_service.ros.common.parameter_services import ParameterServices
from ik_service.ros.common.qos import DESCRIPTION_QOS, SERVICE_QOS
from ik_service.ros.common.response_retry import answer_insistently
from ik_service.ros.common.runtime import spinning
from ik_service.ros.following.command_monitor import publishers_of
from ik_service.ros.following.command_publisher import CommandPublisher
from ik_service.ros.following.follower_interface import FollowerInterface, NodeContext
from ik_service.ros.following.stamps import queue_delay
from ik_service.ros.following.stop_services import StopServices
from ik_service.ros.ik.diagnostics import diagnostic_array
from ik_service.ros.ik.fk_handler import FkHandler
from ik_service.ros.ik.frames import tf_of
from ik_service.ros.ik.ik_handler import IkHandler
from ik_service.ros.ik.parameters import NodeParameters
from ik_service.ros.markers.arm_marker_publisher import ArmMarkerPublisher
from ik_service.solvers.compilation import Compiler

_THREADS = (3, 4, 1, 3)
"""Of services, changes of parameters (all but one may wait for a compiler), stops, the rest."""


class IkNode(Node):
    """
    Answers ``compute_ik`` and ``compute_fk``, and follows ``target_pose``.

    Before it has a robot description, and while the kernels for it are compiled, it offers no
    services. A new description replaces the arm once everything is built; a bad one is refused.

    :param node_options: passed on to :class:`rclpy.node.Node`, such as ``context``.
    :raises IkServiceError: a parameter has a value it cannot have.
    """

    def __init__(self, **node_options: object) -> None:
        super().__init__('ik_service', start_parameter_services=False, **node_options)
        self.parameters = NodeParameters(self)
        self._change_group = ReentrantCallbackGroup()
        ParameterServices(self, ReentrantCallbackGroup(), self._change_group)
        self._following: FollowerInterface | None = None
        self._received = ''
        self._refused = ''
        self._started_at = time.monotonic()
        self._commands = CommandPublisher(self, str(self.parameters['command_interface']))
        self._diagnostics = self.create_publisher(DiagnosticArray, 'diagnostics', 10)
        self._markers = ArmMarkerPublisher(self, lambda: self._following, self._on_error)
        self._service_group = ReentrantCallbackGroup()
        self._stop = StopServices(self, lambda: self._following)
        self._tf = tf_of(self)
        self._around = NodeContext(
            lambda: self.get_clock().now().nanoseconds,
            lambda: publishers_of(self, 'joint_states'),
            self._commands.monitor,
            self._tf,
        )
        self._errors = FaultLogger(lambda text: self.get_logger().error(text))
        answering = (self._measured, self._now, self._tf, self._on_error)
        warn = self.get_logger().warning
        told = refusal_logger('compute_ik', warn)
        self._ik = IkHandler(lambda: self.parameters.solver, *answering, told)
        self._fk = FkHandler(*answering, refusal_logger('compute_fk', warn))
        self._ticker = PeriodicThread(self._tick, self.parameters.follower.rate, self._on_error)
        self._compiler = Compiler(warn)
        self._loader = ArmLoader(lambda: self.parameters.solver, self._on_loaded, self._on_refused)
        # Each with threads of its own: a stop, for example, waits for no solve.
        apart = (self._service_group, self._change_group, self._stop.group)
        self._executors = partition(self, *apart)
        self.parameters.when_changed(self._apply, self._prepare)
        answer_insistently(self)

    def start(self) -> None:
        """
        Take the robot description, or wait for it, and subscribe to everything.

        :raises IkServiceError: the description that the parameters give makes no arm.
        """
        self._subscribe()
        urdf, text = str(self.parameters['urdf']), str(self.parameters['robot_description'])
        if urdf and text:
            self.get_logger().warning('both urdf and robot_description are given; urdf is used')
        if urdf or text:
            arm = build_arm(source_of(urdf, text), self.parameters.arm)
            self._loader.submit(lambda: arm)
        else:
            self.create_subscription(
                String, 'robot_description', self._on_description, DESCRIPTION_QOS
            )
        # Not by ROS time, which stands still in a paused simulation.
        self.create_timer(1.0, self._on_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._on_second()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve, for the time of a ``with`` block."""
        threads = [e for e, n in zip(self._executors, _THREADS, strict=True) for _ in range(n)]
        with spinning(*threads), self._ticker:
            try:
                yield
            finally:
                self._loader.end()
                if self._following is not None:  # to rest, while the ticker still ticks
                    self._following.end()
                self._compiler.end()
                self._markers.switch(False)

    def _subscribe(self) -> None:
        # Groups of their own: a target is solved for in its callback, and must not delay states.
        self.create_subscription(
            JointState,
            'joint_states',
            self._on_joint_states,
            qos_profile_sensor_data,
            callback_group=MutuallyExclusiveCallbackGroup(),
        )
        self.create_subscription(
            PoseStamped,
            'target_pose',
            self._on_target,
            1,  # an older target is of no use
            callback_group=MutuallyExclusiveCallbackGroup(),
        )

    # Callbacks

    def _on_joint_states(self, message: JointState, info: Mapping[str, int]) -> None:
        following = self._following
        if following is not None:
            following.on_joint_states(message, queue_delay(info))

    def _on_target(self, message: PoseStamped) -> None:
        following = self._following
        if following is not None:
            following.on_target(message)
        else:
            self.get_logger().warning(
                f'target_pose ignored: {self._waiting_for}', throttle_duration_sec=5.0
            )

    def _on_description(self, message: String) -> None:
        text = message.data
        if text != self._received:  # publishers that restart repeat themselves
            self._received = text
            self._loader.submit(lambda: build_arm(text, self.parameters.arm))

    def _on_second(self) -> None:
        following = self._following
        self._markers.switch(bool(self.parameters['publish_markers']))
        if following is not None:
            following.log_state()
        elif not self._refused:
            self.get_logger().info(self._waiting_for, throttle_duration_sec=10.0)
        self._diagnostics.publish(
            diagnostic_array(
                self.get_name(),
                self._now(),
                self._waiting_for,
                self._refused,
                following,
                {'compute_ik': self._ik.statistics, 'compute_fk': self._fk.statistics},
            )
        )

    def _tick(self, now: float) -> None:
        following = self._following
        if following is not None:
            following.tick(now)

    # In the loader's thread

    def _on_loaded(self, arm: Arm) -> None:
        old = self._following
        if old is not None:
            old.end()
        with self.parameters.lock:
            measured = MeasuredState(arm, old.measured if old else None)
            following = self._make_following(measured)
            following.forward_state()
            self._stop.replace(following, self._use)
        if old is None:
            self._advertise()
        self._announce(arm, first=old is None)

    def _use(self, following: FollowerInterface) -> None:
        self._following, self._refused = following, ''

    def _make_following(self, measured: MeasuredState) -> FollowerInterface:
        return FollowerInterface(
            measured,
            measured.arm.limb('', self.parameters.solver).solver,
            self.parameters.follower,
            self._commands,
            self.get_logger().warning,
            self._around,
        )

    def _announce(self, arm: Arm, first: bool) -> None:
        chain = arm.chain
        what = f'{arm.robot.name}, {chain.base_link} to {chain.tip_link}, {chain.n} joints'
        seconds = time.monotonic() - self._started_at
        if first:
            solver = self.parameters.solver.name
            text = f'ready after {seconds:.1f} s: {what}, {solver}'
        else:
            text = f'ready with the new robot description: {what}; not following any target'
        self.get_logger().info(text)
        immobile = self._following.follower.immobile_joints
        if immobile:
            self.get_logger().warning(
                f'not moved, because their velocity limit is 0: {", ".join(immobile)}'
            )

    def _on_refused(self, error: Exception) -> None:
        self._refused = str(error)
        if not isinstance(error, IkServiceError):
            self._on_error(error)
        self.get_logger().error(f'robot description refused: {error}')

    def _advertise(self) -> None:
        served = {'callback_group': self._service_group, 'qos_profile': SERVICE_QOS}
        self.create_service(GetPositionIK, 'compute_ik', self._ik.handle, **served)
        self.create_service(GetPositionFK, 'compute_fk', self._fk.handle, **served)
        answer_insistently(self)
        for executor in self._executors:
            executor.wake()

    # What the parts ask of the node

    def _prepare(self, solver: SolverSettings) -> None:
        """Compile what a changed solver needs, which may take half a minute."""
        following = self._following
        if following is not None and solver != self.parameters.solver:
            self._compiler.prepare(following.measured.arm.limb('', solver).solver)

    def _apply(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """Put changed parameters into force; raises what makes them impossible."""
        following = self._following
        if following is not None:
            limb = following.measured.arm.limb('', solver)
            if solver != self.parameters.solver:
                self._compiler.prepare(limb.solver)
            following.follower.configure(solver=limb.solver, **vars(follower))
        self._ticker.rate = follower.rate

    def _measured(self) -> MeasuredState:
        return self._following.measured

    def _now(self) -> object:
        return self.get_clock().now().to_msg()

    def _on_error(self, error: Exception) -> None:
        text = ''.join(traceback.format_exception(error))
        self._errors.report(f'error in the node, which goes on:\n{text}')

    @property
    def _waiting_for(self) -> str:
        if self._received or self.parameters['urdf'] or self.parameters['robot_description']:
            return 'compiling for the robot description'
        topic = self.resolve_topic_name('robot_description')
        return (
            f'waiting for a robot description on the topic {topic}; '
            'the parameter urdf or robot_description gives one at once'
        )
