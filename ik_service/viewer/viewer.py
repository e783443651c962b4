"""The view: brings together what comes from the graph and what people do in the page."""

from __future__ import annotations

from collections.abc import Mapping
import threading
import time
import traceback

from geometry_msgs.msg import PoseStamped
import numpy as np
from sensor_msgs.msg import JointState
import viser

from ik_service.arm.arm import MeasuredState
from ik_service.common.fault_logger import FaultLogger
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.conversions import in_base, matrix_from_pose
from ik_service.viewer.link.graph import Graph
from ik_service.viewer.link.node_monitor import Contact
from ik_service.viewer.link.questions import Questions
from ik_service.viewer.link.robot_source import choose_robot, RobotChoice
from ik_service.viewer.link.target import Target
from ik_service.viewer.link.task_queue import Inbox
from ik_service.viewer.panel.measures import random_reachable
from ik_service.viewer.panel.panel import Actions, notify, Panel
from ik_service.viewer.panel.parameter_fields import Value
from ik_service.viewer.picture import Picture
from ik_service.viewer.scene.reach_layer import ReachLayer
from ik_service.viewer.scene.robot_view import load_in_background, RobotView
from ik_service.viewer.scene.scene import furnish
from ik_service.viewer.settings import Settings

_UNSEEN_PERIOD = 0.2  # time between two looks at the graph while no page is open [s]
_PANEL_PERIOD = 0.2  # time between two refreshes of the panel [s]


