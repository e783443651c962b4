"""
Content of an SRDF as immutable values, and its reading from text.

An SRDF names planning groups, their states, end effectors, virtual and passive joints, and pairs
of links that are not checked for collisions. Here it is only read;
:mod:`~ik_service.model.groups.srdf_check` compares it with the robot. A part that is faulty costs
that part, with a remark; a group that would mean less than was written cannot be used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
import math

from ik_service.common.quoting import named, quote
from ik_service.common.read_only import PicklableValue, read_only
from ik_service.exceptions import SrdfError
from ik_service.model.description import read_xml, XmlDocument

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

    :ivar name: its name.
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

    :ivar name: its name.
    :ivar type: ``fixed``, ``planar`` or ``floating``.
    :ivar parent_frame: the frame.
    :ivar child_link: the link.
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
    :ivar enabled_pairs: pairs that are checked although one of their links is unchecked.
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


__all__ = ['MAX_MEMBERS', 'Semantics', 'parse_srdf', 'read_srdf']

MAX_MEMBERS = 4096
"""Most groups, chains, states, end effectors, virtual joints and passive joints together."""

_JOINT_TYPES = ('fixed', 'planar', 'floating')
_KEPT = frozenset(
    {
        'group',
        'group_state',
        'end_effector',
        'virtual_joint',
        'passive_joint',
        'disable_collisions',
        'disable_default_collisions',
        'enable_collisions',
    }
)
_COUNTED = _KEPT - {'disable_collisions', 'enable_collisions'} | {'chain'}


@dataclass
class _Element:
    """An element under the root, with its children."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[_Element] = field(default_factory=list)

    @property
    def label(self) -> str:
        name = self.attributes.get('name', '').strip()
        return named(self.tag, name) if name else f'<{self.tag}> at line {self.line}'

    def required(self, attribute: str, owner: str = '') -> str:
        """Return an attribute; leading and trailing blanks do not count, as in MoveIt."""
        value = self.attributes.get(attribute, '').strip()
        if not value:
            raise SrdfError(f'<{self.tag}> has no {attribute}', owner or self.label)
        return value


def read_srdf(text: str) -> XmlDocument:
    """
    Read the elements of an SRDF.

    :raises SrdfError: the text is malformed or hostile.
    """
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
    parts = _Parts(remarks=[*document.remarks])
    for element in _elements(document):
        try:
            _TAKERS[element.tag](parts, element)
        except SrdfError as error:
            parts.remarks.append(f'{error.element} is left out: {error.reason}')
    return Semantics(
        document.root.get('name', '').strip(),
        parts.groups,
        parts.states,
        parts.disabled_pairs,
        tuple(parts.end_effectors),
        tuple(parts.virtual_joints),
        tuple(dict.fromkeys(parts.passive_joints)),
        remarks=tuple(dict.fromkeys(parts.remarks)),
        unchecked_links=tuple(dict.fromkeys(parts.unchecked_links)),
        enabled_pairs=frozenset(parts.enabled_pairs),
        text=text,
    )


def _elements(document: XmlDocument) -> list[_Element]:
    """Return the elements under the root that count, with their children."""
    found: list[_Element] = []
    members = 0
    for element in document.root:
        if element.tag not in _KEPT:
            continue
        children = [_Element(child.tag, child.attrib, document.lines[child]) for child in element]
        found.append(_Element(element.tag, element.attrib, document.lines[element], children))
        members += (element.tag in _COUNTED) + sum(child.tag in _COUNTED for child in children)
        if members > MAX_MEMBERS:
            raise SrdfError(
                f'more than {MAX_MEMBERS} groups, chains, states and joints',
                f'line {document.lines[element]}',
            )
    return found


@dataclass
class _Parts:
    """Parts of the semantics that are read."""

    groups: dict[str, GroupElements] = field(default_factory=dict)
    states: dict[str, dict[str, Positions]] = field(default_factory=dict)
    disabled_pairs: dict[frozenset[str], str] = field(default_factory=dict)
    end_effectors: list[EndEffector] = field(default_factory=list)
    virtual_joints: list[VirtualJoint] = field(default_factory=list)
    passive_joints: list[str] = field(default_factory=list)
    unchecked_links: list[str] = field(default_factory=list)
    enabled_pairs: set[frozenset[str]] = field(default_factory=set)
    remarks: list[str] = field(default_factory=list)


