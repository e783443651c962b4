"""Parameters of the frames that the robot description does not name, and of its xacro file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ik_service.model.tool_frame import ToolFrame
from ik_service.ros.common.tf_listener import DEFAULT_TIMEOUT
from ik_service.ros.parameters.mapping_parameters import MappingField, MappingSpec
from ik_service.ros.parameters.parameter_declaration import ParameterSpec

XACRO_ARGS = ParameterSpec(
    'xacro_args',
    '',
    "Arguments of urdf where it is a xacro file, such as 'ur_type:=ur5e name:=ur'",
    read_only=True,
)
TOOL_FRAMES = MappingSpec(
    'tool_frames',
    (
        MappingField('link', 'text', 'Link that the frame is attached to', required=True),
        MappingField('xyz', 'numbers', 'Position in the frame of the link [m]'),
        MappingField('rpy', 'numbers', 'Roll, pitch and yaw in the frame of the link [rad]'),
    ),
)
TOOL_FRAMES_TEXT = ParameterSpec(
    TOOL_FRAMES.name,
    '',
    'Frames that become links of the robot, such as the tip of a tool, in YAML: '
    "'{tcp: {link: tool0, xyz: [0, 0, 0.1], rpy: [0, 0, 0]}}' [m, rad]; a parameter file may nest "
    'them instead: tool_frames.tcp.link and so on',
)
TF_TIMEOUT = ParameterSpec(
    'tf_timeout',
    DEFAULT_TIMEOUT,
    'Age beyond which a transform of tf is not used [s]; 0: none is too old',
    (0.0, 3600.0),
)


def tool_frames_of(values: Mapping[str, object]) -> dict[str, ToolFrame]:
    """
    Return the tool frames that parameters give, to be checked with the robot.

    :param values: values of parameters by name.
    :raises OptionError: a name or a value cannot be used, or a frame has no link.
    """
    entries: Mapping[str, Mapping[str, Any]] = TOOL_FRAMES.read(values)
    return {name: ToolFrame(**fields) for name, fields in entries.items()}
