"""Connection to the IK node: its name, its presence on the graph, its parameters and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
import json
import math
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from moveit_msgs.srv import GetGroupUrdf
from rcl_interfaces.msg import ParameterEvent

from ik_service.exceptions import OptionError
from ik_service.extras.viewer.link.remote_parameters import (
    changed_values,
    Field,
    OnFields,
    OnResult,
    OnValues,
    RemoteParameters,
    Value,
)
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.link.viewer_node import ViewerNode
from ik_service.extras.viewer.panel.figures import Level, SolveReport, StatusText
from ik_service.extras.viewer.panel.solver_form import SPEED
from ik_service.extras.viewer.scene.robot_view import needs_service, RobotSources
from ik_service.motion.settings import FollowerState
from ik_service.ros.demo.take_over import STOPS
from ik_service.ros.node.parameter_table import TOOL_FRAMES

DIAGNOSTICS_TIMEOUT = 3.5
"""Silence after which a node that publishes diagnostics once a second counts as gone [s]."""

CHANGE_TIMEOUT = 1.0  # time that a change of parameters may take until the node counts as busy [s]
# Reports of the node that a new target makes untrue.
_ARRIVED = FollowerState.REACHED.value, FollowerState.RELEASED.value

STATES_TIMEOUT = 1.0  # age of the joint states from which on the arm counts as silent [s]


@dataclass(frozen=True)
class ConnectionFacts:
    """
    Observations of the node and the arm; times on the monotonic clock [s].

    :ivar node: full name of the node that offers ``compute_ik``; empty before one was seen.
    :ivar diagnostics_at: time of the node's last diagnostics; None without any.
    :ivar changing_since: time of the oldest change of parameters that the node has not answered;
        None when it has answered all.
    :ivar is_warning: whether it reports so with a warning or an error.
    :ivar states_at: time of the last joint state; None without any.
    :ivar robot_error: why the robot cannot be shown; empty when it can.
    """

    node: str = ''
    is_offered: bool = False
    diagnostics_at: float | None = None
    changing_since: float | None = None
    activity: str = ''
    is_warning: bool = False
    states_at: float | None = None
    has_robot: bool = False
    robot_error: str = ''


@dataclass(frozen=True)
class ConnectionStatus(StatusText):
    """Status that the page shows."""

    is_connected: bool = False


def connection_status(facts: ConnectionFacts, now: float) -> ConnectionStatus:
    """Return the status that observations amount to."""
    heard_at, since = facts.diagnostics_at, facts.changing_since
    is_silent = heard_at is not None and now - heard_at > DIAGNOSTICS_TIMEOUT
    is_gone = is_silent or not facts.is_offered
    level, is_connected = Level.WAITING, True
    if facts.robot_error:
        level, is_connected = Level.BAD, facts.is_offered
        headline, detail = 'The robot cannot be shown', facts.robot_error
    elif facts.is_offered and since is not None and now - since > CHANGE_TIMEOUT:
        headline = 'The IK node is busy'
        detail = f'changing parameters for {now - since:.0f} s; a solver that is chosen for the '
        detail += 'first time has to be compiled'
    elif is_gone and not facts.node:
        headline, is_connected = 'Waiting for an IK node', False
        detail = 'no node on the ROS graph offers compute_ik yet'
    elif is_gone:
        level, headline, is_connected = Level.BAD, 'The IK node is gone', False
        detail = f'nothing received from {facts.node}{_since(heard_at, now)}; this page continues '
        detail += 'when it is back'
    elif not facts.has_robot:
        headline = 'Waiting for a robot description'
        detail = 'from the node, the topic robot_description, or the parameter urdf'
    elif facts.states_at is None or now - facts.states_at > STATES_TIMEOUT:
        level, headline = Level.BAD, 'No joint states'
        detail = f'nothing received on joint_states{_since(facts.states_at, now) or " yet"}'
    else:
        level = Level.WAITING if facts.is_warning else Level.GOOD
        headline, detail = f'Connected to {facts.node}', facts.activity
    return ConnectionStatus(level, headline, detail, is_connected)


def _since(time: float | None, now: float) -> str:
    return '' if time is None else f' for {now - time:.0f} s'


_SOLVE = 'last_solve.'  # prefix of the keys that describe the last solve


@dataclass(frozen=True)
class NodeReport:
    """State of the node; texts are empty, and solve and stops None, where nothing is known."""

    base_link: str = ''
    tip_link: str = ''
    activity: str = ''
    is_warning: bool = False
    solve: SolveReport | None = None
    stops: int | None = None


def read_report(message: DiagnosticArray, node: str) -> NodeReport | None:
    """Return the state that a node reports; None when the message is from another node."""
    parts = {
        status.name.removeprefix(f'{node}: '): status
        for status in message.status
        if status.name.startswith(f'{node}: ')
    }
    if not parts:
        return None
    robot, following = parts.get('robot description'), parts.get('following')
    current = following or robot
    values = {name: {v.key: v.value for v in part.values} for name, part in parts.items()}
    ends, stops = values.get('robot description', {}), values.get('motions', {}).get(STOPS, '')
    return NodeReport(
        base_link=ends.get('base_link', ''),
        tip_link=ends.get('tip_link', ''),
        activity=current.message if current else '',
        is_warning=current is not None and current.level != DiagnosticStatus.OK,
        solve=_last_solve(values.values()),
        stops=int(stops) if stops.isdecimal() else None,
    )


def _last_solve(parts: Iterable[Mapping[str, str]]) -> SolveReport | None:
    """Return the newest solve that a node's parts report."""
    reported = [values for values in parts if f'{_SOLVE}iterations' in values]
    if not reported:
        return None
    return _read_solve(max(reported, key=lambda v: _number(v, 'stamp') or 0.0))


