"""
The node's parameters: declared with description, unit and range; changed while the node runs.

A parameter of the solver or of the follower is a field of :class:`~ik_service.IkOptions` or
:class:`~ik_service.following.settings.FollowerSettings`, which check it; the tables in
:mod:`ik_service.ros.ik.parameter_table` only describe it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
import threading

from rcl_interfaces.msg import SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.arm.arm import ArmSettings, SolverSettings
from ik_service.common.number_list import parse_numbers, parse_positions
from ik_service.common.quoting import echo
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.following.settings import FollowerSettings
from ik_service.ros.common.parameter_names import given, refuse_unknown
from ik_service.ros.common.parameter_values import wrong_type
from ik_service.ros.ik.parameter_table import (
    ARM_ROWS,
    FOLLOWER_ROWS,
    NODE_ROWS,
    Row,
    SOLVER_PREFIX,
    SOLVER_ROWS,
)
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_spec

Value = object
Apply = Callable[[SolverSettings, FollowerSettings], None]
Prepare = Callable[[SolverSettings], None]

ROWS: dict[str, Row] = {
    row.name: row for row in (*ARM_ROWS, *NODE_ROWS, *FOLLOWER_ROWS, *SOLVER_ROWS)
}


class NodeParameters:
    """
    The parameters of a node, and the settings they stand for.

    :param node: the node that gets them.
    :ivar solver: settings of the solver, in force.
    :ivar follower: settings of the follower, in force.
    :ivar arm: what makes an arm of the robot.
    :ivar lock: held while settings change.
    :raises OptionError: a parameter that was given at the start has a value it cannot have.
    """

    def __init__(self, node: Node) -> None:
        self._values = {name: _declare(node, row) for name, row in ROWS.items()}
        refuse_unknown(node)
        self.solver = _solver_settings(self._values)
        self.follower = _follower_settings(self._values)
        self.arm = _arm_settings(self._values)
        self.lock = threading.Lock()
        self._apply: Apply = lambda solver, follower: None
        self._prepare: Prepare = lambda solver: None
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def when_changed(self, apply: Apply, prepare: Prepare = lambda solver: None) -> None:
        """
        Say what puts changed settings into force.

        What either raises as :class:`~ik_service.exceptions.IkServiceError` refuses the change,
        with the reason.

        :param apply: called with both settings before the change is accepted.
        :param prepare: called before that with the solver's, and may take its time: other
            parameters can be changed meanwhile.
        """
        self._apply = apply
        self._prepare = prepare

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changed = {p.name: p.value for p in parameters if p.name in ROWS}
        try:
            self._prepare(self._changed(changed)[1])
            with self.lock:
                self._change(changed)
        except IkServiceError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # whatever it is, the client gets an answer
            reason = f'error in the node: {type(error).__name__}: {error}'
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _change(self, changed: dict[str, Value]) -> None:
        values, solver, follower = self._changed(changed)
        self._apply(solver, follower)
        self._values, self.solver, self.follower = values, solver, follower

    def _changed(
        self, changed: dict[str, Value]
    ) -> tuple[dict[str, Value], SolverSettings, FollowerSettings]:
        """Return all values and settings as they would be."""
        values = {**self._values, **changed}
        for name, value in changed.items():
            _check(ROWS[name], value)
        return values, _solver_settings(values), _follower_settings(values)


def _declare(node: Node, row: Row) -> Value:
    try:
        value = node.declare_parameter(row.name, row.default, row.descriptor()).value
        _check(row, value)
        return value
    except InvalidParameterTypeException as error:
        wanted = Parameter.Type.from_parameter_value(row.default)
        raise OptionError(row.name, wrong_type(wanted, given(node)[row.name].value)) from error
    except InvalidParameterValueException as error:
        raise OptionError(row.name, str(error)) from error


def _check(row: Row, value: Value) -> None:
    """Refuse text that is no choice; ROS knows ranges of numbers only."""
    if row.choices and value not in row.choices:
        choices = ', '.join(choice or "''" for choice in row.choices)
        raise OptionError(row.name, f'has to be one of {choices}, not {echo(str(value))}')


def _solver_settings(values: Mapping[str, Value]) -> SolverSettings:
    name = str(values[f'{SOLVER_PREFIX}name'])
    try:
        chosen = {row.field: _setting(row, values[row.name]) for row in SOLVER_ROWS if row.field}
        options = IkOptions(**chosen)
        solver_spec(name).check_options(options)
    except OptionError as error:
        raise _prefixed(error) from error
    return SolverSettings(name, options)


def _setting(row: Row, value: Value) -> Value:
    """Value of a field that a parameter stands for."""
    if value == row.none:
        return None
    return parse_numbers(str(value), row.field) if row.numbers else value


def _prefixed(error: OptionError) -> OptionError:
    message = str(error).removeprefix(f'{error.option}: ')
    return OptionError(f'{SOLVER_PREFIX}{error.option}', message)


def _follower_settings(values: Mapping[str, Value]) -> FollowerSettings:
    return FollowerSettings(**{row.field: values[row.name] for row in FOLLOWER_ROWS})


def _arm_settings(values: Mapping[str, Value]) -> ArmSettings:
    return ArmSettings(
        base_link=str(values['base_link']),
        tip_link=str(values['tip_link']),
        locked=parse_positions(str(values['locked_joints']), 'locked_joints'),
        group_names=tuple(values['group_names']),
    )
