"""
Links and joints of a URDF.

A joint that is faulty costs itself, not the robot: it is read as one that does not move, with the
fault, and requests that need it are refused with that reason.
"""

from __future__ import annotations

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
from ik_service.model.joint import (
    floating_joints,
    Joint,
    JointLimits,
    JointType,
    Mimic,
    planar_joints,
    settled_mimics,
    STILL,
)

MAX_LINKS = 2048
"""Most links, and most joints."""

_UNNAMED = 'unnamed'
_SHORTEST_AXIS = 1e-9
_TYPES = ('revolute', 'continuous', 'prismatic', 'planar', 'floating', 'fixed')


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
    links = reader.links()
    joints: list[Joint] = []
    for expanded in reader.joints(frozenset(links)):
        links += [joint.child for joint in expanded[:-1]]
        joints += expanded
    joints = settled_mimics(joints)
    left_out = [f'{error.element} is left out: {error.reason}' for error in reader.left_out]
    faults = [f'{named("joint", joint.name)} {joint.fault}' for joint in joints if joint.fault]
    name = description.root.get('name') or _UNNAMED
    remarks = (*description.remarks, *left_out, *reader.remarks(), *faults)
    return Description(name, tuple(links), tuple(joints), remarks, tuple(reader.left_out))


class _Reader:
    """
    Reader of the elements that describe kinematics.

    :ivar left_out: faults of links and joints that are not used.
    """

    def __init__(self, description: RobotDescription) -> None:
        self._description = description
        self.left_out: list[UrdfError] = []
        self._taken_for_none: dict[str, list[str]] = {}

    def remarks(self) -> list[str]:
        """Return the properties that are ignored or made up, a sentence each."""
        unnamed = f'the robot has no name, and is called {_UNNAMED} here'
        ignored = [f'{what}: {listed(labels)}' for what, labels in self._taken_for_none.items()]
        return ignored if self._description.root.get('name') else [unnamed, *ignored]

    def links(self) -> list[str]:
        """Return the names of the links; one without a name is left out."""
        elements = self._elements('link')
        for link in elements:
            if not link.get('name'):
                self.left_out.append(UrdfError('has no name', self._description.label(link)))
        return [name for link in elements if (name := link.get('name'))]

    def joints(self, links: frozenset[str]) -> list[list[Joint]]:
        """Return for each usable joint what it is made of: one, three or six joints in series."""
        found = []
        for joint in self._elements('joint'):
            try:
                found.append(self._joint(joint, links))
            except UrdfError as error:
                self.left_out.append(error)
        return found

    def _elements(self, tag: str) -> list[Element]:
        found = self._description.root.findall(tag)
        if len(found) > MAX_LINKS:
            line = self._description.lines[found[MAX_LINKS]]
            raise UrdfError(f'more than {MAX_LINKS} {tag}s', f'line {line}')
        return found

    def _joint(self, joint: Element, links: frozenset[str]) -> list[Joint]:
        label = self._description.label(joint)
        parent, child = (_end(joint, tag, label, links) for tag in ('parent', 'child'))
        name, T, fault = joint.get('name') or label, np.eye(4), ''
        try:
            T = _transform(joint)
        except _PartError as error:
            fault = f'cannot be placed: {error}'
        placed = not fault
        fixed = Joint(name, JointType.FIXED, parent, child, T, np.array([1.0, 0.0, 0.0]), STILL)
        try:
            moving = self._moving(joint, fixed, label)
        except _PartError as error:
            fault = fault or f'cannot be used: {error}'
        return [replace(fixed, fault=fault, placed=placed)] if fault else moving

    def _moving(self, joint: Element, fixed: Joint, label: str) -> list[Joint]:
        """
        Return a joint with its motion.

        Only the parts that have a meaning for its type are read: exporters write zero axes and
        empty limits into fixed joints.
        """
        kind = joint.get('type', '')
        _check_type(joint, kind)
        ends = (fixed.name, fixed.parent, fixed.child, fixed.T_parent_joint)
        if kind == 'fixed':
            return [fixed]
        if kind == 'floating':
            return floating_joints(*ends)
        axis = _unit_axis(joint)
        if kind == 'planar':
            return planar_joints(*ends, axis)
        limits, mimic = self._limits(joint, kind, label), _mimic(joint)
        return [replace(fixed, type=JointType(kind), axis=axis, limits=limits, mimic=mimic)]

    def _limits(self, joint: Element, kind: str, label: str) -> JointLimits:
        limit = _part(joint, 'limit')
        if limit is None:
            return JointLimits()
        velocity, effort = (self._bound(limit, name, label) for name in ('velocity', 'effort'))
        if kind == 'continuous':  # it has no end stops, whatever its <limit> says
            return JointLimits(velocity=velocity, effort=effort)
        given = {name: limit.get(name, '').strip() for name in ('lower', 'upper')}
        if not any(given.values()):
            raise _PartError('<limit> gives neither lower nor upper')
        ends = {'lower': 0.0, 'upper': 0.0}
        for name, empty in (('lower', math.inf), ('upper', -math.inf)):
            if name in limit.attrib:
                ends[name] = _number(given[name], f'<limit> {name}')
                if ends[name] == empty:
                    raise _PartError(f'<limit> {name}: {given[name][:80]!r} leaves no range')
        if ends['lower'] > ends['upper']:
            raise _PartError(f'<limit> lower {ends["lower"]} > upper {ends["upper"]}')
        return JointLimits(**ends, velocity=velocity, effort=effort)

    def _bound(self, limit: Element, attribute: str, label: str) -> float:
        """Return a largest velocity or effort; none where it is left out, empty or negative."""
        text = limit.get(attribute, '').strip()
        value = _number(text, f'<limit> {attribute}') if text else math.inf
        if value >= 0.0:
            return value
        what = f'<limit> {attribute} {text[:80]} is taken for none'
        self._taken_for_none.setdefault(what, []).append(label)
        return math.inf


