"""Parameters of the simulated arm's node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.common.option_values import parse_positions
from ik_service.exceptions import IkServiceError
from ik_service.ros.parameters.parameter_declaration import (
    declare_parameters,
    ParameterSpec,
    Value,
)
from ik_service.sim.real_time_simulation import FaultSettings
from ik_service.sim.simulated_arm import DEFAULT_ENGINE, ENGINES

_PREFIX = 'faults.'

URDF = ParameterSpec(
    'urdf', '', 'Path of a URDF or xacro file; wins over robot_description', read_only=True
)
ROBOT_DESCRIPTION = ParameterSpec(
    'robot_description',
    '',
    'URDF or xacro text; empty: from the topic of that name, where xacro is refused',
    read_only=True,
)
XACRO_ARGS = ParameterSpec(
    'xacro_args',
    '',
    "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
    read_only=True,
)
PACKAGE_DIRS = ParameterSpec(
    'package_dirs',
    '',
    "Folders in which more packages lie, for xacro files, with ':' between them",
    read_only=True,
)
ENGINE = ParameterSpec(
    'engine',
    DEFAULT_ENGINE,
    'first_order: kinematics without mass; mujoco: physics, needs the extra sim',
    choices=ENGINES,
    read_only=True,
)
IK_NODE = ParameterSpec(
    'ik_node',
    'ik_service',
    'Name of the IK node, which drops its target at ~/reset',
    read_only=True,
)
GRIPPER_ACTION = ParameterSpec(
    'gripper_action',
    'gripper_action_controller/gripper_cmd',
    'Action (control_msgs/GripperCommand) of the first hand with one joint; empty: none',
    read_only=True,
)
RATE = ParameterSpec('rate', 100.0, 'Joint states a second [Hz]', (1.0, 500.0), read_only=True)
TIME_CONSTANT = ParameterSpec(
    'time_constant',
    0.05,
    'Time constant of the first-order approach to a command [s]; with the engine mujoco, to the '
    'set-points of the drives',
    (0.0, 10.0),
    read_only=True,
)
GRAVITY_COMPENSATION = ParameterSpec(
    'gravity_compensation',
    1.0,
    'Share of the gravity torques that the drives compensate; engine mujoco only',
    (0.0, 1.0),
    read_only=True,
)
INITIAL_POSITIONS = ParameterSpec(
    'initial_positions',
    '',
    "Where joints start [rad or m], within their limits, such as 'joint_1=0.5, joint_2=-1'; the "
    'others start in the middle of them',
    read_only=True,
)

_FIXED = (
    URDF,
    ROBOT_DESCRIPTION,
    XACRO_ARGS,
    PACKAGE_DIRS,
    ENGINE,
    IK_NODE,
    GRIPPER_ACTION,
    RATE,
    TIME_CONSTANT,
    GRAVITY_COMPENSATION,
    INITIAL_POSITIONS,
)


def _fault(
    field: str, description: str, bounds: tuple[float, float] | None = None
) -> ParameterSpec:
    default = getattr(FaultSettings, field)
    return ParameterSpec(f'{_PREFIX}{field}', default, description, bounds, field=field)


_FAULTS = (
    _fault('lost_commands', 'Share of the commands that never arrive', (0.0, 1.0)),
    _fault('lost_states', 'Share of the joint states that are never sent', (0.0, 1.0)),
    _fault('command_delay', 'By how much commands come late [s]', (0.0, 2.0)),
    _fault('state_delay', 'By how much joint states come late [s]', (0.0, 2.0)),
    _fault('stuck_joint', 'A joint that does not move; empty: none'),
    _fault(
        'noise', 'Standard deviation of the error of measured positions [rad or m]', (0.0, 0.1)
    ),
    _fault('seed', 'Seed of the random numbers; a new one starts them anew', (0, 2**31 - 1)),
)
"""Faults, which may be changed at any time."""


T = TypeVar('T', bound=Value)


class SimParameters:
    """
    Parameters of a simulated arm's node, and the faults they ask for.

    :ivar faults: faults that are injected.
    :ivar initial_positions: where joints start [rad] or [m], by name.
    :raises IkServiceError: a parameter has a value that it cannot have.
    """

    def __init__(self, node: Node) -> None:
        self._values = declare_parameters(node, (*_FIXED, *_FAULTS))
        self.initial_positions = parse_positions(self[INITIAL_POSITIONS], INITIAL_POSITIONS.name)
        # ROS enforces the types.
        faults: dict[str, Any] = {spec.field: self._values[spec] for spec in _FAULTS}
        self.faults = FaultSettings(**faults)
        self._apply: Callable[[FaultSettings], None] = lambda faults: None
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, spec: ParameterSpec[T]) -> T:
        """Return the value of a read-only parameter."""
        return self._values[spec]

    def on_faults_changed(self, apply: Callable[[FaultSettings], None]) -> None:
        """
        Register the callback that applies changed faults.

        :param apply: called before the change is accepted; raising an
            :class:`~ik_service.exceptions.IkServiceError` refuses the change, with the reason.
        """
        self._apply = apply

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changed = {
            parameter.name.removeprefix(_PREFIX): parameter.value
            for parameter in parameters
            if parameter.name.startswith(_PREFIX)
        }
        if not changed:
            return SetParametersResult(successful=True)
        try:
            faults = FaultSettings(**{**vars(self.faults), **changed})
            self._apply(faults)
        except IkServiceError as error:
            return SetParametersResult(successful=False, reason=str(error))
        self.faults = faults
        return SetParametersResult(successful=True)