class Viewer:
    """
    A running view; everything in it happens in the thread that calls :meth:`run`.

    :param server: serves the page.
    :param graph: the node.
    :param settings: what the viewer was told.
    """

    def __init__(self, server: viser.ViserServer, graph: Graph, settings: Settings) -> None:
        self._server, self._graph = server, graph
        self._period = 1.0 / settings.rate
        self._warn = graph.get_logger().warning
        self._faults = FaultLogger(self._warn)
        self._bad_states, self._bad_targets = FaultLogger(self._warn), FaultLogger(self._warn)
        self._inbox = Inbox(self._on_error)
        post = self._inbox.post
        furnish(server)
        self._panel = Panel(
            server,
            Actions(
                home=lambda: post(self._go_home),
                random_pose=lambda: post(self._go_anywhere),
                stop=lambda: post(self._stop),
                move_joints=lambda joints: post(self._move_joints, joints),
                change=lambda values: post(self._change, values),
                change_text=lambda texts: post(self._change_text, texts),
            ),
        )
        self._reach = ReachLayer(server, self._panel, settings.reach, self._warn)
        self._panel.on_clear(lambda: post(self._clear_trail))
        self._contact = Contact(
            graph, self._inbox, settings.robot, self._on_fields, self._on_values, self._on_back
        )
        self._target = Target()
        self._picture: Picture | None = None
        self._choice: RobotChoice | None = None
        self._questions = Questions(graph, self._inbox, self._target, self._refuse)
        self._home: np.ndarray | None = None
        self._rng = np.random.default_rng()
        self._refreshed_at = 0.0
        self._listen()

    def run(self, stop: threading.Event) -> None:
        """Keep the view until the event is set."""
        due = time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            period = self._period if self._server.get_clients() else _UNSEEN_PERIOD
            due = max(due + period, time.monotonic())
            try:
                self._step(time.monotonic())
            except Exception as error:  # one bad moment must not end the view
                self._on_error(error)

    def _step(self, now: float) -> None:
        self._graph.poll_states()
        self._inbox.work_off()
        found = self._contact.step(now)
        self._find_robot()
        picture = self._picture
        watched = bool(self._server.get_clients())
        if picture is not None:
            self._contact.note(states_at=picture.states_at)
            if self._home is None:
                self._home = picture.joints()
            self._publish()
            self._questions.step(now, picture)
            if watched:
                with self._server.atomic():
                    picture.draw(now, self._target, self._panel)
                    self._reach.draw(picture.root_from_base())
        if watched and now - self._refreshed_at >= _PANEL_PERIOD:
            self._refreshed_at = now
            with self._server.atomic():
                self._panel.show_presence(found)
                if picture is not None:
                    picture.refresh(now, self._target, self._panel, self._contact.report.target)

    # What the graph brings

    def _listen(self) -> None:
        post = self._inbox.post
        contact = self._contact
        self._graph.listen(
            on_state=self._on_state,
            on_command=self._on_command,
            on_target=lambda message: post(self._on_target, message),
            on_diagnostics=lambda m: post(contact.on_diagnostics, m, time.monotonic()),
            on_description=lambda text: post(contact.on_description, text),
            on_parameters=lambda event: post(contact.on_parameters, event),
        )

    def _on_state(self, message: JointState) -> None:
        if self._picture is not None:
            self._take(self._picture.measured, message, 'joint_states')

    def _on_command(self, message: JointState) -> None:
        if self._picture is not None:
            self._take(self._picture.commanded, message, 'joint_command')

    def _take(self, state: MeasuredState, message: JointState, topic: str) -> None:
        try:
            state.update(message.name, message.position, time.monotonic())
        except IkServiceError as error:
            self._bad_states.report(f'a message on {topic} is ignored: {error}')
        else:
            self._bad_states.clear()

    def _on_target(self, message: PoseStamped) -> None:
        picture = self._picture
        if picture is None:
            return
        try:
            T = matrix_from_pose(message.pose)
            posture = picture.measured.posture()
            T = in_base(picture.view.arm, message.header.frame_id, T, posture)
        except IkServiceError as error:
            self._bad_targets.report(f'a target is not shown: {error}')
        else:
            self._bad_targets.clear()
            self._target.hear(T, time.monotonic())

    def _on_fields(self, fields: list) -> None:
        self._panel.form.show(fields)
        self._target.reconsider()

    def _on_values(self, values: Mapping[str, Value]) -> None:
        self._panel.form.put(values)
        self._target.reconsider()

    def _on_back(self) -> None:
        """Start with a node that knows of no target."""
        self._target.forget()
        self._panel.sliders.release()

    # The robot

    def _find_robot(self) -> None:
        choice = choose_robot(self._contact.clues)
        if choice is None or choice == self._choice:
            return
        self._choice = choice
        post = self._inbox.post
        load_in_background(
            choice,
            lambda complaint: post(self._warn, complaint),
            lambda *loaded: post(self._on_robot, *loaded),
            lambda *refused: post(self._on_no_robot, *refused),
        )

    def _on_robot(self, choice: RobotChoice, view: RobotView) -> None:
        if choice != self._choice:  # another one has come meanwhile
            return
        if self._picture is not None:
            self._picture.remove()
        self._target.forget()
        self._home = None
        self._picture = Picture(self._server, view, self._on_drag)
        self._panel.sliders.build(self._picture.places())
        self._reach.suit(view.arm.chain.base_link)
        self._server.gui.set_panel_label(view.arm.robot.name)
        self._contact.note(has_robot=True, complaint='')

    def _on_no_robot(self, choice: RobotChoice, error: Exception) -> None:
        if choice == self._choice:
            self._contact.note(complaint=str(error))
            self._warn(f'the robot cannot be shown: {error}')

    # What people do

    def _on_drag(self, T_root_target: np.ndarray, going_on: bool) -> None:
        self._inbox.post(self._drag, T_root_target, going_on)

    def _drag(self, T_root_target: np.ndarray, going_on: bool) -> None:
        if self._picture is not None:
            T = self._picture.base_from_root() @ T_root_target
            self._target.drag(T, going_on, time.monotonic())

    def _go_home(self) -> None:
        if self._home is None:
            self._refuse('home is where the arm was seen first, and no arm was seen yet')
        else:
            names = self._picture.view.arm.chain.joint_names
            self._questions.go_to(dict(zip(names, self._home.tolist(), strict=True)))

    def _go_anywhere(self) -> None:
        if self._picture is not None:
            chain = self._picture.view.arm.chain
            self._target.set(random_reachable(chain, self._rng, 0.1 * self._picture.view.size))

    def _stop(self) -> None:
        """Make the present pose the target: commands come to rest there."""
        tip = None if self._picture is None else self._picture.tip_pose()
        if tip is not None:
            self._target.set(tip)

    def _move_joints(self, joints: dict[str, float]) -> None:
        self._panel.sliders.hold(time.monotonic())
        self._questions.go_to(joints)

    def _clear_trail(self) -> None:
        if self._picture is not None:
            self._picture.clear_trail()

    def _change(self, values: Mapping[str, Value]) -> None:
        self._contact.set(values, self._on_changed)

    def _change_text(self, texts: Mapping[str, str]) -> None:
        fields = self._panel.form.fields
        try:
            values = {name: fields[name].parse(text) for name, text in texts.items()}
        except IkServiceError as error:
            self._refuse(str(error))
        else:
            if values:
                self._change(values)

    def _on_changed(self, values: Mapping[str, Value], refusal: str) -> None:
        if refusal:
            self._refuse(refusal)
            self._panel.form.reset()
        else:
            self._panel.form.put(values)
            self._target.reconsider()

    def _refuse(self, reason: str) -> None:
        notify(self._server, 'Not possible', reason)

    def _publish(self) -> None:
        pose = self._target.take_unpublished()
        if pose is not None:
            self._graph.publish_target(pose, self._picture.view.arm.chain.base_link)

    def _on_error(self, error: Exception) -> None:
        text = ''.join(traceback.format_exception(error))
        self._faults.report(f'error in the viewer, which goes on:\n{text}')
        self._faults.clear()
