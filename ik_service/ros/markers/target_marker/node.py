"""ROS node of an interactive marker that sets the target of an IK node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import importlib
import math
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, PoseStamped, Quaternion, Vector3
from moveit_msgs.srv import GetPositionFK
from rcl_interfaces.msg import ParameterType
from rclpy.clock import Clock, ClockType
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    Marker,
    MenuEntry,
)

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError, MissingRosPackageError
from ik_service.ros.common.conversions import matrix_from_pose, pose_from_matrix
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.common.qos import SERVICE_QOS
from ik_service.ros.parameters.parameter_declaration import (
    choices_of,
    declare_parameters,
    ParameterSpec,
)
from ik_service.ros.parameters.parameter_services import ParameterServices

ALL_AXES = (1.0, 1.0, 1.0, 1.0, 1.0, 1.0)  # task weights: position and orientation count
POSITION_WEIGHTS = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # task weights: the position alone counts

_NAME, _WEIGHTS = 'solver.name', 'solver.task_weights'
_TYPES = [ParameterType.PARAMETER_STRING, ParameterType.PARAMETER_DOUBLE_ARRAY]  # of the two


class RemoteSolver:
    """
    Client of the solver parameters of an IK node.

    Nothing is known before the answer to the first :meth:`refresh`.

    :param on_change: called when one of them has changed, in a callback of the node.
    :param on_refused: called with the reason for which a change was refused.
    :ivar choices: the methods to choose from.
    :ivar name: the method in use.
    :ivar weights: (6,) the task weights in use.
    """

    def __init__(
        self,
        node: Node,
        ik_node: str,
        on_change: Callable[[], None],
        on_refused: Callable[[str], None],
    ) -> None:
        self._client = AsyncParameterClient(node, ik_node)
        self._on_change = on_change
        self._on_refused = on_refused
        self._full_weights = ALL_AXES
        self.choices: tuple[str, ...] = ()
        self.name = ''
        self.weights: tuple[float, ...] = ()

    @property
    def position_only(self) -> bool:
        """Whether the orientation is free."""
        return is_position_only(self.weights)

    def refresh(self) -> None:
        """Ask for the values in force; does nothing while nobody is there to answer."""
        if not self._client.services_are_ready():
            return
        if not self.choices:
            self._client.describe_parameters([_NAME], self._on_described)
        self._client.get_parameters([_NAME, _WEIGHTS], self._on_values)

    def choose(self, name: str) -> None:
        """Ask for another method."""
        self._set(Parameter(_NAME, value=name))

    def free_orientation(self, free: bool) -> None:
        """Ask for the position only, or for the task weights as they were before that."""
        weights = POSITION_WEIGHTS if free else self._full_weights
        self._set(Parameter(_WEIGHTS, value=list(weights)))

    def _set(self, parameter: Parameter) -> None:
        if self._client.services_are_ready():
            self._client.set_parameters([parameter], self._on_set)
        else:
            self._on_refused('the IK node is not running')

    def _on_set(self, answer: Future) -> None:
        for result in answer.result().results:
            if not result.successful:
                self._on_refused(result.reason)
        self.refresh()

    def _on_described(self, answer: Future) -> None:
        descriptors = answer.result().descriptors
        choices = choices_of(descriptors[0]) if descriptors else ()
        if choices != self.choices:
            self.choices = choices
            self._on_change()

    def _on_values(self, answer: Future) -> None:
        values = answer.result().values
        if [value.type for value in values] != _TYPES:  # of a node of that name without these
            return
        name, weights = values[0].string_value, tuple(values[1].double_array_value)
        if not is_position_only(weights):
            self._full_weights = weights
        if (name, weights) != (self.name, self.weights):
            self.name, self.weights = name, weights
            self._on_change()


def is_position_only(weights: Sequence[float]) -> bool:
    """Return whether weights (6,) ask for a position and leave the orientation free."""
    return len(weights) == 6 and all(weights[:3]) and not any(weights[3:])


MARKER_NAME = 'target'

_BALL = 0.45  # of the marker's size
_BALL_COLOR = ColorRGBA(r=0.95, g=0.75, b=0.2, a=0.5)

# The controls act along and about the x axis of these orientations (x, y, z, w), which is the
# marker's own x, y or z axis.
_HALF = math.sqrt(0.5)
_AXES = {'x': (0.0, 0.0, 0.0, 1.0), 'y': (0.0, 0.0, _HALF, _HALF), 'z': (0.0, -_HALF, 0.0, _HALF)}


def target_marker(
    frame_id: str, pose: Pose, size: float, description: str, menu: Sequence[MenuEntry]
) -> InteractiveMarker:
    """
    Return a marker that is moved along, and turned about, each axis; its ball moves freely.

    It has no stamp: so viewers keep it in its frame, and send its poses in that frame.

    :param size: size of the rings [m].
    """
    marker = InteractiveMarker(name=MARKER_NAME, description=description, scale=size, pose=pose)
    marker.header.frame_id = frame_id
    marker.menu_entries = list(menu)
    marker.controls = [_ball(size)]
    for name, (x, y, z, w) in _AXES.items():
        for verb, mode in (
            ('move', InteractiveMarkerControl.MOVE_AXIS),
            ('turn', InteractiveMarkerControl.ROTATE_AXIS),
        ):
            control = InteractiveMarkerControl(name=f'{verb}_{name}', interaction_mode=mode)
            control.orientation = Quaternion(x=x, y=y, z=z, w=w)
            marker.controls.append(control)
    return marker


def _ball(size: float) -> InteractiveMarkerControl:
    """Return a ball that is dragged in all directions, and clicked on for the menu."""
    side = _BALL * size
    ball = Marker(type=Marker.SPHERE, scale=Vector3(x=side, y=side, z=side), color=_BALL_COLOR)
    ball.pose.orientation.w = 1.0
    return InteractiveMarkerControl(
        name='move_freely',
        interaction_mode=InteractiveMarkerControl.MOVE_ROTATE_3D,
        always_visible=True,
        markers=[ball],
    )


HOME = 'home'
TO_TIP = 'to_tip'
POSITION_ONLY = 'position_only'
SOLVER = 'solver:'  # commands of the entries; the last is followed by a solver's name


def menu_entries(solvers: Sequence[str], solver: str, position_only: bool) -> list[MenuEntry]:
    """Return the entries of the menu; without methods to choose from there is no choice."""
    entries = [
        _entry(1, 'Home', HOME),
        _entry(2, 'Marker to the tip', TO_TIP),
        _entry(3, _checked('Position only', position_only), POSITION_ONLY),
    ]
    if solvers:
        entries.append(_entry(4, 'Solver'))
    for number, name in enumerate(solvers, start=5):
        title = _checked(name.replace('_', ' '), name == solver)
        entries.append(_entry(number, title, f'{SOLVER}{name}', parent=4))
    return entries


def command_of(entries: Sequence[MenuEntry], number: int) -> str:
    """Return the command of an entry; empty where there is none."""
    return next((entry.command for entry in entries if entry.id == number), '')


def _entry(number: int, title: str, command: str = '', parent: int = 0) -> MenuEntry:
    return MenuEntry(
        id=number, parent_id=parent, title=title, command=command, command_type=MenuEntry.FEEDBACK
    )


def _checked(title: str, checked: bool) -> str:
    """Return a title with the mark that RViz draws as a box with a tick, or without one."""
    return f'[{"x" if checked else " "}] {title}'


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
        self._server = make_server(self, _NAMESPACE)  # rclpy destroys also what is half made
        parameters = declare_parameters(self, (_IK_NODE, _SIZE))
        self._ik_node = parameters[_IK_NODE]
        self._size = parameters[_SIZE]
        ParameterServices(self)
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
            self._solver.choices = ()  # another node may be there now
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
        if not self._fk.service_is_ready():
            return
        base_link, tip_link = links
        request = GetPositionFK.Request(fk_link_names=[tip_link])
        request.header.frame_id = base_link
        request.robot_state.is_diff = True  # to the measured state
        future = self._fk.call_async(request)
        future.add_done_callback(lambda answer: self._on_tip(links, answer, then))

    def _on_tip(
        self, links: tuple[str, str], answer: Future, then: Callable[[tuple[str, str], Pose], None]
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
        elif not response.pose_stamped:
            self.get_logger().warning(
                'compute_fk answers without a pose', throttle_duration_sec=10.0
            )
        else:
            then(links, response.pose_stamped[0].pose)

    @property
    def _full_name(self) -> str:
        return f'{self.get_namespace().rstrip("/")}/{self._ik_node}'

    # The marker

    def _begin(self, links: tuple[str, str], pose: Pose) -> None:
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
            try:
                self._pose = self._dragged_to(feedback)
            except IkServiceError as error:
                self.get_logger().warning(f'feedback ignored: {error}', throttle_duration_sec=10.0)
                self._move(self._pose)
                return
            self._publish(self._links[0], self._pose)
        elif feedback.event_type == InteractiveMarkerFeedback.MENU_SELECT:
            if self._present:
                self._set_note('')
            self._execute(command_of(self._menu, feedback.menu_entry_id))

    def _dragged_to(self, feedback: InteractiveMarkerFeedback) -> Pose:
        """Return a pose that viewers show, as they remove a marker at another one."""
        frame, base_link = feedback.header.frame_id, self._links[0]
        if frame.lstrip('/') != base_link.lstrip('/'):
            raise ArgumentError('frame_id', f"is {quote(frame)}, not the marker's, {base_link}")
        return pose_from_matrix(matrix_from_pose(feedback.pose, 'pose'))

    def _execute(self, command: str) -> None:
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
    """Return the class of the server of interactive markers; raises MissingRosPackageError."""
    try:
        return importlib.import_module('interactive_markers').InteractiveMarkerServer
    except ImportError as error:
        raise MissingRosPackageError('interactive_markers') from error


def links_of(message: DiagnosticArray, ik_node: str) -> tuple[str, str] | None:
    """
    Return the links of an IK node's chain, from its diagnostics.

    :returns: base link and tip link, empty before it has a robot; None when the message is not
        from that node.
    """
    wanted = f'{ik_node.rpartition("/")[2]}: robot description'
    for status in message.status:
        if status.name == wanted:
            values = {value.key: value.value for value in status.values}
            return values.get('base_link', ''), values.get('tip_link', '')
    return None
