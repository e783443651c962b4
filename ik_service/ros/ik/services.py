"""Services that answer requests about the arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from moveit_msgs.srv import (
    GetCartesianPath,
    GetGroupUrdf,
    GetPositionFK,
    GetPositionIK,
    GetStateValidity,
)
from rclpy.callback_groups import CallbackGroup, ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.arm.group import SolverSettings
from ik_service.common.fault_logger import FaultLogger, refusal_logger
from ik_service.following.settings import FollowerSettings
from ik_service.ros.batches.compute_ik_batch import BatchHandler
from ik_service.ros.collision.collision_world import CollisionWorld
from ik_service.ros.common.frames import Frames
from ik_service.ros.common.qos import BATCH_QOS, SERVICE_QOS
from ik_service.ros.common.response_retry import retry_dropped_responses
from ik_service.ros.ik.compute_fk import FkHandler
from ik_service.ros.ik.compute_ik import IkHandler
from ik_service.ros.ik.group_urdf import UrdfHandler
from ik_service.ros.ik.service_handler import RequestStatistics, ServiceHandler, StampClock
from ik_service.ros.ik.state_validity import ValidityHandler
from ik_service.ros.paths.compute_cartesian_path import CartesianPathHandler

PATH_SERVICE = 'compute_cartesian_path'
"""Service whose kernels are compiled while the others are at work."""

_Around = tuple[StampClock, Frames, Callable[[Exception], object], Callable[[str], object]]


class Services:
    """
    Handlers of all services, and the services themselves once they are ready to answer.

    :param node: the node that offers them.
    :param settings: name and options of the solver.
    :param motion: settings of the followers, whose limits paths are timed by.
    :param frames: frames besides the links of the robot.
    :param collisions: the known world, and the checker of collisions.
    :param on_error: called with an unexpected exception.
    :ivar group: callback group of the services.
    :ivar path_group: that of ``compute_cartesian_path``, which may take seconds.
    :ivar batch_group: that of ``compute_ik_batch``, likewise.
    :ivar ik: handler of ``compute_ik``.
    :ivar batches: handler of ``compute_ik_batch``.
    :ivar paths: handler of ``compute_cartesian_path``.
    """

    def __init__(
        self,
        node: Node,
        settings: SolverSettings,
        motion: FollowerSettings,
        frames: Frames,
        collisions: CollisionWorld,
        on_error: Callable[[Exception], object],
    ) -> None:
        self._node = node
        self.group, self.path_group = ReentrantCallbackGroup(), ReentrantCallbackGroup()
        self.batch_group = ReentrantCallbackGroup()
        warn = node.get_logger().warning

        def around(service: str) -> _Around:
            return node.get_clock(), frames, on_error, refusal_logger(service, warn)

        states = FaultLogger(lambda text: warn(f'check_state_validity: {text}'))
        self.ik = IkHandler(settings, *around('compute_ik'), collisions)
        self.paths = CartesianPathHandler(settings, motion, *around(PATH_SERVICE), collisions)
        self.batches = BatchHandler(self.ik, *around('compute_ik_batch'))
        placed = FkHandler(*around('compute_fk'))
        placed.held = collisions.known.held
        checked = ValidityHandler(node.get_clock(), frames, on_error, states.report, collisions)
        self._handlers: dict[str, tuple[type, ServiceHandler]] = {
            'compute_ik': (GetPositionIK, self.ik),
            'compute_ik_batch': (GetCartesianPath, self.batches),
            'compute_fk': (GetPositionFK, placed),
            'check_state_validity': (GetStateValidity, checked),
            'get_urdf': (GetGroupUrdf, UrdfHandler(*around('get_urdf'))),
            PATH_SERVICE: (GetCartesianPath, self.paths),
        }

    @property
    def measured(self) -> MeasuredState | None:
        """The measured state that requests are answered for; None before there is an arm."""
        return self.ik.measured

    @measured.setter
    def measured(self, measured: MeasuredState) -> None:
        for _, handler in self._handlers.values():
            handler.measured = measured

    @property
    def statistics(self) -> Mapping[str, RequestStatistics]:
        """Outcomes of the requests by the name of the service."""
        return {name: handler.statistics for name, (_, handler) in self._handlers.items()}

    def compile_with(self, compiled: Callable[[Any], object]) -> None:
        """
        Choose what compiles the kernels that only some requests need.

        :param compiled: as :meth:`~ik_service.solvers.compilation.Compiler.prepare`.
        """
        self.ik.trees.compile = compiled
        self.batches.preparation.compile = compiled

    def prepare(self, arm: Arm, solver: SolverSettings) -> None:
        """
        Begin to compile these kernels; requests that need them wait.

        :param arm: the arm.
        :param solver: name and options of the node's solver.
        """
        self.ik.trees.begin(arm, solver)
        self.batches.preparation.begin(arm, solver)

    def advertise(self) -> None:
        """Offer the services but that of paths, once there is an arm."""
        for name, (_, handler) in self._handlers.items():
            if handler is not self.paths:
                is_batch = handler is self.batches
                self._offer(
                    name,
                    self.batch_group if is_batch else self.group,
                    BATCH_QOS if is_batch else SERVICE_QOS,
                )
        retry_dropped_responses(self._node)

    def advertise_paths(self) -> None:
        """Offer ``compute_cartesian_path``, once its kernels are compiled."""
        self._offer(PATH_SERVICE, self.path_group, SERVICE_QOS)
        retry_dropped_responses(self._node)

    def _offer(self, name: str, group: CallbackGroup, qos: QoSProfile) -> None:
        kind, handler = self._handlers[name]
        self._node.create_service(
            kind, name, handler.handle, qos_profile=qos, callback_group=group
        )
