"""
Links and joints of a URDF.

A joint that is faulty costs itself, not the robot: it is read as one that does not move, with the
fault, and requests that need it are refused with that reason.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
import math
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from ik_service.common.quoting import listed, named
from ik_service.common.transforms import transform_from_xyz_rpy
from ik_service.exceptions import UrdfError
from ik_service.model.description import RobotDescription
from ik_service.model.expanded_joints import floating_joints, planar_joints
from ik_service.model.joint import Joint, JointLimits, JointType, Mimic, settled_mimics, STILL

MAX_LINKS = 2048  # most links, and most joints

_UNNAMED = 'unnamed'
_SHORTEST_AXIS = 1e-9  # a shorter <axis> has no direction
_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating', 'fixed')
_WITH_ENDS = ('revolute', 'prismatic')
_UNLIMITED = (-math.inf, math.inf)


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
    name = description.root.get('name')
    unnamed = [] if name else [f'the robot has no name, and is called {_UNNAMED} here']
    links = reader.links()
    joints: list[Joint] = []
    for expanded in reader.joints(frozenset(links)):
        links += [joint.child for joint in expanded[:-1]]
        joints += expanded
    joints = settled_mimics(joints)
    left_out = [f'{error.element} is left out: {error.reason}' for error in reader.left_out]
    faults = [f'{named("joint", joint.name)} {joint.fault}' for joint in joints if joint.fault]
    ignored = [f'{part}: {listed(labels)}' for part, labels in reader.taken_for_none.items()]
    remarks = (*description.remarks, *left_out, *unnamed, *ignored, *faults)
    left = tuple(reader.left_out)
    return Description(name or _UNNAMED, tuple(links), tuple(joints), remarks, left)


class _Reader:
    """
    Reader of the elements that describe kinematics.

    :ivar left_out: faults of links and joints that are not read.
    :ivar taken_for_none: properties that are ignored, with the joints that have them.
    """

    def __init__(self, description: RobotDescription) -> None:
        self._description = description
        self.left_out: list[UrdfError] = []
        self.taken_for_none: dict[str, list[str]] = {}

    def links(self) -> list[str]:
        links = self._elements('link')
        unnamed = [link for link in links if not link.get('name')]
        self.left_out += [UrdfError('has no name', self._description.label(it)) for it in unnamed]
        return [name for link in links if (name := link.get('name'))]

    def joints(self, links: Collection[str]) -> list[list[Joint]]:
        """Return the joints, each as one of one degree of freedom or as three or six of these."""
        read = []
        for joint in self._elements('joint'):
            try:
                read.append(self._joint(joint, links))
            except UrdfError as error:
                self.left_out.append(error)
        return read

    def _elements(self, tag: str) -> list[Element]:
        found = self._description.root.findall(tag)
        if len(found) > MAX_LINKS:
            line = self._description.lines[found[MAX_LINKS]]
            raise UrdfError(f'more than {MAX_LINKS} {tag}s', f'line {line}')
        return found

    def _joint(self, joint: Element, links: Collection[str]) -> list[Joint]:
        label = self._description.label(joint)
        parent, child = (_end(joint, tag, label, links) for tag in ('parent', 'child'))
        name = joint.get('name') or label
        T, place_fault = np.eye(4), ''
        try:
            T = _origin(joint)
        except _PartError as error:
            place_fault = f'cannot be placed: {error}'
        fixed = Joint(name, JointType.FIXED, parent, child, T, np.array([1.0, 0.0, 0.0]), STILL)
        try:
            moving = self._moving(joint, fixed, label)
        except _PartError as error:
            moving = [replace(fixed, fault=f'cannot be used: {error}')]
        return [replace(fixed, fault=place_fault, placed=False)] if place_fault else moving

    def _moving(self, joint: Element, fixed: Joint, label: str) -> list[Joint]:
        """Return a joint, given as one that is fixed, as joints of one degree of freedom."""
        kind = _type_of(joint)
        # Parts without a meaning for the type are not read: exporters write zero axes and empty
        # limits into fixed joints.
        if kind == 'fixed':
            return [fixed]
        ends = (fixed.name, fixed.parent, fixed.child)
        if kind == 'floating':
            return floating_joints(*ends, fixed.T_parent_joint)
        axis = _axis(joint)
        if kind == 'planar':
            return planar_joints(*ends, fixed.T_parent_joint, _unit(axis))
        limits = self._limits(joint, kind, label)
        mimic = _mimic(joint)
        soft = self._soft_limits(joint, label) if kind in _WITH_ENDS else _UNLIMITED
        unit, limits = _unit(axis), _within(limits, soft)
        return [replace(fixed, type=JointType(kind), axis=unit, limits=limits, mimic=mimic)]

    def _limits(self, joint: Element, kind: str, label: str) -> JointLimits:
        limit = _part(joint, 'limit')
        if limit is None:
            return JointLimits()
        # Velocity and effort are required by the format, and often left out.
        velocity, effort = (self._size(limit, name, label) for name in ('velocity', 'effort'))
        # A continuous joint has no end stops, whatever its <limit> says.
        lower, upper = _ends(limit) if kind in _WITH_ENDS else _UNLIMITED
        names = 'acceleration', 'deceleration', 'jerk'
        speeding, braking, jerk = (self._size(limit, name, label) for name in names)
        return JointLimits(lower, upper, velocity, effort, min(speeding, braking), jerk)

    def _size(self, limit: Element, attribute: str, label: str) -> float:
        """Return a limit that means "none" when it is left out, empty, infinite or negative."""
        text = limit.get(attribute, '').strip()
        value = _number(text, f'<limit> {attribute}') if text else math.inf
        if value >= 0.0:
            return value
        ignored = f'<limit> {attribute} {text[:80]} is taken for none'
        self.taken_for_none.setdefault(ignored, []).append(label)
        return math.inf

    def _soft_limits(self, joint: Element, label: str) -> tuple[float, float]:
        """Return the ends of a <safety_controller>; one that is left out is 0, as in a URDF."""
        found = _part(joint, 'safety_controller')
        if found is None:
            return _UNLIMITED
        ends = ('soft_lower_limit', 'soft_upper_limit')
        texts = [(name, found.get(name, '').strip() or '0') for name in ends]
        low, high = (_number(text, f'<safety_controller> {name}') for name, text in texts)
        if low == high == 0.0:  # written by exporters, and left out where only the gains matter
            ignored = '<safety_controller> without a range is taken for none'
            self.taken_for_none.setdefault(ignored, []).append(label)
            return _UNLIMITED
        return low, high


class _PartError(Exception):
    """Fault of a part of a joint."""


def _end(joint: Element, tag: str, label: str, links: Collection[str]) -> str:
    """Return the name of the parent or child of a joint; an error where it has none."""
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
    return link


def _type_of(joint: Element) -> str:
    if not joint.get('name'):
        raise _PartError('has no name')
    kind = joint.get('type')
    if not kind:
        raise _PartError('has no type')
    if kind not in _TYPES:
        raise _PartError(f'unknown type {kind[:80]!r}; valid: {", ".join(_TYPES)}')
    if kind in ('planar', 'floating') and joint.find('mimic') is not None:
        raise _PartError(f'a {kind} joint cannot mimic another one')
    if kind in _WITH_ENDS and joint.find('limit') is None:
        raise _PartError(f'a {kind} joint needs a <limit>')
    return kind


def _part(joint: Element, tag: str) -> Element | None:
    found = joint.findall(tag)
    if len(found) > 1:
        raise _PartError(f'more than one <{tag}>')
    return found[0] if found else None


def _origin(joint: Element) -> NDArray[np.float64]:
    """Return the (4, 4) transform of an ``<origin>``; the identity where there is none."""
    origin = _part(joint, 'origin')
    if origin is None:
        return np.eye(4)
    if 'quat_xyzw' in origin.attrib:
        raise _PartError('<origin> quat_xyzw is not supported; give rpy')
    zero = [0.0, 0.0, 0.0]
    return transform_from_xyz_rpy(_numbers(origin, 'xyz', zero), _numbers(origin, 'rpy', zero))


def _axis(joint: Element) -> list[float]:
    axis = _part(joint, 'axis')
    if axis is None:
        return [1.0, 0.0, 0.0]
    if 'xyz' not in axis.attrib:
        raise _PartError('<axis> has no xyz')
    return _numbers(axis, 'xyz', [])


def _unit(axis: list[float]) -> NDArray[np.float64]:
    length = math.hypot(*axis)
    if not _SHORTEST_AXIS < length < math.inf:
        raise _PartError(f'<axis> {axis} has no direction')
    return np.array(axis) / length


def _ends(limit: Element) -> tuple[float, float]:
    """Return the end stops of a ``<limit>``; one that is left out is 0."""
    given = {name: limit.get(name, '').strip() for name in ('lower', 'upper')}
    if not any(given.values()):
        raise _PartError('<limit> gives neither lower nor upper')
    ends = []
    for (name, text), nothing in zip(given.items(), (math.inf, -math.inf), strict=True):
        ends.append(_number(text, f'<limit> {name}') if name in limit.attrib else 0.0)
        if ends[-1] == nothing:
            raise _PartError(f'<limit> {name}: {text[:80]!r} leaves no range')
    return ends[0], ends[1]


def _within(limits: JointLimits, soft: tuple[float, float]) -> JointLimits:
    """Return limits that also keep those of a ``<safety_controller>``."""
    if limits.lower > limits.upper:
        raise _PartError(f'<limit> lower {limits.lower} > upper {limits.upper}')
    lower, upper = max(limits.lower, soft[0]), min(limits.upper, soft[1])
    if lower > upper:
        raise _PartError(
            f'<safety_controller> from {soft[0]:g} to {soft[1]:g} leaves nothing of '
            f'its <limit> from {limits.lower:g} to {limits.upper:g}'
        )
    return replace(limits, lower=lower, upper=upper)


def _mimic(joint: Element) -> Mimic | None:
    mimic = _part(joint, 'mimic')
    if mimic is None:
        return None
    (multiplier,), (offset,) = (
        _numbers(mimic, 'multiplier', [1.0]),
        _numbers(mimic, 'offset', [0.0]),
    )
    followed = mimic.get('joint')
    if not followed:
        raise _PartError('<mimic> has no joint')
    return Mimic(followed, multiplier, offset)


def _numbers(part: Element, attribute: str, default: list[float]) -> list[float]:
    """Return the finite numbers of an attribute, three or as many as its default has."""
    if attribute not in part.attrib:
        return default
    text, label = part.attrib[attribute], f'<{part.tag}> {attribute}'
    words = text.split()
    count = len(default) or 3
    if len(words) != count:
        raise _PartError(f'{label}: {count} number(s) needed, not {text[:80]!r}')
    values = [_number(word, label) for word in words]
    for word, value in zip(words, values, strict=True):
        if not math.isfinite(value):
            raise _PartError(f'{label}: {word[:80]!r} is not a finite number')
    return values


def _number(word: str, label: str) -> float:
    """Return a number, which may be infinite."""
    if len(word.split()) != 1:
        raise _PartError(f'{label}: 1 number(s) needed, not {word[:80]!r}')
    # float() alone would also take digits of other scripts and Python's 1_000.
    try:
        value = float(word) if word.isascii() and '_' not in word else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise _PartError(f'{label}: {word[:80]!r} is not a finite number')
    return value
