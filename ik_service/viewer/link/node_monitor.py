"""Keeping in touch with the IK node: who it is, whether it lives, its parameters and reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
import time

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterEvent

from ik_service.viewer.link.viewer_node import ViewerNode
from ik_service.viewer.link.node_report import Entry, NodeReport, read_report
from ik_service.viewer.link.remote_parameters import changed_values, RemoteParameters
from ik_service.viewer.link.robot_source import RobotSources
from ik_service.viewer.link.task_queue import TaskQueue
from ik_service.viewer.panel.parameter_fields import Field, Value
from ik_service.viewer.panel.connection_status import ConnectionStatus, connection_status, ConnectionFacts
from ik_service.viewer.panel.solver_form import SPEED

_LOOK = 0.5  # time between two looks at the graph [s]
_RETRY = 2.0  # time after which unanswered questions are asked again [s]
_ROBOT = ('urdf', 'robot_description', 'base_link', 'tip_link', 'locked_joints')


class NodeMonitor:
    """
    The IK node, as far as it is known. To be used from one thread, that of the inbox.

    :param graph: the own node.
    :param inbox: brings what arrives in other threads.
    :param own: the viewer's own parameters about the robot.
    :param on_fields: called with the node's parameters when they were read.
    :param on_values: called with parameters of it that have changed.
    :param on_back: called when the node is there (again).
    :ivar signs: what is known of the others on the graph.
    :ivar clues: what tells of the robot.
    :ivar report: the node's last report.
    """

    def __init__(
        self,
        graph: ViewerNode,
        inbox: TaskQueue,
        own: Mapping[str, str],
        on_fields: Callable[[list[Field]], object],
        on_values: Callable[[Mapping[str, Value]], object],
        on_back: Callable[[], object],
    ) -> None:
        self._graph, self._inbox = graph, inbox
        self._on_fields, self._on_values, self._on_back = on_fields, on_values, on_back
        self._link: RemoteParameters | None = None
        self._looked_at = self._asked_at = -_RETRY
        self._has_fields = self._was_there = False
        self._changes: dict[int, float] = {}  # since when those without an answer are asked for
        self._numbers = count()
        self.signs = ConnectionFacts()
        self.clues = RobotSources(own=tuple(own.items()))
        self.report = NodeReport()

    def step(self, now: float) -> ConnectionStatus:
        """RobotVisuals around, now and then; return how things stand."""
        if now - self._looked_at >= _LOOK:
            self._looked_at = now
            self._look(now)
        found = connection_status(self.signs, now)
        if found.node_is_there and not self._was_there:
            self._has_fields = False  # it may have started anew, with other parameters
            self._on_back()
        self._was_there = found.node_is_there
        return found

    def note(self, **signs: object) -> None:
        """Note something that was found out elsewhere; fields of :class:`ConnectionFacts`."""
        self.signs = replace(self.signs, **signs)

    def set(
        self, values: Mapping[str, Value], on_result: Callable[[Mapping[str, Value], str], object]
    ) -> None:
        """Set parameters of the node; the callback is called with why it refuses them, or ''."""
        if self._link is None or not self._was_there:
            on_result(values, 'there is no IK node')
            return
        number = next(self._numbers)
        self._changes[number] = time.monotonic()
        self._note_changes()

        def on_answer(asked: Mapping[str, Value], refusal: str) -> None:
            self._changes.pop(number, None)
            self._note_changes()
            on_result(asked, refusal)

        self._link.set(values, lambda *result: self._inbox.post(on_answer, *result))

    def on_diagnostics(self, message: DiagnosticArray, now: float) -> None:
        """Take in diagnostics, which may be of other nodes as well."""
        entries = [
            Entry(
                status.name,
                status.level != DiagnosticStatus.OK,
                status.message,
                {value.key: value.value for value in status.values},
            )
            for status in message.status
        ]
        report = read_report(entries, self.signs.node.rpartition('/')[2])
        if report is None:
            return
        self.report = report
        self.note(diagnostics_at=now, doing=report.doing, worry=report.worry)
        self.clues = replace(
            self.clues, reported_base=report.base_link, reported_tip=report.tip_link
        )

    def on_description(self, text: str) -> None:
        """Take in a robot description from its topic."""
        self.clues = replace(self.clues, topic=text)

    def on_parameters(self, event: ParameterEvent) -> None:
        """Take in news of parameters, of whatever node."""
        if event.node != self.signs.node:
            return
        if event.new_parameters:  # it has just started
            self._has_fields = False
            self._give_up_changes()
        changed = changed_values(event)
        if changed:
            self._on_values(changed)

    def _look(self, now: float) -> None:
        offered = self._graph.ik.is_offered()
        if offered and (not self.signs.offered or not self.signs.node):
            name = self._graph.find_server() or self.signs.node
            if name != self.signs.node:
                self._link = self._graph.link_to(name)
                self._has_fields = False
                self.note(node=name, diagnostics_at=None)
        self.note(offered=offered)
        if not offered:
            self._give_up_changes()
        unread = self._link is not None and not self._has_fields
        if unread and now - self._asked_at >= _RETRY and self._link.is_ready():
            self._asked_at = now
            self._link.read(
                (*_ROBOT, SPEED),
                'solver',
                lambda fields: self._inbox.post(self._take_fields, fields),
                lambda values: self._inbox.post(self._take_robot, values),
            )

    def _give_up_changes(self) -> None:
        """Wait no longer for answers of a node that has ended."""
        self._changes.clear()
        self._note_changes()

    def _note_changes(self) -> None:
        self.note(changing_since=min(self._changes.values(), default=None))

    def _take_fields(self, fields: list[Field]) -> None:
        self._has_fields = True
        self._on_fields(fields)

    def _take_robot(self, values: Mapping[str, Value]) -> None:
        robot = tuple((name, str(values[name])) for name in _ROBOT if values.get(name))
        self.clues = replace(self.clues, node=robot)