def _read_solve(values: Mapping[str, str]) -> SolveReport | None:
    """Return the solve that a part reports; None when a number is missing or wrong."""
    iterations, searches = _number(values, 'iterations'), _number(values, 'searches')
    solve_time = _number(values, 'solve_time')
    if iterations is None or searches is None or solve_time is None:
        return None
    texts = {key: values.get(f'{_SOLVE}{key}', '') for key in ('status', 'solver', 'source')}
    return SolveReport(
        int(iterations),
        int(searches),
        solve_time,
        position_error=_number(values, 'position_error'),
        orientation_error=_number(values, 'orientation_error'),
        **texts,
    )


def _number(values: Mapping[str, str], key: str) -> float | None:
    """Return a number of the last solve; None when it is missing, negative or not finite."""
    try:
        number = float(values[f'{_SOLVE}{key}'])
    except (KeyError, ValueError):
        return None
    return number if 0.0 <= number < math.inf else None


_GRAPH_PERIOD = 0.5  # time between two queries of the graph [s]
_RETRY_PERIOD = 2.0  # time after which unanswered requests are sent again [s]
_ROBOT = (
    'urdf',
    'robot_description',
    'package_dirs',
    'srdf',
    'robot_description_semantic',
    'base_link',
    'tip_link',
    'locked_joints',
)


