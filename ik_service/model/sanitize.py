"""
Reduction of a robot description to checked links and joints, for urdf_parser_py.

Its two releases in use (0.0.x on ElementTree from PyPI, 1.2.x on lxml with ROS 2) write to stderr
for every tag they do not know, demand attributes that others leave out, and report a bad number
without saying where. A text that was checked and reduced first makes both behave alike.
"""

from __future__ import annotations

from collections.abc import Iterator
import math

from ik_service.exceptions import UrdfError
from ik_service.model.safe_xml import RawElement, RawRobot

_MOVING = ('origin', 'axis', 'limit', 'mimic')
_PARTS_OF_TYPE = {
    'revolute': _MOVING,
    'continuous': _MOVING,
    'prismatic': _MOVING,
    'planar': ('origin', 'axis'),
    'floating': ('origin',),
    'fixed': ('origin',),
}
"""The parts that have a meaning for a joint type. The others are not even looked at: exporters
write zero axes and empty limits into fixed joints."""

_NUMBERS = {
    'origin': {'xyz': 3, 'rpy': 3},
    'axis': {'xyz': 3},
    'limit': {'lower': 1, 'upper': 1, 'velocity': 1, 'effort': 1},
    'mimic': {'multiplier': 1, 'offset': 1},
}

_ESCAPES = str.maketrans(
    {'&': '&amp;', '<': '&lt;', '"': '&quot;', '\t': '&#9;', '\n': '&#10;', '\r': '&#13;'}
)


def sanitized_text(robot: RawRobot) -> str:
    """
    Return the kinematic part of a robot description as XML, each number of it checked.

    :param robot: links and joints as read.
    :raises UrdfError: a name, link or type is missing or unknown, or a number is unusable.
    """
    lines = [f'<robot name={_quoted(_required(robot.root, "name", "robot"))}>']
    lines += [f'<link name={_quoted(_required(link, "name"))}/>' for link in robot.links]
    for joint in robot.joints:
        lines += _joint_lines(joint)
    lines.append('</robot>')
    return '\n'.join(lines)


def _joint_lines(joint: RawElement) -> Iterator[str]:
    name = _required(joint, 'name')
    kind = _required(joint, 'type')
    if kind not in _PARTS_OF_TYPE:
        raise UrdfError(
            f'unknown type {kind[:80]!r}; valid: {", ".join(_PARTS_OF_TYPE)}', joint.label
        )
    _check_parts(joint, kind)
    yield f'<joint name={_quoted(name)} type={_quoted(kind)}>'
    for tag in ('parent', 'child'):
        if tag not in joint.parts:
            raise UrdfError(f'no <{tag}>', joint.label)
        link = _required(joint.parts[tag], 'link', joint.label)
        yield f'<{tag} link={_quoted(link)}/>'
    for tag in _PARTS_OF_TYPE[kind]:
        if tag in joint.parts:
            yield _part_line(joint, tag, kind)
    yield '</joint>'


def _check_parts(joint: RawElement, kind: str) -> None:
    """Refuse what would otherwise be dropped or guessed in silence."""
    if kind in ('revolute', 'prismatic'):
        limit = joint.parts.get('limit')
        if limit is None:
            raise UrdfError(f'a {kind} joint needs a <limit>', joint.label)
        if not {'lower', 'upper'} & limit.attributes.keys():
            raise UrdfError('<limit> gives neither lower nor upper', joint.label)
    if 'mimic' in joint.parts and kind in ('planar', 'floating'):
        raise UrdfError(f'a {kind} joint cannot mimic another one', joint.label)
    if 'origin' in joint.parts and 'quat_xyzw' in joint.parts['origin'].attributes:
        raise UrdfError('<origin> quat_xyzw is not supported; give rpy', joint.label)


def _part_line(joint: RawElement, tag: str, kind: str) -> str:
    attributes = joint.parts[tag].attributes
    # A continuous joint has no end stops, whatever its <limit> says.
    skipped = ('lower', 'upper') if kind == 'continuous' else ()
    values = {}
    for attribute, count in _NUMBERS[tag].items():
        if attribute in attributes and attribute not in skipped:
            values[attribute] = attributes[attribute]
            _check_numbers(values[attribute], count, f'<{tag}> {attribute}', joint.label)
    if tag == 'axis':
        _required(joint.parts[tag], 'xyz', joint.label)
    elif tag == 'limit':
        # Both are required by urdf_parser_py and often left out.
        values = {'velocity': 'inf', 'effort': 'inf'} | values
    elif tag == 'mimic':
        values['joint'] = _required(joint.parts[tag], 'joint', joint.label)
    written = ' '.join(f'{name}={_quoted(value)}' for name, value in values.items())
    return f'<{tag} {written}/>'


def _required(element: RawElement, attribute: str, label: str = '') -> str:
    """Return an attribute that must be there; ``label`` names the element that is at fault."""
    value = element.attributes.get(attribute, '')
    if not value:
        where = f'<{element.tag}> ' if label and label != element.tag else ''
        raise UrdfError(f'{where}has no {attribute}', label or element.label)
    return value


def _check_numbers(text: str, count: int, what: str, label: str) -> None:
    words = text.split()
    if len(words) != count:
        raise UrdfError(f'{what}: {count} number(s) needed, not {text[:80]!r}', label)
    for word in words:
        if not _is_finite_number(word):
            raise UrdfError(f'{what}: {word[:80]!r} is not a finite number', label)


def _is_finite_number(word: str) -> bool:
    # float() alone would also take digits of other scripts and Python's 1_000.
    if not word.isascii() or '_' in word:
        return False
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _quoted(text: str) -> str:
    # xml.sax.saxutils would do, but it imports the network library.
    return f'"{text.translate(_ESCAPES)}"'
