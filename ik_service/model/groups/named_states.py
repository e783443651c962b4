"""Named states of planning groups that go with the joints of a chain."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from ik_service.model.groups.planning_group import PlanningGroup


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
                found.setdefault(name, MappingProxyType(values))
    return MappingProxyType(found)


def _fits(joints: frozenset[str], wanted: frozenset[str]) -> bool:
    return joints <= wanted or joints >= wanted
