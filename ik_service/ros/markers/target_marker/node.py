"""ROS node of an interactive marker that sets the target of an IK node."""

from __future__ import annotations

from collections.abc import Callable
import importlib
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, PoseStamped
from moveit_msgs.srv import GetPositionFK
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.task import Future
from visualization_msgs.msg import InteractiveMarkerFeedback, MenuEntry

from ik_service.exceptions import MissingRosPackageError
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.parameter_declaration import declare_parameters, ParameterSpec
from ik_service.ros.common.parameter_services import ParameterServices
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.markers.target_marker.menu import (
    command_of,
    HOME,
    menu_entries,
    POSITION_ONLY,
    SOLVER,
    TO_TIP,
)
from ik_service.ros.markers.target_marker.message import MARKER_NAME, target_marker
from ik_service.ros.markers.target_marker.remote_solver import RemoteSolver

_SILENCE = 3.5  # time without diagnostics, which come every second, until the IK node is gone [s]
_NAMESPACE = 'target_marker'

_IK_NODE = ParameterSpec('ik_node', 'ik_service', 'Name of the IK node', read_only=True)
_SIZE = ParameterSpec(
    'size', 0.25, 'Size of the marker [m], 0.001 to 100', (1e-3, 100.0), read_only=True
)


class TargetMarkerNode(Node):
    """
    Node that shows a marker at the tip of an IK node's arm; dragging it moves the target.

    The marker appears where the tip is, and then stays where it is dragged. The IK node may come
    late, end and come back: its ``diagnostics`` are watched for that.

    :param namespace: namespace of the node; None for that of the command line.
    :param context: context of rclpy; None for the global one.
    :raises MissingRosPackageError: interactive_markers is not installed.
    :raises OptionError: a parameter has a value it cannot have.
    """

    def __init__(self, namespace: str | None = None, context: Context | None = None) -> None:
        make_server = interactive_marker_server()
        super().__init__(
            'target_marker', context=context, namespace=namespace, start_parameter_services=False
        )
        parameters = declare_parameters(self, (_IK_NODE, _SIZE))
        self._ik_node = parameters[_IK_NODE]
        self._size = parameters[_SIZE]
        ParameterServices(self)
        self._server = make_server(self, _NAMESPACE)
        self._target = self.create_publisher(PoseStamped, 'target_pose', 1)
        self._fk = self.create_client(GetPositionFK, 'compute_fk', qos_profile=SERVICE_QOS)
        self._solver = RemoteSolver(self, self._ik_node, self._draw, self._on_refused)
        self._links: tuple[str, str] = ('', '')
        self._pose: Pose | None = None
        self._home: Pose | None = None
        self._menu: list[MenuEntry] = []
        self._note = ''
        self._heard_at = -math.inf
        self._present = False
        self.create_subscription(DiagnosticArray, 'diagnostics', self._on_diagnostics, 10)
        # Not by ROS time, which stands still in a paused simulation.
        self.create_timer(1.0, self._on_second, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def destroy_node(self) -> None:
        """Remove the marker, and destroy the node."""
        self._server.shutdown()
        super().destroy_node()

    # The IK node

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        links = links_of(message, self._ik_node)
        if links is None:
            return
        self._heard_at = time.monotonic()
        if not self._present:
            self._present = True
            self._solver.forget()
            if self._pose is not None:
                self.get_logger().info(f'the IK node {self._full_name} is back')
                self._set_note('')
        self._solver.refresh()
        if all(links) and (links != self._links or self._pose is None):
            self._ask_for_tip(links, self._begin)

    def _on_second(self) -> None:
        if time.monotonic() - self._heard_at < _SILENCE:
            return
        if self._present:
            self._present = False
            self.get_logger().warning(
                f'the IK node {self._full_name} does not answer: the arm does not follow the '
                'marker until it is back'
            )
            self._set_note(f'{self._ik_node} is silent')
        elif self._pose is None:
            self.get_logger().info(
                f'waiting for the IK node {self._full_name}', throttle_duration_sec=10.0
            )

    def _ask_for_tip(
        self, links: tuple[str, str], then: Callable[[tuple[str, str], Pose], None]
    ) -> None:
        """Ask for the pose of the tip, and call a function with it."""
        if not self._fk.service_is_ready():
            return
        base_link, tip_link = links
        request = GetPositionFK.Request(fk_link_names=[tip_link])
        request.header.frame_id = base_link
        request.robot_state.is_diff = True  # to the measured state
        future = self._fk.call_async(request)
        future.add_done_callback(lambda answer: self._on_tip(links, answer, then))

    def _on_tip(
        self,
        links: tuple[str, str],
        answer: Future,
        then: Callable[[tuple[str, str], Pose], None],
    ) -> None:
        response = answer.result()
        text = getattr(response.error_code, 'message', '')
        if response.error_code.val != ErrorCode.SUCCESS:
            self.get_logger().warning(
                f'compute_fk refused: {text or response.error_code.val}',
                throttle_duration_sec=10.0,
            )
        elif text:  # joints were assumed
            self.get_logger().info(f'waiting for joint states; {text}', throttle_duration_sec=10.0)
        else:
            then(links, response.pose_stamped[0].pose)

    @property
    def _full_name(self) -> str:
        return f'{self.get_namespace().rstrip("/")}/{self._ik_node}'

    # The marker

    def _begin(self, links: tuple[str, str], pose: Pose) -> None:
        """Show the marker at the tip of another arm."""
        self._links = links
        self._pose = self._home = pose
        self.get_logger().info(f'ready: the marker is at {links[1]}, in the frame {links[0]}')
        self._draw()

    def _draw(self) -> None:
        """Show the marker anew; only after a change, because that interrupts a drag."""
        if self._pose is None:
            return
        base_link, tip_link = self._links
        solver = self._solver
        self._menu = menu_entries(solver.choices, solver.name, solver.position_only)
        text = self._note or tip_link
        marker = target_marker(base_link, self._pose, self._size, text, self._menu)
        self._server.insert(marker, feedback_callback=self._on_feedback)
        self._server.applyChanges()

    def _move(self, pose: Pose) -> None:
        self._pose = pose
        self._server.setPose(MARKER_NAME, pose)
        self._server.applyChanges()

    def _set_note(self, note: str) -> None:
        """Show a note above the marker instead of the tip's name; empty for the name."""
        if note != self._note:
            self._note = note
            self._draw()

    def _on_refused(self, reason: str) -> None:
        self.get_logger().warning(f'refused: {reason}')
        self._set_note(f'refused: {reason}')

    # The user

    def _on_feedback(self, feedback: InteractiveMarkerFeedback) -> None:
        if feedback.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
            self._pose = feedback.pose
            self._publish(feedback.header.frame_id, feedback.pose)
        elif feedback.event_type == InteractiveMarkerFeedback.MENU_SELECT:
            if self._present:
                self._set_note('')
            self._execute(command_of(self._menu, feedback.menu_entry_id))

    def _execute(self, command: str) -> None:
        """Execute the command of an entry of the menu."""
        if command == HOME:
            self._move(self._home)
            self._publish(self._links[0], self._home)
        elif command == TO_TIP:
            self._ask_for_tip(self._links, lambda _links, pose: self._move(pose))
        elif command == POSITION_ONLY:
            self._solver.free_orientation(not self._solver.position_only)
        elif command.startswith(SOLVER):
            self._solver.choose(command.removeprefix(SOLVER))

    def _publish(self, frame_id: str, pose: Pose) -> None:
        message = PoseStamped(pose=pose)
        message.header.frame_id = frame_id
        message.header.stamp = self.get_clock().now().to_msg()
        self._target.publish(message)


def interactive_marker_server() -> type:
    """
    Return the class of the server of interactive markers.

    :raises MissingRosPackageError: interactive_markers is not installed.
    """
    try:
        return importlib.import_module('interactive_markers').InteractiveMarkerServer
    except ImportError as error:
        raise MissingRosPackageError('interactive_markers') from error


def links_of(message: DiagnosticArray, ik_node: str) -> tuple[str, str] | None:
    """
    Return the links of an IK node's chain, from its diagnostics.

    :param message: the diagnostics.
    :param ik_node: name of the node.
    :returns: base link and tip link, empty before it has a robot; None when the message is not
        from that node.
    """
    wanted = f'{ik_node.rpartition("/")[2]}: robot description'
    for status in message.status:
        if status.name == wanted:
            values = {value.key: value.value for value in status.values}
            return values.get('base_link', ''), values.get('tip_link', '')
    return None
