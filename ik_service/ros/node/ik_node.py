"""Node with the services, topics and parameters of an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
import threading
import time
import traceback
from typing import Unpack

from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup, ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.compilation import Compiler
from ik_service.arm.group import SolverSettings
from ik_service.arm.loader import ArmLoader, DescriptionFault
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.common.stall_watch import StallWatch, TICK_LASTS
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.capabilities.capability import Capability, MakeCapability, NodeParts
from ik_service.ros.capabilities.loading import BUILT_IN, make_capabilities
from ik_service.ros.common.actions import NodeWithActions
from ik_service.ros.common.node_options import NodeOptions
from ik_service.ros.common.publishers import not_received, publishers_of
from ik_service.ros.common.response_retry import retry_dropped_responses
from ik_service.ros.common.tf_listener import tf_frames, TransformSource
from ik_service.ros.markers.arm_marker_publisher import ArmMarkerPublisher
from ik_service.ros.motion.command_publisher import CommandPublisher
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.intake import NodeContext, queue_delay
from ik_service.ros.motion.parameters import (
    COMMAND_INTERFACE,
    COMMAND_JOINTS,
    TRAJECTORY_REPLACEMENT,
)
from ik_service.ros.motion.stop_services import StopServices
from ik_service.ros.motion.target_topics import TargetTopics
from ik_service.ros.node.diagnostics import announce, DiagnosticsPublisher
from ik_service.ros.node.node_threads import NodeThreads, SharedThreads
from ik_service.ros.node.parameter_table import PUBLISH_MARKERS, TF_TIMEOUT
from ik_service.ros.node.parameters import NodeParameters, USE_SIM_TIME
from ik_service.ros.node.robot_descriptions import RobotDescriptions
from ik_service.ros.node.services import Services
from ik_service.ros.parameters.parameter_services import ParameterServices
from ik_service.ros.scene.collision_world import CollisionWorld, REQUIRE_COLLISION_CHECKING
from ik_service.ros.scene.frames import Frames

_WATCH_RATE = 10.0  # of the calls of what observes, and of news of stops and motions [Hz]


class IkNode(NodeWithActions):
    """
    Node that answers ``compute_ik`` and ``compute_fk``, and follows ``target_pose``.

    Before it has a robot description, and while the kernels for it are compiled, it offers no
    services; those of paths and batches follow when their own are compiled. A new description
    replaces the arm once everything is built; a bad one is refused.

    After :meth:`start`, :meth:`running` spins it in threads of its own; in a program with an
    executor of its own, add it there and use :meth:`commanding`. It changes nothing else in the
    process: no signal handlers, interpreter settings or environment.

    :ivar parameters: its parameters.
    :ivar collisions: the known world, and the checker of collisions.
    :param transforms: transforms of tf that several nodes share; None to listen to tf itself.
    :param shared: threads that several nodes share; None for its own.
    :param built_in: which of its own capabilities it has: trajectories, servoing, the known world.
    :param node_options: passed on to :class:`rclpy.node.Node`, such as ``context``.
    :raises IkServiceError: a parameter has a value it cannot have.
    """

    def __init__(
        self,
        transforms: TransformSource | None = None,
        shared: SharedThreads | None = None,
        built_in: Sequence[MakeCapability] = BUILT_IN,
        **node_options: Unpack[NodeOptions],
    ) -> None:
        super().__init__('ik_service', start_parameter_services=False, **node_options)
        self.parameters = NodeParameters(self)
        self._change_group = ReentrantCallbackGroup()
        self._state_group = MutuallyExclusiveCallbackGroup()
        ParameterServices(
            self, ReentrantCallbackGroup(), self._change_group, self.parameters.replaced_in_texts
        )
        self._followers: Followers | None = None
        self._fault = DescriptionFault()
        self._reported, self._reporting = (0, 0), threading.Lock()
        self._started_at = time.monotonic()
        self._errors = FaultLogger(lambda text: self.get_logger().error(text))
        commands, checks = (shared.commands, shared.checks) if shared else (None, None)
        self._make_commands(commands, checks)
        self._make_world(transforms)
        self._make_services(built_in)
        self._watches = PeriodicCall(self._watch_all, _WATCH_RATE, self._on_error, thread=checks)
        self._diagnostics = DiagnosticsPublisher(
            self, self._arm_services.statistics, self.collisions, self._report
        )
        self._compiler = Compiler(self.get_logger().warning)
        self._arm_services.compile_with(self._compiler.prepare)
        self._loader = ArmLoader(
            lambda: self.parameters.solver,
            self._on_loaded,
            self._on_refused,
            self._compiler.finish,
        )
        self._descriptions = RobotDescriptions(
            self, self.parameters, self._loader, (self._commands.check, self._check_capabilities)
        )
        self._threads = NodeThreads(self, shared, self._on_error)
        self.parameters.when_changed(self._apply, self._prepare)
        self.parameters.when_arm_changed(self._check_arm, self._descriptions.rebuild)
        self.parameters.when_clock_changed(self._check_clock)
        retry_dropped_responses(self)

    def _make_commands(self, commands: PeriodicCalls | None, checks: PeriodicCalls | None) -> None:
        """Make the publisher of commands with its ticks, and the topics that move the arm."""
        self._watch = StallWatch(
            self.get_fully_qualified_name(),
            lambda: self._ticker.due,
            lambda: self._ticker.thread_id,
        )
        self._commands = CommandPublisher(
            self,
            self.parameters[COMMAND_INTERFACE],
            [name for name in self.parameters[COMMAND_JOINTS] if name],
            self.parameters[TRAJECTORY_REPLACEMENT],
            self._watch,
        )
        rate, clock = self.parameters.follower.rate, self._commands.clock
        self._ticker = PeriodicCall(self._tick, rate, self._on_error, clock, commands)
        self._markers = ArmMarkerPublisher(
            self,
            lambda: self._followers.default if self._followers else None,
            self._on_error,
            checks,
        )
        self._stop = StopServices(self, lambda: self._followers, self._preempt, self._wake)
        self._targets = TargetTopics(self, self._on_target, self._on_twist, self._wake)

    def _make_world(self, transforms: TransformSource | None) -> None:
        """Make the frames and the known world, and what followers know of them."""
        log, timeout = self.get_logger(), lambda: self.parameters[TF_TIMEOUT]
        self._frames = Frames(tf_frames(self, timeout, transforms))
        self.collisions = CollisionWorld(
            self._frames,
            lambda: self.measured,
            lambda: self.parameters[REQUIRE_COLLISION_CHECKING],
            log.warning,
            log.info,
        )
        self._around = NodeContext(
            lambda: publishers_of(self, 'joint_states'),
            self._commands.monitor,
            self._frames,
            self.collisions,
            self._commands.clock,
        )

    def _make_services(self, built_in: Sequence[MakeCapability]) -> None:
        """Make the handlers of the services, and the capabilities with theirs."""
        self._arm_services = Services(
            self, self.parameters, self._frames, self.collisions, self._on_error, self._on_offered
        )
        self._parts = NodeParts(
            self,
            self.parameters,
            self._frames,
            self.collisions,
            self._commands.clock,
            lambda: self.measured,
            lambda: self._followers,
            self._arm_services.context,
            self._on_error,
            self._wake,
        )
        make_capabilities(self._parts, built_in)
        for capability in self._capabilities:
            self._arm_services.add(capability.services, capability.late)

    @property
    def _capabilities(self) -> Sequence[Capability]:
        return self._parts.made

    @property
    def measured(self) -> MeasuredState | None:
        """The measured joint state; None before there is an arm."""
        return None if self._followers is None else self._followers.measured

    def start(self) -> None:
        """
        Take the robot description, or wait for it, and subscribe to everything.

        :raises IkServiceError: the description that the parameters give makes no arm.
        """
        self._compiler.begin(self.parameters.solver.name)
        self._subscribe()
        self._descriptions.start()
        # Not by ROS time, which stands still in a paused simulation.
        self.create_timer(1.0, self._on_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._on_second()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Spin in threads of its own, and send commands, for the time of a ``with`` block."""
        streams = self._state_group, self._targets.group
        motions = [made.group for made in self._capabilities if made.group is not None]
        groups = self._change_group, self._stop.group, motions, *streams
        polled = (self._commands.monitor.group,)  # by the ticks
        with self._threads.spinning(self._arm_services, *groups, polled), self.commanding():
            yield

    @contextmanager
    def commanding(self) -> Iterator[None]:
        """Send commands for the time of a ``with`` block, in which an executor has to spin."""
        with self._ticker, self._watch, self._watches:
            try:
                yield
            finally:
                self._loader.end()
                self._arm_services.end()
                for capability in self._capabilities:
                    capability.end()
                if self._followers is not None:  # to rest, while the ticker still ticks
                    self._followers.end()
                self._compiler.end()
                self._markers.switch(False)

    def _subscribe(self) -> None:
        self.create_subscription(
            JointState,
            'joint_states',
            self._on_joint_states,  # type: ignore[arg-type]  # rclpy's type lacks MessageInfo
            qos_profile_sensor_data,
            callback_group=self._state_group,
        )
        self._targets.start()
        for capability in self._capabilities:
            capability.start()

    # Callbacks

    def _on_joint_states(self, message: JointState, info: Mapping[str, int]) -> None:
        followers = self._followers
        if followers is not None:
            followers.on_joint_states(message, queue_delay(info))

    def _on_target(self, group: str, message: PoseStamped, info: Mapping[str, int]) -> None:
        followers = self._followers
        if followers is None:
            why = self._fault.reason or self._descriptions.waiting_for
            self.get_logger().warning(f'target_pose ignored: {why}', throttle_duration_sec=5.0)
            return
        followers.on_target(group, message, queue_delay(info))

    def _on_twist(self, group: str, message: TwistStamped, info: Mapping[str, int]) -> None:
        followers = self._followers
        if followers is not None:
            followers.on_twist(group, message, queue_delay(info))

    def _on_second(self) -> None:
        followers = self._followers
        self._commands.look()
        self._markers.switch(self.parameters[PUBLISH_MARKERS])
        if followers is not None:
            followers.log_states()
        elif not self._fault.reason:
            self.get_logger().info(self._descriptions.waiting_for, throttle_duration_sec=10.0)
        self._publish_diagnostics()

    def _report_others(self) -> None:
        """Publish the diagnostics at once when the arm was stopped, or moves for no target."""
        others = self._stop.count, self._other_motions()
        if others != self._reported:
            self._publish_diagnostics()

    def _publish_diagnostics(self) -> None:
        with self._reporting:
            self._reported = self._stop.count, self._other_motions()
            waiting = self._descriptions.waiting_for
            self._diagnostics.publish(waiting, self._fault, self._followers)

    def _other_motions(self) -> int:
        return 0 if self._followers is None else self._followers.other_motions

    def _tick(self, now: float) -> None:
        followers = self._followers
        self._watch.begin(TICK_LASTS)
        try:
            known = self._commands.monitor.poll(now, 1.0 / self._ticker.rate)
            if followers is not None and known:
                followers.tick(now)
                for call in self._parts.ticks.copy():  # others may change it
                    call(now)
        finally:
            self._watch.end()

    def _report(self) -> Mapping[str, str]:
        """Return names and values about all motion interfaces, for the diagnostics."""
        received = {'publishers that are not received': '; '.join(not_received(self)) or 'none'}
        stalls = {'stalls of the commands': str(self._watch.count)}
        others = {'motions besides targets': str(self._other_motions())}
        reports = [capability.report() for capability in self._capabilities]
        motions = {name: text for report in reports for name, text in report.items()}
        return {**motions, **others, **self._stop.report(), **received, **stalls}

    def _wake(self) -> None:
        """Let the threads notice a new subscription."""
        self._threads.wake()

    def _preempt(self, reason: str) -> None:
        """Stop the goals of all actions."""
        for capability in self._capabilities:
            capability.preempt(reason)

    def _watch_all(self, now: float) -> None:
        self._report_others()
        for call in self._parts.watches.copy():
            call(now)

    # In the threads of the loader and of the preparation of kernels

    def _on_loaded(self, arm: Arm) -> None:
        self.collisions.prepare(arm)
        old = self._followers
        log, before = self.get_logger(), old.arm if old else None
        with old.giving_way() if old else nullcontext(), self.parameters.lock:
            followers = Followers(
                MeasuredState(arm, old.measured if old else None),
                self.parameters.solver,
                self.parameters.follower,
                self._commands,
                log.warning,
                self._around,
            )
            followers.forward_state()
            self._stop.replace(followers, self._use)
        self._arm_services.advertise()
        self._targets.update(followers.others)
        for capability in self._capabilities:
            capability.adopt(followers)
        self._threads.wake()
        announce(log, followers, before, self.parameters, time.monotonic() - self._started_at)
        self._arm_services.prepare(arm, self.parameters.solver)

    def _on_offered(self, service: str) -> None:
        self._threads.wake()
        after = time.monotonic() - self._started_at
        self.get_logger().info(f'{service} is offered after {after:.1f} s')

    def _use(self, followers: Followers) -> None:
        self.collisions.adopt(followers.arm)
        self._arm_services.use(followers.measured)
        self._followers, self._fault = followers, DescriptionFault()

    def _on_refused(self, error: Exception) -> None:
        used = self._followers.arm if self._followers is not None else None
        self._fault = self._descriptions.failed(error, used)
        if not isinstance(error, IkServiceError):
            self._on_error(error)
        self.get_logger().error(self._fault.text)

    # Changes of parameters

    def _check_arm(self, settings: ArmSettings) -> None:
        """Refuse, by an exception, settings that do not go with the robot in use."""
        if self._followers is not None:
            Arm(self._followers.arm.described, settings)

    def _check_clock(self, simulated: object) -> None:
        """Refuse, by an exception, another clock while commands are timed by the present one."""
        commands = any(following.active for following in self._followers or ())
        if commands and simulated != self._commands.clock.simulated:
            reason = 'cannot change while commands are sent, which are timed by it'
            raise OptionError(USE_SIM_TIME, reason)

    def _check_capabilities(self, arm: Arm) -> None:
        """Refuse, by an exception, an arm that does not go with the parameters of capabilities."""
        for capability in self._capabilities:
            capability.check(arm)

    def _prepare(self, solver: SolverSettings) -> None:
        """Compile the kernels of a changed solver, which may take half a minute."""
        followers = self._followers
        if followers is not None and solver != self.parameters.solver:
            for prepared in followers.solvers(solver):
                self._compiler.prepare(prepared)

    def _apply(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """Put changed parameters into force; an exception refuses them."""
        self._prepare(solver)
        if self._followers is not None:
            self._followers.configure(solver, follower)
        self._ticker.rate = follower.rate
        services = self._arm_services
        services.ik.settings = services.paths.settings = solver
        services.paths.motion = follower
        for capability in self._capabilities:
            capability.configure(solver, follower)

    def _on_error(self, error: Exception) -> None:
        text = ''.join(traceback.format_exception(error))
        self._errors.report(f'error in the node, which continues:\n{text}')