class _PartError(Exception):
    """Fault of a part of a joint."""


def _check_type(joint: Element, kind: str) -> None:
    if not joint.get('name'):
        raise _PartError('has no name')
    if not kind:
        raise _PartError('has no type')
    if kind not in _TYPES:
        raise _PartError(f'unknown type {kind[:80]!r}; valid: {", ".join(_TYPES)}')
    if joint.find('mimic') is not None and kind in ('planar', 'floating'):
        raise _PartError(f'a {kind} joint cannot mimic another one')
    if kind in ('revolute', 'prismatic') and joint.find('limit') is None:
        raise _PartError(f'a {kind} joint needs a <limit>')


def _part(joint: Element, tag: str) -> Element | None:
    found = joint.findall(tag)
    if len(found) > 1:
        raise _PartError(f'more than one <{tag}>')
    return found[0] if found else None


def _end(joint: Element, tag: str, label: str, links: frozenset[str]) -> str:
    """Return the link that is the parent or child of a joint; an error where it has none."""
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


def _transform(joint: Element) -> NDArray[np.float64]:
    """Return the (4, 4) transform of the ``<origin>``; the identity where there is none."""
    origin = _part(joint, 'origin')
    if origin is None:
        return np.eye(4)
    if 'quat_xyzw' in origin.attrib:
        raise _PartError('<origin> quat_xyzw is not supported; give rpy')
    return transform_from_xyz_rpy(
        _numbers(origin, 'xyz', '0 0 0'), _numbers(origin, 'rpy', '0 0 0')
    )


def _unit_axis(joint: Element) -> NDArray[np.float64]:
    axis = _part(joint, 'axis')
    if axis is None:
        return np.array([1.0, 0.0, 0.0])
    if 'xyz' not in axis.attrib:
        raise _PartError('<axis> has no xyz')
    direction = _numbers(axis, 'xyz', '')
    length = math.hypot(*direction)
    if not _SHORTEST_AXIS < length < math.inf:
        raise _PartError(f'<axis> {direction} has no direction')
    return np.array(direction) / length


def _mimic(joint: Element) -> Mimic | None:
    mimic = _part(joint, 'mimic')
    if mimic is None:
        return None
    multiplier, offset = _numbers(mimic, 'multiplier', '1', 1), _numbers(mimic, 'offset', '0', 1)
    if not mimic.get('joint'):
        raise _PartError('<mimic> has no joint')
    return Mimic(mimic.get('joint', ''), *multiplier, *offset)


def _numbers(part: Element, attribute: str, default: str, count: int = 3) -> list[float]:
    """Return the finite numbers of an attribute, of which there have to be ``count``."""
    what, text = f'<{part.tag}> {attribute}', part.get(attribute, default)
    words = text.split()
    if len(words) != count:
        raise _PartError(f'{what}: {count} number(s) needed, not {text[:80]!r}')
    for word in words:
        if not math.isfinite(_number(word, what)):
            raise _PartError(f'{what}: {word[:80]!r} is not a finite number')
    return [float(word) for word in words]


def _number(word: str, what: str) -> float:
    """Return a number, which may be infinite."""
    if len(word.split()) != 1:
        raise _PartError(f'{what}: 1 number(s) needed, not {word[:80]!r}')
    # float() alone would also take digits of other scripts and Python's 1_000.
    try:
        value = float(word) if word.isascii() and '_' not in word else math.nan
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise _PartError(f'{what}: {word[:80]!r} is not a finite number')
    return value
