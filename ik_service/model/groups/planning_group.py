"""Planning groups: named sets of joints with the links that they place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

ORIGINS = ('srdf', 'parameter', 'known name', 'default')
"""Sources of planning groups."""


@dataclass(frozen=True)
class PlanningGroup:
    """
    Named set of joints, and the links that they place.

    :ivar name: its name.
    :ivar base_link: link in whose frame poses are given; of several tips the common ancestor.
        Empty where no joint belongs to the group.
    :ivar tip_links: links that are placed; empty where there is a fault.
    :ivar joint_names: its joints that move on their own, in document order.
    :ivar states: position of joints [rad] or [m] by joint, by name of the state.
    :ivar subgroups: names of the groups that it is made of, as far as it is.
    :ivar origin: one of :data:`ORIGINS`.
    :ivar fault: why nothing can be placed with it; empty when something can.
    """

    name: str
    base_link: str
    tip_links: tuple[str, ...]
    joint_names: tuple[str, ...]
    states: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    subgroups: tuple[str, ...] = ()
    origin: str = 'srdf'
    fault: str = ''

    def __post_init__(self) -> None:
        states = {
            name: MappingProxyType(dict(positions)) for name, positions in self.states.items()
        }
        object.__setattr__(self, 'states', MappingProxyType(states))

    @property
    def described(self) -> bool:
        """Whether an SRDF or the user describes it; others are known or guessed by names."""
        return self.origin in ('srdf', 'parameter')

    def __reduce__(self) -> tuple[object, ...]:
        # Read-only mappings cannot be pickled.
        states = {name: dict(positions) for name, positions in self.states.items()}
        return type(self), (
            self.name,
            self.base_link,
            self.tip_links,
            self.joint_names,
            states,
            self.subgroups,
            self.origin,
            self.fault,
        )
