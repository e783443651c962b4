"""
Capabilities of a node besides those of its core, as move_group has them.

A package adds one by an entry point of the group :data:`GROUP`, which names a class that is made
with the :class:`NodeParts` of a node; all that are installed are loaded, in the order of their
names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Protocol

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node

from ik_service.arm.arm import MeasuredState
from ik_service.arm.group import SolverSettings
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.motion.following.followers import Followers
from ik_service.ros.motion.trajectory.playback import Play
from ik_service.ros.node.parameters import NodeParameters
from ik_service.ros.requests.frames import Frames
from ik_service.ros.requests.service_handler import Around, ServiceHandler
from ik_service.ros.scene.collision_world import CollisionWorld

GROUP = 'ik_service.capabilities'
"""Group of the entry points."""


class MotionInterface(Protocol):
    """Topics, services or actions of one interface that moves the arm."""

    group: CallbackGroup | None
    """Callbacks that need threads of their own; None for none."""

    def start(self) -> None:
        """Subscribe, and offer services and actions."""

    def tick(self, now: float) -> None:
        """Do the work of one command period; after the followers' tick."""

    def end(self) -> None:
        """End running motions, as the node ends; the ticks go on."""

    def preempt(self, reason: str) -> None:
        """Stop the goals of actions, for the reason that is given."""

    def report(self) -> Mapping[str, str]:
        """Return names and values for the diagnostics."""


@dataclass(frozen=True)
class NodeParts:
    """
    Parts of a node that a capability works with.

    :ivar node: the node.
    :ivar parameters: its parameters.
    :ivar frames: frames besides the links of the robot.
    :ivar collisions: the known world, and the checker of collisions.
    :ivar measured: returns the measured state; None before there is an arm.
    :ivar followers: returns the followers of the present arm; None before there is one.
    :ivar play: begins to move the arm along a trajectory.
    :ivar around: returns the first arguments of the handler of a service, by its name.
    :ivar on_error: called with an unexpected exception.
    """

    node: Node
    parameters: NodeParameters
    frames: Frames
    collisions: CollisionWorld
    measured: Callable[[], MeasuredState | None]
    followers: Callable[[], Followers | None]
    play: Play
    around: Callable[[str], Around]
    on_error: Callable[[Exception], object]


class Capability(Protocol):
    """
    Services and one motion interface that a node offers besides those of its core.

    :ivar services: types and handlers of its services by their names.
    :ivar late: names of those that are offered only once the kernels of paths are compiled.
    :ivar motion: its motion interface; None for none.
    """

    services: Mapping[str, tuple[type, ServiceHandler]]
    late: Sequence[str]
    motion: MotionInterface | None

    def configure(self, solver: SolverSettings, follower: FollowerSettings) -> None:
        """
        Take changed parameters.

        :param solver: name and options of the node's solver.
        :param follower: settings of the followers.
        """


def capabilities(parts: NodeParts) -> list[Capability]:
    """
    Make all capabilities that are installed.

    One that cannot be loaded or made is left out, with a warning.
    """
    made = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            made.append(entry.load()(parts))
        except Exception as error:  # whatever somebody else's package raises
            parts.node.get_logger().warning(f'capability {entry.name!r} is left out: {error!r}')
    return made
