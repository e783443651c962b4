"""Content of an SRDF as immutable values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

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
class Semantics:
    """
    What an SRDF says about a robot; all of it empty without one.

    :ivar robot_name: name of the robot that it was written for.
    :ivar groups: elements of the planning groups by name, in document order.
    :ivar states: values by joint, by name of the state, by name of the group.
    :ivar disabled_pairs: pairs of links that are not checked for collisions, with the reason.
    :ivar end_effectors: the end effectors.
    :ivar virtual_joints: the joints between world and robot.
    :ivar passive_joints: names of joints without an actuator.
    :ivar remarks: what was left out or looks wrong without being an error, a sentence each.
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
        states = {
            group: MappingProxyType(
                {name: MappingProxyType(dict(values)) for name, values in named.items()}
            )
            for group, named in self.states.items()
        }
        for name, value in (
            ('groups', dict(self.groups)),
            ('states', states),
            ('disabled_pairs', dict(self.disabled_pairs)),
        ):
            object.__setattr__(self, name, MappingProxyType(value))

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only mappings cannot be pickled.
        states = {
            group: {name: dict(values) for name, values in named.items()}
            for group, named in self.states.items()
        }
        return type(self), (
            self.robot_name,
            dict(self.groups),
            states,
            dict(self.disabled_pairs),
            self.end_effectors,
            self.virtual_joints,
            self.passive_joints,
            self.remarks,
            self.unchecked_links,
            self.enabled_pairs,
            self.text,
        )
