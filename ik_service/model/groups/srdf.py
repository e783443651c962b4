"""
Content of an SRDF as immutable values, and its reading from text.

An SRDF names planning groups, their states, end effectors, virtual and passive joints, and pairs
of links that are not checked for collisions. Here it is only read;
:mod:`~ik_service.model.groups.srdf_check` compares it with the robot. A part that is faulty costs
that part, with a remark; a group that would mean less than was written cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
import math
import os
from pathlib import Path
from typing import TypeVar
from xml.etree.ElementTree import Element

from ik_service.common.arguments import to_number
from ik_service.common.quoting import named, quote
from ik_service.common.read_only import PicklableValue, read_only
from ik_service.exceptions import SrdfError, UrdfError
from ik_service.model.description import load_text, read_xml, takes_xacro_args, XmlDocument
from ik_service.model.misspelled import misspelled, SRDF

Positions = Mapping[str, tuple[float, ...]]
"""Values of joints by name [rad] or [m]; several of a joint with several degrees of freedom."""


@dataclass(frozen=True)
class GroupElements:
    """
    Elements that a planning group is made of, as they were written.

    :ivar name: the group's name.
    :ivar chains: pairs of base link and tip link.
    :ivar joints: names of joints.
    :ivar links: names of links; the joint above each belongs to the group.
    :ivar subgroups: names of other groups.
    :ivar fault: why it cannot be used; then it has no elements.
    """

    name: str
    chains: tuple[tuple[str, str], ...] = ()
    joints: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    subgroups: tuple[str, ...] = ()
    fault: str = ''


@dataclass(frozen=True)
class EndEffector:
    """
    End effector of a robot.

    :ivar parent_link: link that carries it.
    :ivar group: group of its own joints.
    :ivar parent_group: group that moves it; empty where it is not said.
    """

    name: str
    parent_link: str
    group: str
    parent_group: str = ''


@dataclass(frozen=True)
class VirtualJoint:
    """
    Joint between a frame of the world and a link of the robot.

    :ivar type: ``fixed``, ``planar`` or ``floating``.
    """

    name: str
    type: str
    parent_frame: str
    child_link: str


@dataclass(frozen=True)
class Semantics(PicklableValue):
    """
    Content of a robot's SRDF; all of it empty without one.

    :ivar robot_name: name of the robot that it was written for.
    :ivar groups: elements of the planning groups by name, in document order.
    :ivar states: values by joint, by name of the state, by name of the group.
    :ivar disabled_pairs: pairs of links that are not checked for collisions, with the reason.
    :ivar end_effectors: the end effectors.
    :ivar virtual_joints: the joints between world and robot.
    :ivar passive_joints: names of joints without an actuator.
    :ivar remarks: parts left out or suspicious without being an error, a sentence each.
    :ivar unchecked_links: links that are checked against no other, but for the enabled pairs.
    :ivar enabled_pairs: pairs that are checked although one of their links is unchecked; disabled
        ones are not.
    :ivar text: the SRDF that it was read from.
    """

    robot_name: str = ''
    groups: Mapping[str, GroupElements] = field(default_factory=dict)
    states: Mapping[str, Mapping[str, Positions]] = field(default_factory=dict)
    disabled_pairs: Mapping[frozenset[str], str] = field(default_factory=dict)
    end_effectors: tuple[EndEffector, ...] = ()
    virtual_joints: tuple[VirtualJoint, ...] = ()
    passive_joints: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    unchecked_links: tuple[str, ...] = ()
    enabled_pairs: frozenset[frozenset[str]] = frozenset()
    text: str = field(default='', compare=False, repr=False)

    def __post_init__(self) -> None:
        for name in ('groups', 'states', 'disabled_pairs'):
            object.__setattr__(self, name, read_only(getattr(self, name)))


MAX_MEMBERS = 4096
"""Most groups, chains, states, end effectors, virtual joints and passive joints together."""

_JOINT_TYPES = ('fixed', 'planar', 'floating')
_PAIRS = ('disable_collisions', 'enable_collisions')
_COUNTED = (
    'group',
    'group_state',
    'end_effector',
    'virtual_joint',
    'passive_joint',
    'disable_default_collisions',
)

_Part = TypeVar('_Part')


def load_srdf_text(
    source: str | os.PathLike[str],
    xacro_args: Mapping[str, object] | None = None,
    package_dirs: Iterable[Path] = (),
) -> str:
    """
    Return the XML text of an SRDF.

    :param source: as for :func:`~ik_service.model.description.load_text`.
    :param xacro_args: arguments of a xacro file; another source takes none, and ignores them,
        because they may be meant for the URDF alone.
    :param package_dirs: likewise.
    :raises SrdfError: as that function raises ``UrdfError``.
    :raises ArgumentError: the source is neither a string nor a path.
    :raises MissingExtraError: the file is a xacro file, and xacro is not installed.
    """
    takes_args = takes_xacro_args(source)
    try:
        return load_text(source, xacro_args if takes_args else None, 'srdf', package_dirs)
    except UrdfError as error:
        text = str(error).removeprefix(f'{error.element}: ')
        raise SrdfError(
            text.replace('the robot description', 'the SRDF'), error.element
        ) from error


def read_srdf(text: str) -> XmlDocument:
    """Read the elements of an SRDF; raises SrdfError if the text is malformed or hostile."""
    return read_xml(text, SrdfError, 'an SRDF', 'the SRDF')


def parse_srdf(text: str) -> Semantics:
    """
    Read an SRDF text; whether it goes with a robot is not checked here.

    Parts that are faulty are left out with a remark; a group of which a part is faulty is kept
    with its fault, and cannot be used.

    :param text: SRDF text; unknown tags are ignored.
    :raises SrdfError: the text is malformed as a whole, or hostile.
    """
    document = read_srdf(text)
    _check_size(document)
    return _Reader(document).semantics(text)


def _check_size(document: XmlDocument) -> None:
    members = 0
    for element in document.root:
        if element.tag in (*_COUNTED, *_PAIRS):
            members += element.tag in _COUNTED
            members += sum(child.tag in (*_COUNTED, 'chain') for child in element)
        if members > MAX_MEMBERS:
            line = f'line {document.lines[element]}'
            raise SrdfError(f'more than {MAX_MEMBERS} groups, chains, states and joints', line)


class _Reader:
    """Reader of the elements under the root of a document."""

    def __init__(self, document: XmlDocument) -> None:
        self._document = document
        self._remarks = [*document.remarks]
        self._groups: dict[str, GroupElements] = {}
        self._states: dict[str, dict[str, Positions]] = {}
        self._virtual: set[str] = set()  # names of virtual joints

    def semantics(self, text: str) -> Semantics:
        """Return the content, with the text that it is of."""
        self._all('group', self._take_group)
        self._all('group_state', self._take_state)
        disabled = self._all('disable_collisions', lambda e: (self._pair(e), e.get('reason', '')))
        unchecked = self._all('disable_default_collisions', lambda e: self._required(e, 'link'))
        passive = self._all('passive_joint', lambda e: self._required(e, 'name'))
        return Semantics(
            self._document.root.get('name', '').strip(),
            self._groups,
            self._states,
            {pair: reason.strip() for pair, reason in disabled},
            end_effectors=tuple(self._all('end_effector', self._end_effector)),
            virtual_joints=tuple(self._all('virtual_joint', self._virtual_joint)),
            passive_joints=_distinct(passive),
            unchecked_links=_distinct(unchecked),
            enabled_pairs=frozenset(self._all('enable_collisions', self._pair)),
            remarks=_distinct([*self._remarks, *misspelled(self._document.root, SRDF)]),
            text=text,
        )

    def _all(self, tag: str, read: Callable[[Element], _Part]) -> list[_Part]:
        """Read the elements of a tag; a faulty one costs itself, and a remark."""
        found = []
        for element in self._document.root.iterfind(tag):
            try:
                found.append(read(element))
            except SrdfError as error:
                self._remarks.append(f'{error.element} is left out: {error.reason}')
        return found

    def _required(self, element: Element, attribute: str, owner: str = '') -> str:
        """Return an attribute; leading and trailing blanks do not count, as in MoveIt."""
        value = element.get(attribute, '').strip()
        if not value:
            label = owner or self._document.label(element)
            raise SrdfError(f'<{element.tag}> has no {attribute}', label)
        return value

    def _take_group(self, element: Element) -> None:
        name, label = self._required(element, 'name'), self._document.label(element)

        def values(tag: str, attribute: str = 'name') -> list[str]:
            return [self._required(child, attribute, label) for child in element.iterfind(tag)]

        try:
            if name in self._groups:
                raise SrdfError('the name stands twice', label)
            chains = zip(values('chain', 'base_link'), values('chain', 'tip_link'), strict=True)
            joints, links, inner = map(_distinct, map(values, ('joint', 'link', 'group')))
            self._groups[name] = GroupElements(name, _distinct(chains), joints, links, inner)
        except SrdfError as error:
            self._groups[name] = GroupElements(name, fault=error.reason)

    def _take_state(self, element: Element) -> None:
        name, group = self._required(element, 'name'), self._required(element, 'group')
        label, states = self._document.label(element), self._states.setdefault(group, {})
        if name in states:
            raise SrdfError(f'the name stands twice in {named("group", group)}', label)
        values: dict[str, tuple[float, ...]] = {}
        for child in element.iterfind('joint'):
            try:
                joint = self._required(child, 'name', label)
                if joint in values:
                    raise SrdfError(f'{named("joint", joint)} stands twice', label)
                values[joint] = _numbers(self._required(child, 'value', label), joint, label)
            except SrdfError as error:
                self._remarks.append(f'{label}: a value is ignored: {error.reason}')
        states[name] = values

    def _pair(self, element: Element) -> frozenset[str]:
        pair = frozenset(self._required(element, name) for name in ('link1', 'link2'))
        if len(pair) < 2:
            label = self._document.label(element)
            raise SrdfError(f'it names {named("link", *pair)} twice', label)
        return pair

    def _end_effector(self, element: Element) -> EndEffector:
        return EndEffector(
            self._required(element, 'name'),
            self._required(element, 'parent_link'),
            self._required(element, 'group'),
            element.get('parent_group', '').strip(),
        )

    def _virtual_joint(self, element: Element) -> VirtualJoint:
        kind, label = self._required(element, 'type'), self._document.label(element)
        if kind not in _JOINT_TYPES:
            valid = ', '.join(_JOINT_TYPES)
            raise SrdfError(f'unknown type {quote(kind)}; valid: {valid}', label)
        names = ('name', 'type', 'parent_frame', 'child_link')
        joint = VirtualJoint(*(self._required(element, name) for name in names))
        if joint.name in self._virtual:
            raise SrdfError('the name stands twice', label)
        self._virtual.add(joint.name)
        return joint


def _distinct(parts: Iterable[_Part]) -> tuple[_Part, ...]:
    return tuple(dict.fromkeys(parts))


def _numbers(text: str, joint: str, label: str) -> tuple[float, ...]:
    values = tuple(map(to_number, text.split()))
    if not all(map(math.isfinite, values)):
        wanted = f'the value of {named("joint", joint)} has to be finite numbers'
        raise SrdfError(f'{wanted}, not {quote(text)}', label)
    return values
