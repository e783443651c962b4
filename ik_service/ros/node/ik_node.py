"""Node with the services, topics and parameters of an arm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack, nullcontext
from importlib.metadata import entry_points
import threading
import time
import traceback
from typing import Unpack

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.compilation import Compiler
from ik_service.arm.group import SolverSettings
from ik_service.arm.loader import ArmLoader, DescriptionFault
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.jit.cached_files import uncached_reason
from ik_service.motion.settings import FollowerSettings
from ik_service.motion.target_follower import warm_up
from ik_service.ros.capabilities.capability import MakeCapability, NodeParts
from ik_service.ros.capabilities.scene import SceneCapability
from ik_service.ros.capabilities.servo import ServoInterface
from ik_service.ros.capabilities.trajectory_actions import TrajectoryActions
from ik_service.ros.common.actions import NodeOptions, NodeWithActions
from ik_service.ros.common.publishers import not_received, publishers_of
from ik_service.ros.common.response_retry import retry_dropped_responses
from ik_service.ros.common.runtime import know_callers
from ik_service.ros.common.tf_listener import tf_frames, TransformSource
from ik_service.ros.markers.arm_marker_publisher import ArmMarkerPublisher
from ik_service.ros.motion.arm_motion import ArmMotion
from ik_service.ros.motion.followers import Followers
from ik_service.ros.node.diagnostics import announce, DiagnosticsPublisher
from ik_service.ros.node.node_threads import NodeThreads, SharedThreads
from ik_service.ros.node.parameter_table import PUBLISH_MARKERS, TF_TIMEOUT
from ik_service.ros.node.parameters import NodeParameters, USE_SIM_TIME
from ik_service.ros.node.robot_descriptions import RobotDescriptions
from ik_service.ros.node.services import Services
from ik_service.ros.parameters.parameter_services import ParameterServices
from ik_service.ros.scene.collision_world import CollisionWorld, REQUIRE_COLLISION_CHECKING
from ik_service.ros.scene.frames import Frames

GROUP = 'ik_service.capabilities'  # group of the entry points

_CLOCK_COMES = 3.0  # time within which a simulated clock is discovered [s]

BUILT_IN: tuple[MakeCapability, ...] = (TrajectoryActions, ServoInterface, SceneCapability)
"""Capabilities of this package."""


class IkNode(NodeWithActions):
    """
    Node that answers ``compute_ik`` and ``compute_fk``, and follows ``target_pose``.

    Before it has a robot description, and while the kernels for it are compiled, it offers no
    services; those of paths and batches follow when their own are compiled. A new description
    replaces the arm once everything is built; a bad one is refused.

    After :meth:`start`, :meth:`running` spins it in threads of its own; in a program with an
    executor of its own, add it there and use :meth:`commanding`. It changes nothing else in the
    process: no signal handlers, interpreter settings or environment.

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
        # First of all, as rclpy destroys nodes also of which only a part was made.
        self._commanding, self._preparations = ExitStack(), ExitStack()
        self.parameters = NodeParameters(self)
        self._change_group = ReentrantCallbackGroup()
        ParameterServices(
            self, ReentrantCallbackGroup(), self._change_group, self.parameters.replaced_in_texts
        )
        self._fault, self._reporting = DescriptionFault(), threading.Lock()
        self._started_at = time.monotonic()
        self._errors = FaultLogger(lambda text: self.get_logger().error(text))
        commands, checks = (shared.commands, shared.checks) if shared else (None, None)
        self._motion = ArmMotion(
            self,
            self.parameters,
            lambda: self._fault.reason or self._descriptions.waiting_for,
            self._preempt,
            self._publish_diagnostics,
            self._on_error,
            commands,
            checks,
        )
        self._markers = ArmMarkerPublisher(
            self,
            lambda: self._followers.default if self._followers else None,
            self._on_error,
            checks,
        )
        self._compiler = Compiler(self.get_logger().warning)
        self._preparations.callback(self._compiler.end)
        self._make_world(transforms)
        self._make_services(built_in)
        self._diagnostics = DiagnosticsPublisher(
            self, self._arm_services.statistics, self.collisions, self._report
        )
        self._loader = ArmLoader(
            lambda: self.parameters.solver,
            self._on_loaded,
            self._on_refused,
            self._await_kernels,
        )
        self._preparations.callback(self._loader.end)
        checks_of_arm = self._motion.commands.check, self._check_capabilities
        self._descriptions = RobotDescriptions(self, self.parameters, self._loader, checks_of_arm)
        self._threads = NodeThreads(self, shared, self._on_error)
        rebuild = self._descriptions.rebuild
        self.parameters.when_changed(
            self._apply, self._prepare, self._check_arm, rebuild, self._check_clock
        )
        retry_dropped_responses(self)

    def _make_world(self, transforms: TransformSource | None) -> None:
        log, timeout = self.get_logger(), lambda: self.parameters[TF_TIMEOUT]
        self._frames = Frames(tf_frames(self, timeout, transforms))
        self.collisions = CollisionWorld(
            self._frames,
            self._motion.measured,
            lambda: self.parameters[REQUIRE_COLLISION_CHECKING],
            log.warning,
            log.info,
        )

    def _make_services(self, built_in: Sequence[MakeCapability]) -> None:
        self._arm_services = Services(
            self,
            self.parameters,
            self._frames,
            self.collisions,
            self._on_error,
            self._on_offered,
            self._compiler.prepare,
        )
        self._preparations.callback(self._arm_services.end)
        parts = NodeParts(
            self,
            self.parameters,
            self._frames,
            self.collisions,
            self._motion.clock,
            self._motion.measured,
            lambda: self._followers,
            self._arm_services.context,
            self._on_error,
            self._motion.watches,
            self._motion.ticks,
            self._motion.commands.monitor.note_goal,
        )
        self._capabilities = parts.made
        for kind in built_in:
            self._capabilities.append(kind(parts))
        for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
            try:
                self._capabilities.append(entry.load()(parts))
            except Exception as error:  # whatever somebody else's package raises
                self.get_logger().warning(f'capability {entry.name!r} is left out: {error!r}')
        for capability in self._capabilities:
            self._arm_services.add(capability.services, capability.late)

    @property
    def measured(self) -> MeasuredState | None:
        """The measured joint state; None before there is an arm."""
        return self._motion.measured()

    @property
    def _followers(self) -> Followers | None:
        return self._motion.followers

    def start(self) -> None:
        """Take the robot description, or wait for it, and subscribe; raises IkServiceError."""
        know_callers()
        self._compiler.begin(self.parameters.solver.name)
        if uncached_reason():  # all that follows takes long, and at every start
            self.get_logger().info(self._descriptions.waiting_for)
        self._motion.start()
        for capability in self._capabilities:
            capability.start()
        self._descriptions.start()
        # Not by ROS time, which stands still in a paused simulation.
        self.create_timer(1.0, self._on_second, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._on_second()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Spin in threads of its own, and send commands, for the time of a ``with`` block."""
        motion = self._motion
        streams = motion.state_group, motion.targets.group
        motions = [made.group for made in self._capabilities if made.group is not None]
        groups = self._change_group, motion.stops.group, motions, *streams
        polled = (motion.commands.monitor.group,)  # by the ticks
        with self._threads.spinning(self._arm_services, *groups, polled), self.commanding():
            yield

    @contextmanager
    def commanding(self) -> Iterator[None]:
        """Send commands for the time of a ``with`` block, in which an executor has to spin."""
        with self._commanding:
            self._commanding.enter_context(self._motion.running())
            self._commanding.callback(self._come_to_rest)
            yield

    def _come_to_rest(self) -> None:
        """End all motion, also where something else fails to end; ticks have to go on."""
        with ExitStack() as last_first:
            last_first.callback(self._markers.switch, False)
            if self._followers is not None:
                last_first.callback(self._followers.end)
            for capability in self._capabilities:
                last_first.callback(capability.end)
            last_first.callback(self._preparations.close)
            if self._followers is not None:
                last_first.callback(self._followers.stop, False, float('inf'), 'the node ends')

    def destroy_node(self) -> None:
        """
        Destroy the node; threads that prepare something do no more, whether it ran or not.

        An arm in motion comes to rest before, also within the ``with`` block of commands.
        """
        self._commanding.close()
        self._preparations.close()
        super().destroy_node()

    # Callbacks

    def _on_second(self) -> None:
        followers = self._followers
        self._motion.commands.look()
        if self._motion.clock.silent and time.monotonic() - self._started_at > _CLOCK_COMES:
            self.get_logger().warning(
                'use_sim_time is true, and nothing has come on /clock: until then nothing moves',
                throttle_duration_sec=10.0,
            )
        self._markers.switch(self.parameters[PUBLISH_MARKERS])
        if followers is not None:
            followers.log_states()
        elif not self._fault.reason:
            self.get_logger().info(self._descriptions.waiting_for, throttle_duration_sec=10.0)
        self._publish_diagnostics()

    def _publish_diagnostics(self) -> None:
        with self._reporting:
            waiting = self._descriptions.waiting_for
            self._diagnostics.publish(waiting, self._fault, self._followers)

    def _report(self) -> Mapping[str, str]:
        """Return names and values about all motion interfaces, for the diagnostics."""
        received = {'publishers that are not received': '; '.join(not_received(self)) or 'none'}
        reports = [capability.report() for capability in self._capabilities]
        motions = {name: text for report in reports for name, text in report.items()}
        return {**motions, **self._motion.report(), **received}

    def _preempt(self, reason: str) -> None:
        for capability in self._capabilities:
            capability.preempt(reason)

    # In the threads of the loader and of the preparation of kernels

    def _await_kernels(self) -> None:
        """Prepare the kernels of followers, while other processes compile the solver."""
        warm_up()
        self._compiler.finish()

    def _on_loaded(self, arm: Arm) -> None:
        self.collisions.prepare(arm)
        old = self._followers
        log, before = self.get_logger(), old.arm if old else None
        with old.giving_way() if old else nullcontext(), self.parameters.lock:
            followers = Followers(
                MeasuredState(arm, old.measured if old else None),
                self.parameters.solver,
                self.parameters.follower,
                self._motion.commands,
                self._frames,
                self.collisions,
                log.warning,
                lambda: publishers_of(self, 'joint_states'),
            )
            followers.forward_state()
            if old is not None:
                followers.take_over(old)
            self._motion.stops.replace(followers, self._use)
        self._arm_services.advertise()
        self._motion.targets.update(followers.others)
        for capability in self._capabilities:
            capability.adopt(followers)
        announce(log, followers, before, self.parameters, time.monotonic() - self._started_at)
        self._arm_services.prepare(arm, self.parameters.solver)

    def _on_offered(self, service: str) -> None:
        after = time.monotonic() - self._started_at
        self.get_logger().info(f'{service} is offered after {after:.1f} s')

    def _use(self, followers: Followers) -> None:
        self.collisions.adopt(followers.arm)
        self._arm_services.use(followers.measured)
        self._motion.followers, self._fault = followers, DescriptionFault()

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
        if commands and simulated != self._motion.clock.simulated:
            reason = 'cannot change while commands are sent, which are timed by it'
            raise OptionError(USE_SIM_TIME, reason)

    def _check_capabilities(self, arm: Arm) -> None:
        for capability in self._capabilities:
            capability.check(arm)

    def _prepare(self, solver: SolverSettings) -> None:
        """Compile the kernels of a changed solver, which may take half a minute."""
        followers = self._followers
        if followers is not None and solver != self.parameters.solver:
            for prepared in followers.solvers(solver):
                self._compiler.prepare(prepared, refusable=True)

    def _apply(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """Put changed parameters into force; an exception refuses them."""
        self._prepare(solver)
        if self._followers is not None:
            self._followers.configure(solver, follower)
        self._motion.ticker.rate = follower.rate
        services = self._arm_services
        services.ik.settings = services.paths.settings = solver
        services.paths.motion = follower
        for capability in self._capabilities:
            capability.configure(solver, follower)

    def _on_error(self, error: Exception) -> None:
        text = ''.join(traceback.format_exception(error))
        self._errors.report(f'error in the node, which continues:\n{text}')
