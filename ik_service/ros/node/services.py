"""Services that answer requests about the arm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
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

from ik_service.arm.arm import Arm
from ik_service.arm.compilation import KernelPreparation
from ik_service.arm.group import SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.paths.preparation import CartesianPathKernels
from ik_service.ros.common.qos import BATCH_QOS, SERVICE_QOS
from ik_service.ros.common.response_retry import retry_dropped_responses
from ik_service.ros.node.parameters import NodeParameters
from ik_service.ros.requests.service_handler import (
    RequestStatistics,
    ServiceContext,
    ServiceHandler,
)
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.ros.services.compute_cartesian_path import CartesianPathHandler
from ik_service.ros.services.compute_fk import FkHandler
from ik_service.ros.services.compute_ik import IkHandler
from ik_service.ros.services.compute_ik_all import AllSolutionsHandler
from ik_service.ros.services.compute_ik_batch import BatchHandler
from ik_service.ros.services.group_urdf import UrdfHandler
from ik_service.ros.services.state_validity import ValidityHandler

_BATCHES, _PATHS = 'compute_ik_batch', 'compute_cartesian_path'
_ALL = 'compute_ik_all'


class Services:
    """
    Handlers of all services, and the services themselves once they are ready to answer.

    Those of paths and batches have kernels of their own, which are compiled while the others are
    at work.

    :param parameters: its parameters, of which the solver and the limits of the motion count.
    :param on_offered: called with the name of a service that is offered later than the others.
    :param compiled: compiles kernels for some requests, as ``Compiler.prepare``.
    :ivar group: callback group of the services.
    :ivar path_group: that of ``compute_cartesian_path``, which may take seconds.
    :ivar batch_group: that of ``compute_ik_batch`` and ``compute_ik_all``, likewise.
    :ivar capability_group: that of services of capabilities, likewise.
    """

    def __init__(
        self,
        node: Node,
        parameters: NodeParameters,
        frames: Frames,
        collisions: CollisionWorld,
        on_error: Callable[[Exception], object],
        on_offered: Callable[[str], object],
        compiled: Callable[[Any], object],
    ) -> None:
        warn = node.get_logger().warning
        states = FaultLogger(lambda text: warn(f'check_state_validity: {text}'))
        self._context = ServiceContext(
            node.get_clock(), frames, collisions, on_error, states.report
        )
        self._node, self._on_error, self._on_offered = node, on_error, on_offered
        self._offered: set[str] = set()
        settings, motion = parameters.solver, parameters.follower
        self.group, self.path_group = ReentrantCallbackGroup(), ReentrantCallbackGroup()
        self.batch_group = ReentrantCallbackGroup()
        self.capability_group = ReentrantCallbackGroup()
        context = self.context
        self.ik = IkHandler(context('compute_ik'), settings)
        self.paths = CartesianPathHandler(context(_PATHS), settings, motion)
        self.batches = BatchHandler(context(_BATCHES), self.ik)
        listed = AllSolutionsHandler(context(_ALL), self.ik)
        self._handlers: dict[str, tuple[type, ServiceHandler]] = {
            'compute_ik': (GetPositionIK, self.ik),
            'compute_fk': (GetPositionFK, FkHandler(context('compute_fk'))),
            'check_state_validity': (GetStateValidity, ValidityHandler(self._context)),
            'get_urdf': (GetGroupUrdf, UrdfHandler(context('get_urdf'))),
            _BATCHES: (GetCartesianPath, self.batches),
            _PATHS: (GetCartesianPath, self.paths),
            _ALL: (GetCartesianPath, listed),
        }
        self._late: dict[str, tuple[CallbackGroup, QoSProfile]] = {
            _BATCHES: (self.batch_group, BATCH_QOS),
            _PATHS: (self.path_group, SERVICE_QOS),
            _ALL: (self.batch_group, SERVICE_QOS),
        }
        self._for_batches = KernelPreparation(lambda: self._offer_late([_BATCHES]), on_error)
        self._for_paths = KernelPreparation(
            lambda: self._offer_late(name for name in self._late if name != _BATCHES), on_error
        )
        self._compile = self.ik.trees.compile = self.batches.preparation.compile = compiled

    def context(self, service: str) -> ServiceContext:
        """Return the context of the handler of a service, which logs what it refuses."""
        log = FaultLogger(self._node.get_logger().warning)
        return replace(
            self._context, on_refused=lambda why: log.report(f'{service} refused: {why}')
        )

    def add(
        self, services: Mapping[str, tuple[type, ServiceHandler]], late: Collection[str]
    ) -> None:
        """Add services; the late ones are offered once the kernels of paths are compiled."""
        self._handlers.update(services)
        self._late.update((name, (self.capability_group, SERVICE_QOS)) for name in late)

    def use(self, measured: MeasuredState) -> None:
        """Answer requests for a measured state, and with it an arm, from now on."""
        for _, handler in self._handlers.values():
            handler.measured = measured

    @property
    def statistics(self) -> Mapping[str, RequestStatistics]:
        """Outcomes of the requests by the name of the service."""
        return {name: handler.statistics for name, (_, handler) in self._handlers.items()}

    def prepare(self, arm: Arm, solver: SolverSettings) -> None:
        """Begin to compile these kernels; the services that wait for them are offered then."""
        chosen = arm.group.chain_solvers['', solver].solver
        self._for_batches.begin(lambda: self.batches.preparation.finish(chosen))  # shortest
        self.ik.trees.begin(arm, solver)
        # Paths begin with a list of all solutions.
        self._for_paths.begin(lambda: self._compile(CartesianPathKernels(arm.chain)))

    def end(self) -> None:
        """Offer no further services."""
        self._for_batches.end()
        self._for_paths.end()

    def advertise(self) -> None:
        """Offer those that need no further kernels, and are not offered yet, for an arm."""
        for name in self._handlers:
            if name not in self._late and name not in self._offered:
                self._offer(name, self.group, SERVICE_QOS)
        retry_dropped_responses(self._node)

    def _offer_late(self, names: Iterable[str]) -> None:
        for name in names:
            self._offer(name, *self._late[name])
            retry_dropped_responses(self._node)
            self._on_offered(name)

    def _offer(self, name: str, group: CallbackGroup, qos: QoSProfile) -> None:
        kind, handler = self._handlers[name]
        self._node.create_service(
            kind, name, handler.handle, qos_profile=qos, callback_group=group
        )
        self._offered.add(name)
