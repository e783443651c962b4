"""
Parameters of the node as settings of solver, follower and arm, also while the node runs.

A parameter of the solver or of the follower is a field of :class:`~ik_service.IkOptions` or
:class:`~ik_service.motion.settings.FollowerSettings`, which check it; the table in
:mod:`ik_service.ros.node.parameter_table` only describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
import threading
from typing import Any, TypeVar

from rcl_interfaces.msg import SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from ik_service.arm.arm import ArmSettings
from ik_service.arm.group import SolverSettings
from ik_service.common.arguments import parse_numbers, parse_positions
from ik_service.exceptions import IkServiceError, JointLimitsError, OptionError, SolverSpecError
from ik_service.model.joint_limits_file import load_joint_limits
from ik_service.model.motion_bounds import MotionBounds
from ik_service.motion.settings import FollowerSettings
from ik_service.ros.motion.parameters import JOINT_LIMITS
from ik_service.ros.node.parameter_table import (
    BASE_LINK,
    FOLLOWER_PARAMETERS,
    GROUP_NAMES,
    group_settings,
    GROUPS,
    LOCKED_JOINTS,
    PARAMETERS,
    SOLVER_MODULES,
    SOLVER_NAME,
    SOLVER_PARAMETERS,
    SOLVER_PREFIX,
    TIP_LINK,
    TOOL_FRAMES,
    tool_frames_of,
)
from ik_service.ros.parameters.parameter_declaration import (
    declare_parameters,
    ParameterSpec,
    ParameterValues,
    Value,
    warn_of_files_for_others,
)
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import load_solvers, solver_names, solver_spec

T = TypeVar('T', bound=Value)

USE_SIM_TIME = 'use_sim_time'
"""Parameter of rclpy, which has every node."""

_MAPPINGS = (TOOL_FRAMES, GROUPS)


class NodeParameters:
    """
    Parameters of a node, and the settings that they stand for.

    :ivar solver: settings of the solver, in force.
    :ivar follower: settings of the follower, in force.
    :ivar arm: base, tip, locked joints, tool frames and planning groups.
    :ivar lock: held while settings change.
    :raises OptionError: a parameter that was given at the start has a value it cannot have.
    """

    def __init__(self, node: Node) -> None:
        warn_of_files_for_others(node)
        self._specs = dict(PARAMETERS)
        self._values = declare_parameters(node, self._after_loading(node), _MAPPINGS)
        self.solver = _solver_settings(self._values)
        self.follower = _follower_settings(self._values)
        self._bounds = _bounds_of(self._values[JOINT_LIMITS])
        self.arm = _arm_settings(self._values, self._bounds)
        self.lock = threading.Lock()
        self.when_changed(lambda solver, follower: None)
        node.add_on_set_parameters_callback(self._on_set)

    def _after_loading(self, node: Node) -> Iterator[ParameterSpec]:
        """Yield all specifications; the solvers there are to choose from after they are loaded."""
        yield SOLVER_MODULES
        text = str(node.get_parameter(SOLVER_MODULES.name).value)
        try:
            load_solvers(word.strip() for word in text.split(',') if word.strip())
        except SolverSpecError as error:
            raise OptionError(SOLVER_MODULES.name, error.reason) from error
        self._specs[SOLVER_NAME.name] = replace(SOLVER_NAME, choices=solver_names())
        yield from (spec for spec in self._specs.values() if spec is not SOLVER_MODULES)

    def __getitem__(self, spec: ParameterSpec[T]) -> T:
        return self._values[spec]

    def replaced_in_texts(self, parameters: Sequence[Parameter]) -> list[Parameter]:
        """
        Return parameters, fields of a mapping's entries that its text holds as a changed text.

        :raises OptionError: such an entry has no such field, or the value is of another type.
        """
        kept: list[Parameter] = []
        changed: dict[str, str] = {}
        for parameter in parameters:
            name = parameter.name.partition('.')[0]
            text = changed.get(name, str(self._values.by_name.get(name, '')))
            replaced = [m.changed_text(text, parameter.name, parameter.value) for m in _MAPPINGS]
            found = next(filter(None, replaced), None)
            if found is None:
                kept.append(parameter)
            else:
                changed[name] = found
        return [*kept, *(Parameter(name, value=text) for name, text in changed.items())]

    def when_changed(
        self,
        apply: Callable[[SolverSettings, FollowerSettings], object],
        prepare: Callable[[SolverSettings], object] = lambda solver: None,
        check_arm: Callable[[ArmSettings], object] = lambda arm: None,
        rebuild: Callable[[], object] = lambda: None,
        check_clock: Callable[[object], object] = lambda simulated: None,
    ) -> None:
        """
        Set the callbacks of changes.

        A change is refused when one but ``rebuild`` raises an
        :class:`~ik_service.exceptions.IkServiceError`, which is the reason.

        :param apply: called with the settings of solver and follower before the change is
            accepted; puts them into force.
        :param prepare: called before that with the settings of the solver, and may take long:
            other parameters can be changed meanwhile.
        :param check_arm: called with settings that need another arm, such as tool frames.
        :param rebuild: called when :attr:`arm` has changed.
        :param check_clock: called with the value of ``use_sim_time``.
        """
        self._apply, self._prepare = apply, prepare
        self._check_arm, self._rebuild, self._check_clock = check_arm, rebuild, check_clock

    def _on_set(self, parameters: list[Parameter]) -> SetParametersResult:
        changed = {p.name: p.value for p in parameters if _is_ours(p.name)}
        try:
            for parameter in parameters:
                if parameter.name == USE_SIM_TIME:
                    self._check_clock(parameter.value)
            self._prepare(self._changed(changed)[1])
            with self.lock:
                self._change(changed)
        except IkServiceError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # the client gets an answer in any case
            reason = f'error in the node: {type(error).__name__}: {error}'
            return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    def _change(self, changed: Mapping[str, object]) -> None:
        values, solver, follower = self._changed(changed)
        arm = _arm_settings(values, self._bounds)
        if arm != self.arm:
            self._check_arm(arm)
        self._apply(solver, follower)
        self._values, self.solver, self.follower = values, solver, follower
        if arm != self.arm:
            self.arm = arm
            self._rebuild()

    def _changed(
        self, changed: Mapping[str, object]
    ) -> tuple[ParameterValues, SolverSettings, FollowerSettings]:
        values = self._values.replaced(changed)
        for name, value in changed.items():
            if name in self._specs:
                self._specs[name].check(value)
        return values, _solver_settings(values), _follower_settings(values)


def _is_ours(name: str) -> bool:
    return name in PARAMETERS or any(mapping.holds(name) for mapping in _MAPPINGS)


def _solver_settings(values: ParameterValues) -> SolverSettings:
    name = values[SOLVER_NAME]
    try:
        # IkOptions checks the types.
        chosen: dict[str, Any] = {
            spec.field: _field_value(spec, values[spec]) for spec in SOLVER_PARAMETERS
        }
        options = IkOptions(**chosen)
        solver_spec(name).check_options(options)
    except OptionError as error:
        raise OptionError(f'{SOLVER_PREFIX}{error.option}', error.reason) from error
    return SolverSettings(name, options)


def _field_value(spec: ParameterSpec, value: object) -> object:
    if value == spec.none:
        return None
    return parse_numbers(str(value), spec.field) if spec.numbers else value


def _follower_settings(values: ParameterValues) -> FollowerSettings:
    # FollowerSettings checks the types.
    chosen: dict[str, Any] = {spec.field: values[spec] for spec in FOLLOWER_PARAMETERS}
    return FollowerSettings(**chosen)


def _bounds_of(source: str) -> MotionBounds:
    try:
        return load_joint_limits(source)
    except JointLimitsError as error:
        raise OptionError(JOINT_LIMITS.name, str(error)) from error


def _arm_settings(values: ParameterValues, bounds: MotionBounds) -> ArmSettings:
    return ArmSettings(
        base_link=values[BASE_LINK],
        tip_link=values[TIP_LINK],
        locked=parse_positions(values[LOCKED_JOINTS], LOCKED_JOINTS.name),
        group_names=tuple(values[GROUP_NAMES]),
        groups=group_settings(GROUPS.read(values.by_name)),
        tool_frames=tool_frames_of(values.by_name),
        bounds=bounds,
    )
