"""Access of the followers to the graph and to the known world, through their node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ik_service.ros.common.motion_clock import MotionClock
from ik_service.ros.motion.following.command_monitor import CommandMonitor
from ik_service.ros.requests.frames import Frames
from ik_service.ros.scene.collision_world import CollisionWorld


@dataclass(frozen=True)
class NodeContext:
    """
    Access to the graph for the follower, through its node.

    :ivar clock: returns the node's time [ns], which may be simulated.
    :ivar state_publishers: returns the names of the nodes that publish joint states.
    :ivar monitor: monitor of other publishers of commands; None without one.
    :ivar frames: frames besides the links of the robot.
    :ivar collisions: the known world, and the checker of collisions with it.
    :ivar motion_clock: the clock of everything that moves the arm.
    """

    clock: Callable[[], int]
    state_publishers: Callable[[], list[str]] = list
    monitor: CommandMonitor | None = None
    frames: Frames = field(default_factory=Frames)
    collisions: CollisionWorld = field(default_factory=lambda: CollisionWorld(Frames()))
    motion_clock: MotionClock = field(default_factory=MotionClock)

    def other_commanders(self) -> str:
        """Return the names of the other nodes that command the arm; empty for none."""
        return self.monitor.others() if self.monitor else ''

    def predecessor(self) -> str:
        """Return who has begun to command the arm before this node; empty for nobody."""
        return self.monitor.predecessor() if self.monitor else ''

    def namesake(self) -> str:
        """Return the name of this node if there seems to be a second one of it; else empty."""
        monitor = self.monitor
        return monitor.own if monitor is not None and monitor.has_namesake() else ''
