"""Interface of the capabilities of a node: what it offers besides IK, FK and following targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from ik_service.arm.arm import Arm
from ik_service.arm.group import SolverSettings
from ik_service.arm.measured_state import MeasuredState
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.followers import Followers
from ik_service.ros.motion.parameters import Parameters
from ik_service.ros.requests.service_handler import ServiceContext, ServiceHandler
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames

C = TypeVar('C', bound='Capability')
MakeCapability = Callable[['NodeParts'], 'Capability']


@dataclass(frozen=True)
class NodeParts:
    """
    Parts of a node that a capability works with.

    :ivar context: returns the context of the handler of a service, by its name.
    :ivar watches: called ten times a second for what only observes, in a thread of its own.
    :ivar ticks: called with the time on the motion clock [s] after the followers' tick; a
        capability adds a call here for as long as it has something to do.
    :ivar note_goal: called with the identifier of each goal of the node at a controller and True,
        before it is sent, so that it does not count as that of somebody else; with False once it
        is taken for lost, so that it counts again.
    """

    node: Node
    parameters: Parameters
    frames: Frames
    collisions: CollisionWorld
    clock: MotionClock
    measured: Callable[[], MeasuredState | None]
    followers: Callable[[], Followers | None]
    context: Callable[[str], ServiceContext]
    on_error: Callable[[Exception], object]
    watches: set[Callable[[float], object]] = field(default_factory=set)
    ticks: set[Callable[[float], object]] = field(default_factory=set)
    note_goal: Callable[[bytes, bool], object] = lambda *_: None
    made: list[Capability] = field(default_factory=list)

    def capability(self, kind: type[C]) -> C | None:
        """Return the capability of a class; None where the node has none."""
        return next((made for made in self.made if isinstance(made, kind)), None)


class Capability:
    """
    Services, topics and actions that a node offers besides those of its core.

    It is made with the :class:`NodeParts` of a node, before there is an arm.

    :ivar services: types and handlers of its services by their names.
    :ivar late: names of those that are offered only once the kernels of paths are compiled.
    :ivar group: callbacks that need threads of their own; None for none.
    """

    services: Mapping[str, tuple[type, ServiceHandler]] = {}
    late: Sequence[str] = ()
    group: CallbackGroup | None = None

    def start(self) -> None:
        """Subscribe, and offer all but :attr:`services`."""

    def check(self, arm: Arm) -> None:
        """Refuse, by an exception, an arm that does not go with its parameters."""

    def adopt(self, followers: Followers) -> None:
        """Take the followers of an arm that is in use from now on."""

    def configure(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """Take a changed solver of the node, and changed settings of its followers."""

    def preempt(self, reason: str) -> None:
        """Stop the goals of actions, for the reason that is given."""

    def end(self) -> None:
        """End running motions, as the node ends; the ticks go on."""

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""
        return {}