def _take_group(parts: _Parts, element: _Element) -> None:
    name = element.required('name')
    try:
        if name in parts.groups:
            raise SrdfError('the name stands twice', element.label)
        parts.groups[name] = _group(name, element)
    except SrdfError as error:
        parts.groups[name] = GroupElements(name, fault=error.reason)


def _group(name: str, element: _Element) -> GroupElements:
    label = element.label

    def names(tag: str) -> tuple[str, ...]:
        found = [child.required('name', label) for child in element.children if child.tag == tag]
        return tuple(dict.fromkeys(found))

    chains = [
        (child.required('base_link', label), child.required('tip_link', label))
        for child in element.children
        if child.tag == 'chain'
    ]
    return GroupElements(
        name, tuple(dict.fromkeys(chains)), names('joint'), names('link'), names('group')
    )


def _take_state(parts: _Parts, element: _Element) -> None:
    name, group, label = element.required('name'), element.required('group'), element.label
    states = parts.states.setdefault(group, {})
    if name in states:
        raise SrdfError(f'the name stands twice in {named("group", group)}', label)
    values: dict[str, tuple[float, ...]] = {}
    for child in element.children:
        if child.tag == 'joint':
            try:
                _take_value(values, child, label)
            except SrdfError as error:
                parts.remarks.append(f'{label}: a value is ignored: {error.reason}')
    states[name] = values


def _take_value(values: dict[str, tuple[float, ...]], element: _Element, label: str) -> None:
    joint = element.required('name', label)
    if joint in values:
        raise SrdfError(f'{named("joint", joint)} stands twice', label)
    values[joint] = _numbers(element.required('value', label), joint, label)


def _numbers(text: str, joint: str, label: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split())
    except ValueError:
        values = (math.nan,)
    if not all(map(math.isfinite, values)):
        raise SrdfError(
            f'the value of {named("joint", joint)} has to be finite numbers, not {quote(text)}',
            label,
        )
    return values


def _pair(element: _Element) -> frozenset[str]:
    return frozenset((element.required('link1'), element.required('link2')))


def _take_disabled_pair(parts: _Parts, element: _Element) -> None:
    parts.disabled_pairs[_pair(element)] = element.attributes.get('reason', '').strip()


def _take_enabled_pair(parts: _Parts, element: _Element) -> None:
    parts.enabled_pairs.add(_pair(element))


def _take_unchecked_link(parts: _Parts, element: _Element) -> None:
    parts.unchecked_links.append(element.required('link'))


def _take_end_effector(parts: _Parts, element: _Element) -> None:
    parts.end_effectors.append(
        EndEffector(
            element.required('name'),
            element.required('parent_link'),
            element.required('group'),
            element.attributes.get('parent_group', '').strip(),
        )
    )


def _take_virtual_joint(parts: _Parts, element: _Element) -> None:
    kind = element.required('type')
    if kind not in _JOINT_TYPES:
        raise SrdfError(
            f'unknown type {quote(kind)}; valid: {", ".join(_JOINT_TYPES)}', element.label
        )
    parts.virtual_joints.append(
        VirtualJoint(
            element.required('name'),
            kind,
            element.required('parent_frame'),
            element.required('child_link'),
        )
    )


def _take_passive_joint(parts: _Parts, element: _Element) -> None:
    parts.passive_joints.append(element.required('name'))


_TAKERS: dict[str, Callable[[_Parts, _Element], None]] = {
    'group': _take_group,
    'group_state': _take_state,
    'disable_collisions': _take_disabled_pair,
    'disable_default_collisions': _take_unchecked_link,
    'enable_collisions': _take_enabled_pair,
    'end_effector': _take_end_effector,
    'virtual_joint': _take_virtual_joint,
    'passive_joint': _take_passive_joint,
}
