"""Tabs of the page that move the arm along paths and by hand, and the stop of everything."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import viser

from ik_service.extras.viewer.link.node_monitor import NodeMonitor
from ik_service.extras.viewer.link.path_link import PathLink
from ik_service.extras.viewer.link.servo_link import ServoLink
from ik_service.extras.viewer.link.target import Target
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.link.viewer_node import ViewerNode
from ik_service.extras.viewer.motions import Motions
from ik_service.extras.viewer.panel.panel import Panel
from ik_service.extras.viewer.path.path_form import PathForm
from ik_service.extras.viewer.path.path_scene import PathScene
from ik_service.extras.viewer.path.paths import Paths
from ik_service.extras.viewer.robot_display import RobotDisplay
from ik_service.extras.viewer.teleop.hand_form import HandForm
from ik_service.extras.viewer.teleop.motion import PARAMETERS
from ik_service.extras.viewer.teleop.teleop import Teleop


class MotionTabs:
    """
    Paths and motion by hand. To be used from one thread, except for :meth:`stop`.

    :param server: the page's server.
    :param panel: holds the tabs.
    :param node: the ROS node.
    :param link: the services and the action for paths.
    :param tasks: brings what is done in the tabs.
    :param monitor: knows the IK node.
    :param target: the target of the page.
    :param motions: other motions of the page.
    :param refuse: called with the reason why something is not possible.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        panel: Panel,
        node: ViewerNode,
        link: PathLink,
        tasks: TaskQueue,
        monitor: NodeMonitor,
        target: Target,
        motions: Motions,
        refuse: Callable[[str], object],
    ) -> None:
        self._tasks, self._monitor, self._motions = tasks, monitor, motions
        self._servo = ServoLink(node)
        self._paths = Paths(
            partial(PathForm, server.gui, panel.path_tab),
            lambda display: PathScene(server, display.view),
            link,
            tasks,
            target,
            motions,
            refuse,
        )
        self._teleop = Teleop(partial(HandForm, server.gui, panel.hand_tab), self._servo)

        @server.on_client_disconnect
        async def _(client: viser.ClientHandle) -> None:
            self._teleop.leave(client.client_id)

    def show(self, display: RobotDisplay) -> None:
        """
        Take another robot.

        :param display: the robot.
        """
        self._paths.show(display)
        self._teleop.show(display.view.arm.chain)

    def connect(self) -> None:
        """Look for the services and parameters of a node that is new on the graph."""
        self._servo.connect(self._monitor.facts.node)
        self._monitor.read_parameters(PARAMETERS, self._teleop.take_parameters)

    def step(self, now: float, is_connected: bool) -> None:
        """
        Do what is due.

        :param now: on the monotonic clock [s].
        :param is_connected: whether the IK node takes requests.
        """
        self._paths.step(now)
        self._teleop.step(is_connected, self._paths.is_running)

    def draw(self) -> None:
        """Draw the path, and show the state in the tabs."""
        self._paths.draw()
        self._teleop.draw()

    def stop(self) -> None:
        """Stop the arm, whatever moves it; from any thread."""
        self._teleop.stop()
        self._tasks.post(self._after_stop, self._servo.stop(self._monitor.facts.node))

    def close(self) -> None:
        """End the motion by hand."""
        self._teleop.close()

    def _after_stop(self, is_asked: bool) -> None:
        self._paths.stop()
        if is_asked:
            self._motions.drop()  # as the node does with the target
        else:
            self._motions.stop()
