"""Viewer: connects the ROS graph with the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
import threading
import time
import traceback
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState
import viser
from visualization_msgs.msg import MarkerArray

from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError
from ik_service.extras.viewer.link.node_monitor import NodeMonitor
from ik_service.extras.viewer.link.path_link import message_of, PathLink, refusal_of
from ik_service.extras.viewer.link.remote_parameters import Field, Value
from ik_service.extras.viewer.link.task_queue import Reader, TaskQueue
from ik_service.extras.viewer.link.viewer_node import MAKE_REACH, RATE, REACH, ROBOT, ViewerNode
from ik_service.extras.viewer.link.world_picture import NO_WORLD, read_world_picture, WorldPicture
from ik_service.extras.viewer.motions import Grippers, Motions
from ik_service.extras.viewer.panel.panel import Actions, notify, Panel
from ik_service.extras.viewer.path_scene import PathScene
from ik_service.extras.viewer.paths import PathForm, Paths
from ik_service.extras.viewer.reach import Reach
from ik_service.extras.viewer.robot_display import PageTarget, RobotDisplay
from ik_service.extras.viewer.scene.robot_view import (
    build_robot_view,
    RobotSelection,
    RobotView,
    select_robot,
)
from ik_service.extras.viewer.scene.scene import add_ground
from ik_service.extras.viewer.teleop import HandForm, PARAMETERS, ServoLink, Teleop
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode
from ik_service.ros.demo.take_over import PAUSE_TOPIC
from ik_service.ros.markers.world_markers import TOPIC as WORLD_TOPIC
from ik_service.ros.parameters.parameter_declaration import ParameterValues
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.scene.frames import Frames

_IDLE_PERIOD = 0.2  # time between two steps while no page is open [s]
_PANEL_PERIOD = 0.2  # time between two updates of the panel [s]
_REQUEST_PERIOD = 0.1  # shortest time between two requests to the solver [s]


class Viewer:
    """Running viewer; everything in it happens in the thread that calls :meth:`run`."""

    def __init__(
        self, server: viser.ViserServer, node: ViewerNode, settings: ParameterValues
    ) -> None:
        self._server, self._node = server, node
        self._period = 1.0 / settings[RATE]
        self._warn = node.get_logger().warning
        self._errors = FaultLogger(self._warn)
        self._bad_states, self._bad_targets = FaultLogger(self._warn), FaultLogger(self._warn)
        self._bad_worlds = FaultLogger(self._warn)
        self._tasks = TaskQueue(self._on_error)
        add_ground(server)
        self._panel = Panel(server, self._actions())
        self._reach = Reach(
            server, self._panel, self._tasks, self._warn, settings[REACH], settings[MAKE_REACH]
        )
        self._target = PageTarget()
        self._monitor = NodeMonitor(
            node,
            self._tasks,
            {spec.name: settings[spec] for spec in ROBOT},
            self._on_fields,
            self._on_values,
            self._on_connected,
            self._on_stopped,
            self._refuse,
        )
        self._display: RobotDisplay | None = None
        self._world = NO_WORLD
        self._selection: RobotSelection | None = None
        self._robots = Reader(self._tasks)
        self._requested_at = 0.0  # time of the last request to the solver [s]
        link, tasks, panel = PathLink(node), self._tasks, self._panel
        self._motions = Motions(self._target, link, tasks, panel, self._refuse)
        self._grippers = Grippers(link, tasks, self._refuse)
        self._servo = ServoLink(node)
        self._paths = Paths(
            partial(PathForm, server.gui, panel.path_tab),
            lambda display: PathScene(server, display.view),
            link,
            tasks,
            self._target,
            self._motions,
            self._refuse,
        )
        self._teleop = Teleop(partial(HandForm, server.gui, panel.hand_tab), self._servo)
        self._rng = np.random.default_rng()
        self._pause = ''
        self._refreshed_at = 0.0
        self._subscribe()

        @server.on_client_connect
        async def _(_client: viser.ClientHandle) -> None:
            tasks.post(self._paths.hide_preview)

        @server.on_client_disconnect
        async def _(client: viser.ClientHandle) -> None:
            self._teleop.leave(client.client_id)

    def run(self, stop: threading.Event) -> None:
        """Run until an event is set."""
        due = time.monotonic()
        with closing(self._teleop):
            while not stop.wait(max(0.0, due - time.monotonic())):
                period = self._period if self._server.get_clients() else _IDLE_PERIOD
                due = max(due + period, time.monotonic())
                try:
                    self._step(time.monotonic())
                except Exception as error:  # one bad moment must not end the viewer
                    self._on_error(error)

    def _step(self, now: float) -> None:
        self._node.poll_states()
        self._tasks.run_pending()
        status = self._monitor.step(now)
        if self._world is not NO_WORLD and not self._node.is_world_known():
            self._show_world(NO_WORLD)
        self._select_robot()
        self._paths.step(now)
        self._teleop.step(status.is_connected, self._paths.is_running)
        display = self._display
        is_watched = bool(self._server.get_clients())
        if display is not None:
            self._monitor.update_facts(states_at=display.states_at)
            self._motions.remember_home()
            self._motions.step(now)
            pose = None if self._motions.is_executing else self._target.take_unpublished()
            if pose is not None:
                self._node.publish_target(pose, display.view.arm.chain.base_link)
                self._monitor.on_target()
            self._request_ik(now, display)
            if is_watched:
                with self._server.atomic():
                    display.draw(now, self._target, self._panel)
                    self._reach.draw(now, display, self._target)
        if is_watched:
            with self._server.atomic():
                self._paths.draw()
                self._teleop.draw()
        if is_watched and now - self._refreshed_at >= _PANEL_PERIOD:
            self._refreshed_at = now
            with self._server.atomic():
                pause = self._pause if self._node.is_demo_there() else ''
                self._panel.show_status(status, self._world.contacts, pause)
                self._panel.show_world(self._world.remarks)
                self._panel.states.follow(self._motions.state)
                if display is not None:
                    display.refresh(now, self._target, self._panel, self._monitor.report.solve)

    # From the graph

    def _subscribe(self) -> None:
        post, monitor = self._tasks.post, self._monitor
        taken = {
            'target_pose': self._on_target,
            'robot_description': monitor.on_description,
            'robot_description_semantic': monitor.on_semantics,
            '/parameter_events': monitor.on_parameters,
            WORLD_TOPIC: self._on_world,
            PAUSE_TOPIC: self._on_pause,
        }
        self._node.subscribe({
            'joint_states': partial(self._on_state, 'joint_states'),
            'joint_command': partial(self._on_state, 'joint_command'),
            'diagnostics': lambda m: post(monitor.on_diagnostics, m, time.monotonic()),
            **{topic: partial(post, take) for topic, take in taken.items()},
        })  # fmt: skip

    def _on_state(self, topic: str, message: JointState) -> None:
        display = self._display
        if display is None:
            return
        state = display.measured if topic == 'joint_states' else display.commanded
        with _reporting(self._bad_states, f'a message on {topic} is ignored'):
            state.update(message.name, message.position, time.monotonic())

    def _on_target(self, message: PoseStamped) -> None:
        self._monitor.on_target()
        display = self._display
        if display is None:
            return
        with _reporting(self._bad_targets, 'a target is not shown'):
            T = matrix_from_pose(message.pose)
            arm = display.view.arm
            posture = arm.postures.complete(display.measured.posture())
            frames = FrameResolver(display.measured, posture, Frames())
            T = frames.in_base(arm.chain.base_link, message.header.frame_id, T)
            self._target.receive(T, time.monotonic())

    def _on_world(self, message: MarkerArray) -> None:
        with _reporting(self._bad_worlds, 'the world is not shown'):
            self._show_world(read_world_picture(message))

    def _on_pause(self, reason: str) -> None:
        self._pause = reason

    def _show_world(self, picture: WorldPicture) -> None:
        self._world = picture
        self._panel.objects_switch.visible = bool(picture.parts)
        if self._display is not None:
            with self._server.atomic():
                self._display.show_world(picture)

    def _on_fields(self, fields: list[Field]) -> None:
        self._panel.form.show(fields)
        self._target.mark_unsolved()

    def _on_values(self, values: Mapping[str, Value]) -> None:
        self._panel.form.put(values)
        self._target.mark_unsolved()

    def _on_connected(self) -> None:
        """Drop the target, which a node that is new on the graph does not know."""
        self._motions.drop()
        self._servo.connect(self._monitor.facts.node)
        self._monitor.read_parameters(PARAMETERS, self._teleop.take_parameters)

    def _on_stopped(self) -> None:
        """Drop everything else that would move the arm after a stop, whoever asked for it."""
        self._target.clear_received()
        self._teleop.stop()

    # The robot

    def _select_robot(self) -> None:
        selection = select_robot(self._monitor.sources)
        if selection is None or selection == self._selection:
            return
        self._selection = selection
        warn = partial(self._tasks.post, self._warn)
        self._robots.start(
            lambda: build_robot_view(selection, warn), self._on_robot, self._on_no_robot
        )

    def _on_robot(self, view: RobotView) -> None:
        if self._display is not None:
            self._display.remove()
        self._display = RobotDisplay(self._server, view, self._on_drag)
        self._display.show_world(self._world)
        self._motions.show(self._display)
        self._grippers.show(self._display, self._panel.grippers)
        self._paths.show(self._display)
        self._teleop.show(view.arm.chain)
        self._reach.show(view.arm.chain)
        self._panel.show_remarks(view.remarks)
        self._panel.form.show_joints(view.arm.chain.n)
        self._server.gui.set_panel_label(view.arm.robot.name)
        self._monitor.update_facts(has_robot=True, robot_error='')

    def _on_no_robot(self, reason: str) -> None:
        self._monitor.update_facts(robot_error=reason)
        self._warn(f'the robot cannot be shown: {reason}')

    # From the page

    def _actions(self) -> Actions:
        post, ask = self._tasks.post, self._ask
        return Actions(
            home=lambda: ask(self._motions.go_home),
            random_pose=lambda: ask(self._motions.go_to_random_pose, self._rng),
            stop=self._stop,
            move_gripper=lambda *choice: ask(self._grippers.move, *choice),
            go_to_state=lambda name: ask(self._motions.go_to_state, name),
            move_joints=lambda joints: ask(self._motions.move_joints, joints),
            change=lambda values: post(self._change, values),
            change_text=lambda texts: post(self._change_text, texts),
            clear_trail=lambda: post(self._clear_trail),
            resume_demo=self._node.resume_demo,
        )

    def _ask(self, action: Callable[..., object], *arguments: object) -> None:
        self._tasks.post(self._monitor.ask, action, *arguments)

    def _stop(self) -> None:
        """Stop the arm, whatever moves it; from any thread."""
        self._teleop.stop()
        self._tasks.post(self._after_stop, self._servo.stop(self._monitor.facts.node))

    def _after_stop(self, is_asked: bool) -> None:
        self._paths.stop()
        if is_asked:
            self._motions.drop()  # as the node does with the target
        else:
            self._motions.stop()
        self._monitor.note_request()  # a stop is sent in any case: the node may only be silent

    def _on_drag(self, T_root_target: np.ndarray, is_going_on: bool) -> None:
        post = self._tasks.post if is_going_on else self._ask  # one notice for a whole drag
        post(self._motions.drag, T_root_target, is_going_on)

    def _clear_trail(self) -> None:
        if self._display is not None:
            self._display.clear_trail()

    def _change(self, values: Mapping[str, Value]) -> None:
        self._monitor.set_parameters(values, self._on_changed)

    def _change_text(self, texts: Mapping[str, str]) -> None:
        fields = self._panel.form.fields
        values: dict[str, Value] = {}
        faults = []
        for name, text in texts.items():
            try:
                values[name] = fields[name].parse(text)
            except IkServiceError as error:
                faults.append(str(error))
        if faults:
            self._refuse('; '.join(faults))
        elif values:
            self._change(values)

    def _on_changed(self, values: Mapping[str, Value], refusal: str) -> None:
        if refusal:
            self._refuse(refusal)
            self._panel.form.reset()
        else:
            self._panel.form.put(values)
            self._target.mark_unsolved()

    def _refuse(self, reason: str) -> None:
        notify(self._server, 'Not possible', reason)

    def _request_ik(self, now: float, display: RobotDisplay) -> None:
        """Ask the solver whether the target can be reached, unless an answer is still to come."""
        chain, pose = display.view.arm.chain, self._target.unsolved()
        if pose is None or now - self._requested_at < _REQUEST_PERIOD:
            return

        def on_response(response: Any) -> None:  # noqa: ANN401 (moveit_msgs has no types)
            self._tasks.post(take, response.error_code)

        def take(code: Any) -> None:  # noqa: ANN401
            if display is self._display:  # no other robot has come meanwhile
                is_reached = code.val == ErrorCode.SUCCESS
                text = message_of(code) if is_reached else refusal_of('compute_ik', code)
                display.take_solve_outcome(is_reached, text)

        request = self._node.ik_request(pose, chain.base_link, chain.tip_link)
        if self._node.ik.send(request, on_response):
            self._requested_at = now
            self._target.mark_solved()

    def _on_error(self, error: Exception) -> None:
        text = ''.join(traceback.format_exception(error))
        self._errors.report(f'error in the viewer, which continues:\n{text}')
        self._errors.clear()


@contextmanager
def _reporting(log: FaultLogger, text: str) -> Iterator[None]:
    """Log a fault of a message, once as long as it lasts."""
    try:
        yield
    except IkServiceError as error:
        log.report(f'{text}: {error}')
    else:
        log.clear()