class NodeMonitor:
    """
    State of the IK node. To be used from one thread, that of the task queue.

    :param tasks: delivers data that arrive in other threads.
    :param on_connected: called when the node appears on the graph, or is back.
    :param on_stopped: called when the node reports another stop of the arm, whoever asked for it.
    :param refuse: takes why what was asked for is not done.
    """

    def __init__(
        self,
        node: ViewerNode,
        tasks: TaskQueue,
        own: Mapping[str, str],
        on_fields: OnFields,
        on_values: OnValues,
        on_connected: Callable[[], object],
        on_stopped: Callable[[], object],
        refuse: Callable[[str], object],
    ) -> None:
        self._node, self._tasks, self._refuse = node, tasks, refuse
        self._on_fields, self._on_values, self._on_connected = on_fields, on_values, on_connected
        self._on_stopped = on_stopped
        self._parameters: RemoteParameters | None = None
        self._queried_at = self._read_at = self._asked_at = -_RETRY_PERIOD
        self._asked_for_at = -math.inf
        self._has_fields = self._was_connected = False
        self._changes: dict[int, float] = {}  # start times of the changes without an answer
        self._change_numbers = count()
        self.facts = ConnectionFacts()
        self.sources = RobotSources(own=tuple(own.items()))
        self.report = NodeReport()

    def step(self, now: float) -> ConnectionStatus:
        """Query the graph from time to time; return the status of the connection."""
        if now - self._queried_at >= _GRAPH_PERIOD:
            self._queried_at = now
            self._query_graph(now)
        status = connection_status(self.facts, now)
        if status.is_connected and not self._was_connected:
            self._has_fields = False  # it may be a new process, with other parameters
            self._on_connected()
        heard_at = self.facts.diagnostics_at or -math.inf
        if self._was_connected and not status.is_connected and self._asked_for_at > heard_at:
            self._refuse(f'{status.headline}: what was asked of it last may not have been done')
        self._was_connected = status.is_connected
        return status

    def note_request(self) -> bool:
        """Note that the node is to do something; return whether it is there, or else refuse it."""
        now = time.monotonic()
        status = connection_status(self.facts, now)
        if status.is_connected:
            self._asked_for_at = now
        else:
            self._refuse(f'{status.headline}: {status.detail}')
        return status.is_connected

    def ask(self, action: Callable[..., object], *arguments: Any) -> None:  # noqa: ANN401
        """Call an action that has the node move the arm, unless no node is there."""
        if self.note_request():
            action(*arguments)

    def update_facts(self, **changes: Any) -> None:  # noqa: ANN401 (of the field's type)
        """Update the known facts: fields of :class:`ConnectionFacts` with new values."""
        self.facts = replace(self.facts, **changes)

    def set_parameters(self, values: Mapping[str, Value], on_result: OnResult) -> None:
        """Set parameters; ``on_result`` takes them and the node's refusal, empty for none."""
        if self._parameters is None or not self._was_connected:
            on_result(values, 'there is no IK node')
            return
        number = next(self._change_numbers)

        def on_response(asked: Mapping[str, Value], refusal: str) -> None:
            self._changes.pop(number, None)
            self._update_changes()
            on_result(asked, refusal)

        self._parameters.set(values, lambda *result: self._tasks.post(on_response, *result))
        self._changes[number] = time.monotonic()  # after it, since it may refuse them by an error
        self._update_changes()

    def read_parameters(
        self, names: Sequence[str], on_values: Callable[[Mapping[str, Value]], object]
    ) -> None:
        """Request parameters of the node; ``on_values`` gets those that it has, if it answers."""
        if self._parameters is not None and self._parameters.is_ready():
            self._parameters.read(
                names, (), lambda fields: None, lambda values: self._tasks.post(on_values, values)
            )

    def on_diagnostics(self, message: DiagnosticArray, now: float) -> None:
        """Take in diagnostics."""
        report = read_report(message, self.facts.node.rpartition('/')[2])
        if report is None:
            return
        before, self.report = self.report.stops, report
        if before is not None and report.stops is not None and report.stops > before:
            self._on_stopped()
        self.update_facts(
            diagnostics_at=now, activity=report.activity, is_warning=report.is_warning
        )
        self.sources = replace(
            self.sources, reported_base=report.base_link, reported_tip=report.tip_link
        )

    def on_target(self) -> None:
        """Forget that the node has reached a target, as there is another one."""
        if self.facts.activity in _ARRIVED:
            self.update_facts(activity='')

    def on_description(self, text: str) -> None:
        """Take in a robot description."""
        self.sources = replace(self.sources, topic=text)

    def on_semantics(self, text: str) -> None:
        """Take in a semantic description."""
        self.sources = replace(self.sources, semantic_topic=text)

    def on_parameters(self, event: ParameterEvent) -> None:
        """Take in changed parameters."""
        if event.node != self.facts.node:
            return
        if event.new_parameters:  # it has just started
            self._has_fields = False
            self._drop_changes()
        changed = changed_values(event)
        if any(map(_is_tool_frame, changed)):
            self._has_fields, self._read_at = False, -math.inf  # to be read again at once
        if changed:
            self._on_values(changed)

    def _query_graph(self, now: float) -> None:
        is_offered = self._node.ik.is_offered()
        if is_offered and (not self.facts.is_offered or not self.facts.node):
            name = self._node.find_ik_node() or self.facts.node
            if name != self.facts.node:
                self._parameters = self._node.parameters_of(name)
                self._has_fields = False
                self.update_facts(node=name, diagnostics_at=None)
        self.update_facts(is_offered=is_offered)
        if not is_offered:
            self._drop_changes()
        self._read_parameters(now)
        self._ask_for_urdf(now)

    def _read_parameters(self, now: float) -> None:
        parameters = self._parameters
        if parameters is None or self._has_fields or now - self._read_at < _RETRY_PERIOD:
            return
        if parameters.is_ready():
            self._read_at = now
            parameters.read(
                (*_ROBOT, TOOL_FRAMES.name, SPEED),
                ('solver.', f'{TOOL_FRAMES.name}.'),
                lambda fields: self._tasks.post(self._take_fields, fields),
                lambda values: self._tasks.post(self._take_robot, values),
            )

    def _ask_for_urdf(self, now: float) -> None:
        """Ask the node for its robot, where its parameters do not tell, until it answers."""
        if self.sources.served == '' and now - self._asked_at >= _RETRY_PERIOD:
            take = self._take_urdf
            if self._node.urdf.send(
                GetGroupUrdf.Request(), lambda response: self._tasks.post(take, response)
            ):
                self._asked_at = now

    def _take_urdf(self, response: GetGroupUrdf.Response) -> None:
        if self.sources.served == '':  # empty again, where the node has no arm yet
            self.sources = replace(self.sources, served=response.urdf_string)

    def _drop_changes(self) -> None:
        """Wait no longer for responses of a node that has ended."""
        self._changes.clear()
        self._update_changes()

    def _update_changes(self) -> None:
        self.update_facts(changing_since=min(self._changes.values(), default=None))

    def _take_fields(self, fields: list[Field]) -> None:
        self._has_fields = True
        self._on_fields([field for field in fields if not _is_tool_frame(field.name)])

    def _take_robot(self, values: Mapping[str, Value]) -> None:
        robot = {name: str(values[name]) for name in _ROBOT if values.get(name)}
        with suppress(OptionError):  # the node has accepted them
            robot[TOOL_FRAMES.name] = json.dumps(TOOL_FRAMES.read(values))
        served = '' if needs_service(robot) else None
        self.sources = replace(self.sources, node=tuple(robot.items()), served=served)


def _is_tool_frame(parameter: str) -> bool:
    return parameter == TOOL_FRAMES.name or TOOL_FRAMES.holds(parameter)
