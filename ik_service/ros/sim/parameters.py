"""Parameters of the simulated arm's node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.common.number_parsing import parse_positions
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.declare import Bounds, declare, Value
from ik_service.sim.engine_registry import check_engine, DEFAULT_ENGINE, ENGINES
from ik_service.sim.faults import FaultSettings

_PREFIX = 'faults.'

_FIXED: dict[str, tuple[Value, str, Bounds | None]] = {
    'urdf': ('', 'Path of the URDF file; wins over robot_description', None),
    'robot_description': (
        '',
        'The URDF as text; empty: from the topic of that name',
        None,
    ),
    'engine': (
        DEFAULT_ENGINE,
        'first_order: kinematics without mass; mujoco: physics, needs the extra sim',
        None,
    ),
    'ik_node': ('ik_service', 'Name of the IK node, which drops its target at ~/reset', None),
    'rate': (100.0, 'Joint states a second [Hz]', (1.0, 500.0)),
    'time_constant': (
        0.05,
        'Of the approach to a command, first order [s]; with the engine mujoco, of the set-points '
        'of the drives',
        (0.0, 10.0),
    ),
    'gravity_compensation': (
        1.0,
        'Share of the weight that the drives are told to carry; engine mujoco only',
        (0.0, 1.0),
    ),
    'initial_positions': (
        '',
        "Where joints start [rad or m], such as 'joint_1=0.5, joint_2=-1'; the others start in "
        'the middle of their limits',
        None,
    ),
}
"""Default, meaning and bounds of the read-only parameters."""

_FAULTS: dict[str, tuple[str, Bounds | None]] = {
    'lost_commands': ('Share of the commands that never arrive', (0.0, 1.0)),
    'lost_states': ('Share of the joint states that are never sent', (0.0, 1.0)),
    'command_delay': ('By how much commands come late [s]', (0.0, 2.0)),
    'state_delay': ('By how much joint states come late [s]', (0.0, 2.0)),
    'stuck_joint': ('A joint that does not move; empty: none', None),
    'noise': ('Standard deviation of the error of measured positions [rad or m]', (0.0, 0.1)),
    'seed': ('Of the random numbers; another one starts them anew', (0, 2**31 - 1)),
}
"""Meaning and bounds of the faults, which may be changed at any time."""


class SimParameters:
    """
    Parameters of a simulated arm's node, and the faults they ask for.

    :param node: the node that gets them.
    :ivar faults: faults that are injected.
    :ivar initial_positions: where joints start [rad] or [m], by name.
    :raises IkServiceError: a parameter has a value that it cannot have.
    """

    def __init__(self, node: Node) -> None:
        self._values = {
            name: declare(
                node, name, default, meaning, bounds, ENGINES if name == 'engine' else ()
            )
            for name, (default, meaning, bounds) in _FIXED.items()
        }
        check_engine(str(self['engine']))
        text = str(self['initial_positions'])
        self.initial_positions = parse_positions(text, 'initial_positions')
        faults: dict[str, Any] = {
            name: declare(
                node,
                f'{_PREFIX}{name}',
                getattr(FaultSettings, name),
                meaning,
                bounds,
                read_only=False,
            )
            for name, (meaning, bounds) in _FAULTS.items()
        }
        self.faults = FaultSettings(**faults)
        self._apply: Callable[[FaultSettings], None] = lambda faults: None
        node.add_on_set_parameters_callback(self._on_set)

    def __getitem__(self, name: str) -> Value:
        """
        Return the value of a read-only parameter.

        :param name: its name.
        """
        return self._values[name]

    def on_faults_changed(self, apply: Callable[[FaultSettings], None]) -> None:
        """
        Register what puts changed faults into force.

        :param apply: called before the change is accepted; what it raises as
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
