"""Planning groups: named sets of joints with the links that they place, and their named states."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ik_service.common.read_only import PicklableValue, read_only

ORIGINS = ('srdf', 'parameter', 'known name', 'default')  # sources of planning groups


@dataclass(frozen=True)
class PlanningGroup(PicklableValue):
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
        object.__setattr__(self, 'states', read_only(self.states))

    @property
    def described(self) -> bool:
        """Whether an SRDF or the user describes it; others are known or guessed by names."""
        return self.origin in ('srdf', 'parameter')


def named_states(
    groups: Iterable[PlanningGroup], joint_names: Collection[str]
) -> Mapping[str, Mapping[str, float]]:
    """
    Return the named states that go with joints.

    Those of a group count when it has all these joints, or no others. A state that names none of
    the joints is left out.

    :param groups: planning groups, the default first. The group that differs by the fewest joints
        goes first, and of states by the same name the first counts.
    :param joint_names: names of the joints.
    :returns: position [rad] or [m] by joint, by name of the state; of these joints only. A state
        need not name all of them.
    """
    wanted = frozenset(joint_names)
    fitting = [group for group in groups if _fits(frozenset(group.joint_names), wanted)]
    found: dict[str, Mapping[str, float]] = {}
    for group in sorted(fitting, key=lambda group: len(wanted ^ set(group.joint_names))):
        for name, positions in group.states.items():
            values = {joint: positions[joint] for joint in joint_names if joint in positions}
            if values:
                found.setdefault(name, values)
    return read_only(found)


def _fits(joints: frozenset[str], wanted: frozenset[str]) -> bool:
    return joints <= wanted or joints >= wanted
