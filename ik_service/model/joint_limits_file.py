"""Reading of ``joint_limits.yaml`` as MoveIt has it."""

from __future__ import annotations

from collections.abc import Mapping
import math
import os

import yaml

from ik_service.common.arguments import check_kind, to_number
from ik_service.common.files import file_fault, read_regular
from ik_service.common.quoting import listed, named_file, quote
from ik_service.exceptions import JointLimitsError
from ik_service.model.motion_bounds import JointBounds, MotionBounds

MAX_BYTES = 1_000_000  # greatest length of a file [byte]

_KINDS = ('velocity', 'acceleration', 'deceleration', 'jerk')
_IGNORED = (
    'angle_wraparound',
    'has_effort_limits',
    'max_effort',
    'has_soft_limits',
    'soft_lower_limit',
    'soft_upper_limit',
    'k_position',
    'k_velocity',
)
_POSITION = ('has_position_limits', 'min_position', 'max_position')
_KNOWN = (
    *_POSITION,
    *(
        f'{word}_{kind}{plural}'
        for kind in _KINDS
        for word, plural in (('has', '_limits'), ('max', ''))
    ),
)


def load_joint_limits(source: str | os.PathLike[str]) -> MotionBounds:
    """
    Read bounds on the motion of joints.

    :param source: path of a file, where a leading ``~`` is the home folder; or its text: a string
        of several lines, or one in which a key is followed by a value. Empty for no bounds.
    :raises JointLimitsError: the file cannot be read, or its content is invalid; names the joint.
    :raises ArgumentError: the source is neither a path nor a string.
    """
    if not isinstance(source, os.PathLike):
        check_kind(source, str, 'source')
        if not source.strip():
            return MotionBounds()
        if '\n' in source or ': ' in source:
            return parse_joint_limits(source)
    path = os.path.expanduser(os.fspath(source))
    label = named_file(os.fsdecode(path))
    try:
        return parse_joint_limits(read_regular(path, MAX_BYTES).decode('utf-8-sig'))
    except JointLimitsError as error:
        raise JointLimitsError(str(error), label) from error
    except (OSError, UnicodeDecodeError) as error:
        raise JointLimitsError(file_fault(error), label) from error


class _Loader(yaml.SafeLoader):
    """Loader that knows the units of angles, as the launch files of MoveIt do."""

    def degrees(self, node: yaml.ScalarNode) -> float:
        return math.radians(self.radians(node))

    def radians(self, node: yaml.ScalarNode) -> float:
        return to_number(str(self.construct_scalar(node)))


_Loader.add_constructor('!degrees', _Loader.degrees)
_Loader.add_constructor('!radians', _Loader.radians)


def parse_joint_limits(text: str) -> MotionBounds:
    """Read bounds from the text of a ``joint_limits.yaml``; raises JointLimitsError."""
    if len(text) > MAX_BYTES:
        raise JointLimitsError(f'longer than {MAX_BYTES} characters')
    try:
        tree = yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise JointLimitsError(file_fault(error)) from error
    if isinstance(tree, Mapping) and isinstance(tree.get('robot_description_planning'), Mapping):
        tree = tree['robot_description_planning']
    if not isinstance(tree, Mapping) or 'joint_limits' not in tree:
        raise JointLimitsError('has to be a mapping with the key joint_limits')
    joints = tree['joint_limits'] if tree['joint_limits'] is not None else {}
    if not isinstance(joints, Mapping):
        raise JointLimitsError('has to map names of joints to their limits', 'joint_limits')
    return MotionBounds(
        {
            str(name): _bounds(f'joint {quote(str(name))}', fields)
            for name, fields in joints.items()
        },
        _scaling(tree, 'default_velocity_scaling_factor'),
        _scaling(tree, 'default_acceleration_scaling_factor'),
    )


def _bounds(joint: str, fields: object) -> JointBounds:
    """Return the bounds of a joint."""
    if not isinstance(fields, Mapping):
        raise JointLimitsError('has to be a mapping such as {max_velocity: 1.0}', joint)
    known = (*_KNOWN, *_IGNORED)
    unknown = [str(key) for key in fields if key not in known and fields[key] is not False]
    if unknown:
        raise JointLimitsError(f'has no {listed(unknown)}; known are {", ".join(_KNOWN)}', joint)
    velocity, acceleration, deceleration, jerk = (_largest(joint, fields, kind) for kind in _KINDS)
    lower, upper = _positions(joint, fields)
    return JointBounds(lower, upper, velocity, min(acceleration, deceleration), jerk)


def _positions(joint: str, fields: Mapping[str, object]) -> tuple[float, float]:
    """Return the lowest and the highest position of a joint."""
    given = any(key in fields for key in _POSITION[1:])
    if not _has(joint, fields, 'position', given):
        return -math.inf, math.inf
    lower, upper = (_number(joint, fields, key) for key in _POSITION[1:])
    if lower > upper:
        raise JointLimitsError(f'min_position {lower:g} is above max_position {upper:g}', joint)
    return lower, upper


def _largest(joint: str, fields: Mapping[str, object], kind: str) -> float:
    """Return a bound on the size of the velocity or a derivative of it."""
    key = f'max_{kind}'
    if not _has(joint, fields, kind, key in fields):
        return math.inf
    number, least = _number(joint, fields, key), 'at least 0' if kind == 'velocity' else 'above 0'
    if number < 0.0 or (number == 0.0 and kind != 'velocity'):
        raise JointLimitsError(f'{key} has to be {least}, not {number:g}', joint)
    return number


def _has(joint: str, fields: Mapping[str, object], kind: str, given: bool) -> bool:
    """Whether a limit counts: one that is given does, unless the file says that it does not."""
    key = f'has_{kind}_limits'
    says = fields.get(key, given)
    if not isinstance(says, bool):
        raise JointLimitsError(f'{key} has to be true or false, not {quote(str(says))}', joint)
    return says


def _number(joint: str, fields: Mapping[str, object], key: str) -> float:
    value = fields.get(key)
    if value is None:
        raise JointLimitsError(f'{key} is missing', joint)
    try:  # YAML takes 1e3 for text
        number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise JointLimitsError(f'{key} has to be a finite number, not {quote(str(value))}', joint)
    return number


def _scaling(tree: Mapping[str, object], key: str) -> float:
    if tree.get(key) is None:
        return 1.0
    share = _number('', tree, key)
    if not 0.0 < share <= 1.0:
        raise JointLimitsError(f'{key} has to be above 0 and at most 1, not {share:g}')
    return share
