"""
Links and joints of a URDF, through urdf_parser_py.

The parser's two releases in use (0.0.x on ElementTree from PyPI, 1.2.x on lxml with ROS 2) write
to stderr for every tag they do not know, demand attributes that others leave out, and report a bad
number without saying where. A text that was checked and reduced first makes both behave alike.

A joint that is faulty costs itself, not the robot: it is read as one that does not move, with the
fault, and requests that need it are refused with that reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ik_service.common.arguments import to_number
from ik_service.common.quoting import listed, named
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import UrdfError
from ik_service.model.description import RobotDescription
from ik_service.model.expanded_joints import floating_joints, planar_joints
from ik_service.model.joint import Joint, JointLimits, JointType, Mimic, settled_mimics, STILL

MAX_LINKS = 2048  # most links, and most joints

_UNNAMED = 'unnamed'
_SHORTEST_AXIS = 1e-9
_MOVING = ('axis', 'limit', 'mimic')
_PARTS_OF_TYPE = {
    'revolute': _MOVING,
    'continuous': _MOVING,
    'prismatic': _MOVING,
    'planar': ('axis',),
    'floating': (),
    'fixed': (),
}
"""The parts that have a meaning for a joint type besides its place. The others are not even looked
at: exporters write zero axes and empty limits into fixed joints."""

_NUMBERS = {
    'origin': {'xyz': 3, 'rpy': 3},
    'axis': {'xyz': 3},
    'limit': {'lower': 1, 'upper': 1, 'velocity': 1, 'effort': 1},
    'mimic': {'multiplier': 1, 'offset': 1},
}
_SOFT_ENDS = ('soft_lower_limit', 'soft_upper_limit')
_UNLIMITED = (-math.inf, math.inf)

_ESCAPES = str.maketrans(
    {'&': '&amp;', '<': '&lt;', '"': '&quot;', '\t': '&#9;', '\n': '&#10;', '\r': '&#13;'}
)


class Description(NamedTuple):
    """
    Links and joints of a URDF.

    :ivar name: the robot's name.
    :ivar links: names of the links in document order, then those of virtual links.
    :ivar joints: the joints in document order, planar and floating ones expanded in place.
    :ivar remarks: parts that are not used, and why; a sentence each.
    :ivar left_out: faults of links and joints that are not read at all.
    """

    name: str
    links: tuple[str, ...]
    joints: tuple[Joint, ...]
    remarks: tuple[str, ...]
    left_out: tuple[UrdfError, ...]


def parse_urdf(description: RobotDescription) -> Description:
    """
    Read links and joints; that the links form a tree is not checked here.

    :param description: the parsed text; elements that do not describe kinematics are ignored.
    :raises UrdfError: there are too many links or joints.
    """
    reader = _Reader(description)
    parsed = _parsed(reader.text())
    links = [link.name for link in parsed.links]
    joints: list[Joint] = []
    for entry, checked in zip(parsed.joints, reader.joints, strict=True):
        expanded = _joints_from(entry, checked)
        links += [joint.child for joint in expanded[:-1]]
        joints += expanded
    joints = settled_mimics(joints)
    left_out = [f'{error.element} is left out: {error.reason}' for error in reader.left_out]
    faults = [f'{named("joint", joint.name)} {joint.fault}' for joint in joints if joint.fault]
    remarks = (*description.remarks, *left_out, *reader.remarks(), *faults)
    return Description(parsed.name, tuple(links), tuple(joints), remarks, tuple(reader.left_out))


@dataclass
class _CheckedJoint:
    """A joint whose text was checked, as XML for urdf_parser_py."""

    lines: list[str]
    fault: str = ''  # why it cannot be used
    placed: bool = True  # whether the text says where it is
    further: JointLimits = STILL  # soft limits, and those of acceleration and jerk


class _Reader:
    """Checks of the elements that describe kinematics, and faults of those left out."""

    def __init__(self, description: RobotDescription) -> None:
        self._description = description
        self.joints: list[_CheckedJoint] = []
        self.left_out: list[UrdfError] = []
        self._taken_for_none: dict[str, list[str]] = {}
        self._names: list[str] = []

    def remarks(self) -> list[str]:
        """Return the ignored properties of the joints, a sentence each."""
        ignored = [f'{what}: {listed(labels)}' for what, labels in self._taken_for_none.items()]
        return [*self._names, *ignored]

    def text(self) -> str:
        """Return the kinematic part as XML, each number of it checked."""
        root = self._description.root
        lines = [f'<robot name={_quoted(root.get("name") or _UNNAMED)}>']
        if not root.get('name'):
            self._names.append(f'the robot has no name, and is called {_UNNAMED} here')
        for link in self._elements('link'):
            if link.get('name'):
                lines.append(f'<link name={_quoted(link.get("name", ""))}/>')
            else:
                label = self._description.label(link)
                self.left_out.append(UrdfError('has no name', label))
        links = {link.get('name') for link in root.iterfind('link')}
        for joint in self._elements('joint'):
            try:
                self.joints.append(self._joint(joint, links))
            except UrdfError as error:
                self.left_out.append(error)
        lines += [line for joint in self.joints for line in joint.lines]
        lines.append('</robot>')
        return '\n'.join(lines)

    def _elements(self, tag: str) -> list[Element]:
        found = self._description.root.findall(tag)
        if len(found) > MAX_LINKS:
            line = self._description.lines[found[MAX_LINKS]]
            raise UrdfError(f'more than {MAX_LINKS} {tag}s', f'line {line}')
        return found

    def _joint(self, joint: Element, links: set[str | None]) -> _CheckedJoint:
        label = self._description.label(joint)
        ends = [_end(joint, tag, label, links) for tag in ('parent', 'child')]
        checked = _CheckedJoint([])
        kind = joint.get('type', '')
        origin: list[str] = []
        motion: list[str] = []
        try:
            origin = self._part(joint, 'origin', kind, label)
        except _PartError as error:
            checked.fault, checked.placed = f'cannot be placed: {error}', False
        try:
            motion = self._motion(joint, kind, label)
            low, high = self._soft_limits(joint, kind, label)
            acceleration, jerk = self._rates(joint, kind, label)
            checked.further = JointLimits(low, high, acceleration=acceleration, jerk=jerk)
        except _PartError as error:
            checked.fault = checked.fault or f'cannot be used: {error}'
        if checked.fault:
            kind, motion = 'fixed', []
        name = joint.get('name') or label
        start = f'<joint name={_quoted(name)} type={_quoted(kind)}>'
        checked.lines = [start, *ends, *origin, *motion, '</joint>']
        return checked

    def _motion(self, joint: Element, kind: str, label: str) -> list[str]:
        if not joint.get('name'):
            raise _PartError('has no name')
        if not kind:
            raise _PartError('has no type')
        if kind not in _PARTS_OF_TYPE:
            raise _PartError(f'unknown type {kind[:80]!r}; valid: {", ".join(_PARTS_OF_TYPE)}')
        if joint.find('mimic') is not None and kind in ('planar', 'floating'):
            raise _PartError(f'a {kind} joint cannot mimic another one')
        if kind in ('revolute', 'prismatic') and joint.find('limit') is None:
            raise _PartError(f'a {kind} joint needs a <limit>')
        return [
            line for tag in _PARTS_OF_TYPE[kind] for line in self._part(joint, tag, kind, label)
        ]

    def _part(self, joint: Element, tag: str, kind: str, label: str) -> list[str]:
        """Return a part of a joint as XML; nothing where it is left out."""
        found = joint.findall(tag)
        if len(found) > 1:
            raise _PartError(f'more than one <{tag}>')
        if not found:
            return []
        part = found[0]
        if tag == 'origin' and 'quat_xyzw' in part.attrib:
            raise _PartError('<origin> quat_xyzw is not supported; give rpy')
        if tag == 'limit':
            values = self._bounds(part, kind, label)
        else:
            values = {name: part.get(name, '') for name in _NUMBERS[tag] if name in part.attrib}
            for attribute, text in values.items():
                _check_numbers(text, _NUMBERS[tag][attribute], f'<{tag}> {attribute}')
        if tag == 'axis' and 'xyz' not in values:
            raise _PartError('<axis> has no xyz')
        if tag == 'mimic':
            if not part.get('joint'):
                raise _PartError('<mimic> has no joint')
            values['joint'] = part.get('joint', '')
        written = ' '.join(f'{name}={_quoted(value)}' for name, value in values.items())
        return [f'<{tag} {written}/>']

    def _bounds(self, limit: Element, kind: str, label: str) -> dict[str, str]:
        # Both are required by urdf_parser_py and often left out.
        values = {name: self._size(limit, name, label) for name in ('velocity', 'effort')}
        # A continuous joint has no end stops, whatever its <limit> says.
        ends = {} if kind == 'continuous' else {'lower': -math.inf, 'upper': math.inf}
        given = {name: limit.get(name, '').strip() for name in ends if name in limit.attrib}
        if ends and not any(given.values()):
            raise _PartError('<limit> gives neither lower nor upper')
        for name, text in given.items():
            if _number(text, f'<limit> {name}') == -ends[name]:
                raise _PartError(f'<limit> {name}: {text[:80]!r} leaves no range')
        return {**values, **given}

    def _size(self, limit: Element, attribute: str, label: str) -> str:
        """Return a limit that means "none" when it is left out, empty, infinite or negative."""
        text = limit.get(attribute, '').strip()
        if not text or _number(text, f'<limit> {attribute}') >= 0.0:
            return text or 'inf'
        what = f'<limit> {attribute} {text[:80]} is taken for none'
        self._taken_for_none.setdefault(what, []).append(label)
        return 'inf'

    def _rates(self, joint: Element, kind: str, label: str) -> tuple[float, float]:
        """Return the largest acceleration and jerk."""
        limit = joint.find('limit')
        if limit is None or 'limit' not in _PARTS_OF_TYPE[kind]:
            return math.inf, math.inf
        names = 'acceleration', 'deceleration', 'jerk'
        speeding, braking, jerk = (float(self._size(limit, name, label)) for name in names)
        return min(speeding, braking), jerk

    def _soft_limits(self, joint: Element, kind: str, label: str) -> tuple[float, float]:
        """Return the ends of a <safety_controller>; one that is left out is 0, as in a URDF."""
        found = joint.findall('safety_controller') if kind in ('revolute', 'prismatic') else []
        if not found:
            return _UNLIMITED
        if len(found) > 1:
            raise _PartError('more than one <safety_controller>')
        texts = [(name, found[0].get(name, '').strip() or '0') for name in _SOFT_ENDS]
        low, high = (_number(text, f'<safety_controller> {name}') for name, text in texts)
        if low == high == 0.0:  # written by exporters, and left out where only the gains matter
            what = '<safety_controller> without a range is taken for none'
            self._taken_for_none.setdefault(what, []).append(label)
            return _UNLIMITED
        return low, high


class _PartError(Exception):
    """Fault of a part of a joint."""


def _end(joint: Element, tag: str, label: str, links: set[str | None]) -> str:
    """Return the XML of the parent or child of a joint; an error where it has none."""
    found = joint.findall(tag)
    if len(found) > 1:
        raise UrdfError(f'more than one <{tag}>', label)
    if not found:
        missing = [attribute for attribute in ('name', 'type') if not joint.get(attribute)]
        raise UrdfError(f'has no {missing[0]}' if missing else f'no <{tag}>', label)
    link = found[0].get('link')
    if not link:
        raise UrdfError(f'<{tag}> has no link', label)
    if link not in links:
        raise UrdfError(f'its {tag} {named("link", link)} does not exist', label)
    return f'<{tag} link={_quoted(link)}/>'


def _check_numbers(text: str, count: int, what: str) -> None:
    words = text.split()
    if len(words) != count:
        raise _PartError(f'{what}: {count} number(s) needed, not {text[:80]!r}')
    for word in words:
        if not math.isfinite(_number(word, what)):
            raise _PartError(f'{what}: {word[:80]!r} is not a finite number')


def _number(word: str, what: str) -> float:
    """Return a number, which may be infinite."""
    if len(word.split()) != 1:
        raise _PartError(f'{what}: 1 number(s) needed, not {word[:80]!r}')
    value = to_number(word)
    if math.isnan(value):
        raise _PartError(f'{what}: {word[:80]!r} is not a finite number')
    return value


def _quoted(text: str) -> str:
    # xml.sax.saxutils would do, but it imports the network library.
    return f'"{text.translate(_ESCAPES)}"'


def _parsed(text: str) -> Any:  # noqa: ANN401 - urdf_parser_py has no types
    # Imported here because it takes as long to import as the rest of this layer together.
    from urdf_parser_py.urdf import URDF

    try:
        return URDF.from_xml_string(text)
    except Exception as error:  # whatever checks a release adds
        raise UrdfError(f'urdf_parser_py refuses it: {error}') from error


def _joints_from(entry: Any, checked: _CheckedJoint) -> list[Joint]:  # noqa: ANN401
    """Convert one joint of urdf_parser_py: into one joint, or three or six."""
    ends = (entry.name, entry.parent, entry.child)
    T = _transform(entry.origin)
    fixed = Joint(ends[0], JointType.FIXED, *ends[1:], T, np.array([1.0, 0.0, 0.0]), STILL)
    if checked.fault:
        return [replace(fixed, fault=checked.fault, placed=checked.placed)]
    if entry.type == 'fixed':
        return [fixed]
    if entry.type == 'floating':
        return floating_joints(*ends, T)
    try:
        axis = _unit_axis(entry)
        if entry.type == 'planar':
            return planar_joints(*ends, T, axis)
        limits = _limits(entry, checked.further)
    except _PartError as error:
        return [replace(fixed, fault=f'cannot be used: {error}')]
    return [Joint(ends[0], JointType(entry.type), *ends[1:], T, axis, limits, _mimic(entry))]


def _transform(origin: Any) -> NDArray[np.float64]:  # noqa: ANN401
    """Return the (4, 4) transform of an ``<origin>``; the identity where there is none."""
    return np.eye(4) if origin is None else transform_from_xyz_rpy(origin.xyz, origin.rpy)


def _unit_axis(entry: Any) -> NDArray[np.float64]:  # noqa: ANN401
    x, y, z = (1.0, 0.0, 0.0) if entry.axis is None else entry.axis
    length = math.hypot(x, y, z)
    if not _SHORTEST_AXIS < length < math.inf:
        raise _PartError(f'<axis> {entry.axis} has no direction')
    return np.array([x / length, y / length, z / length])


def _limits(entry: Any, further: JointLimits) -> JointLimits:  # noqa: ANN401
    limit = entry.limit
    if limit is None:
        return JointLimits()
    if entry.type == 'continuous':
        return replace(further, velocity=limit.velocity, effort=limit.effort)
    if limit.lower > limit.upper:
        raise _PartError(f'<limit> lower {limit.lower} > upper {limit.upper}')
    lower, upper = max(float(limit.lower), further.lower), min(float(limit.upper), further.upper)
    if lower > upper:
        raise _PartError(
            f'<safety_controller> from {further.lower:g} to {further.upper:g} leaves nothing of '
            f'its <limit> from {limit.lower:g} to {limit.upper:g}'
        )
    velocity, effort = float(limit.velocity), float(limit.effort)
    return replace(further, lower=lower, upper=upper, velocity=velocity, effort=effort)


def _mimic(entry: Any) -> Mimic | None:  # noqa: ANN401
    if entry.mimic is None:
        return None
    multiplier = 1.0 if entry.mimic.multiplier is None else entry.mimic.multiplier
    offset = 0.0 if entry.mimic.offset is None else entry.mimic.offset
    return Mimic(entry.mimic.joint, multiplier, offset)
