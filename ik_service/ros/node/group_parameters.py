"""Parameters of the planning groups: those of an SRDF, the user's own, and further names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ik_service.arm.group import GroupSettings
from ik_service.exceptions import OptionError, UnknownSolverError
from ik_service.ros.parameters.mapping_parameters import Entries, MappingField, MappingSpec
from ik_service.ros.parameters.parameter_declaration import ParameterSpec
from ik_service.solvers.registry import solver_spec

SRDF = ParameterSpec(
    'srdf',
    '',
    'Path of an SRDF file, which names planning groups; wins over robot_description_semantic. '
    'Empty: robot_description_semantic, as a parameter or else from the topic of that name',
    read_only=True,
)
ROBOT_DESCRIPTION_SEMANTIC = ParameterSpec(
    'robot_description_semantic',
    '',
    'SRDF text, or the path of an SRDF file; empty: see srdf',
    read_only=True,
)
PUBLISH_ROBOT_DESCRIPTION_SEMANTIC = ParameterSpec(
    'publish_robot_description_semantic',
    True,
    'Publish the SRDF on the topic robot_description_semantic where a parameter gives it, as '
    'move_group does',
    read_only=True,
)
GROUP_NAMES = ParameterSpec(
    'group_names',
    ['manipulator', 'arm', '{robot}_arm', '{robot}_manipulator'],
    'Further names of the default planning group in compute_ik, the first of them its own; '
    "{robot} stands for the robot's name. Groups of the robot by these names win",
    read_only=True,
)
GROUPS = MappingSpec(
    'groups',
    (
        MappingField('base_link', 'text', 'Link where the chain of the group starts'),
        MappingField('tip_link', 'text', 'Link that the group places'),
        MappingField(
            'solver', 'text', "Method of the group's solver; that of solver.name if empty"
        ),
        MappingField('timeout', 'number', 'Time for a solve [s], where a request says 0'),
    ),
)
GROUPS_TEXT = ParameterSpec(
    GROUPS.name,
    '',
    "Planning groups of your own in YAML, '{left: {base_link: chest, tip_link: left_hand}}', and "
    'settings for them or for those of an SRDF: solver (method) and timeout [s]; a parameter file '
    'may nest them instead: groups.left.tip_link and so on',
)

_SHORTEST, _LONGEST = 1e-6, 60.0  # time for a solve [s], as for solver.timeout


def group_settings(entries: Entries) -> dict[str, GroupSettings]:
    """
    Return the planning groups that the parameter ``groups`` describes.

    :param entries: the values of its fields by field, by name of the group.
    :raises OptionError: a value cannot be; whether the links are there is seen with the robot.
    """
    return {name: _settings(name, fields) for name, fields in entries.items()}


def _settings(name: str, fields: Mapping[str, Any]) -> GroupSettings:
    settings, where = GroupSettings(**fields), f'{GROUPS.name}.{name}'
    if settings.base_link and not settings.tip_link:
        raise OptionError(f'{where}.tip_link', 'has to be given where there is a base_link')
    timeout = settings.timeout
    if timeout is not None and not _SHORTEST <= timeout <= _LONGEST:
        raise OptionError(
            f'{where}.timeout', f'has to be from {_SHORTEST:g} to {_LONGEST:g} s, not {timeout:g}'
        )
    if settings.solver:
        try:
            solver_spec(settings.solver)
        except UnknownSolverError as error:
            raise OptionError(f'{where}.solver', str(error)) from error
    return settings
