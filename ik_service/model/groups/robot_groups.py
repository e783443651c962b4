"""
The planning groups of a robot from all sources, the default first, and its default tip.

Robots without an SRDF have the groups of their makers' own MoveIt configurations, which are data
in ``known_groups.yaml`` beside this module. A rule applies where all of its links exist, also
behind a common prefix such as ``left_``, which the names of its groups then get as well. Where
only one prefix fits, the plain names mean the same. A robot of several arms is of several kinds,
each with its own links.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from pathlib import Path
import re
from typing import Any

from ik_service.common.quoting import named, safe_repr
from ik_service.exceptions import ArgumentError, ChainError, FaultyJointError
from ik_service.model.groups.default_tip import are_equal_arms, moved_leaves, tip_candidates
from ik_service.model.groups.default_tip import default_tip as tip_by_names
from ik_service.model.groups.group_resolution import (
    group_between,
    resolve_groups,
    states_of,
    variables_between,
)
from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.groups.srdf import EndEffector, GroupElements, Positions, Semantics
from ik_service.model.robot_model import RobotModel

DEFAULT_GROUP = 'manipulator'  # name of the group of a robot about which nothing else is known

_ARM_JOINTS = 3  # fewest joints of an arm


_SEPARATORS = ('_', '/', '-')
_MOST_PREFIXES = 16  # prefixes of arms that are tried


@dataclass(frozen=True)
class KnownRobot:
    """
    Planning groups of a kind of robot.

    :ivar links: links by which it is known.
    :ivar groups: its groups, the default first. Of several chains the first that exists counts.
    :ivar states: values by joint, by name of the state, by name of the group.
    :ivar grippers: names of the groups that are grippers.
    """

    links: tuple[str, ...]
    groups: tuple[GroupElements, ...]
    states: Mapping[str, Mapping[str, Positions]]
    grippers: tuple[str, ...]


@lru_cache(maxsize=1)
def known_robots() -> tuple[KnownRobot, ...]:
    """Return the robots of the table, in its order."""
    import yaml  # not needed by users who name base and tip

    with Path(__file__).with_name('known_groups.yaml').open(encoding='utf-8') as file:
        loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)  # ten times as fast
        return tuple(_robot(entry) for entry in yaml.load(file, Loader=loader))


def known_semantics(model: RobotModel) -> Semantics:
    """Return the planning groups that are known for a robot; none for an unknown one."""
    finder = _Finder(model)
    for robot in known_robots():
        prefixes = finder.prefixes(robot)
        names = ['', *prefixes] if len(prefixes) == 1 and prefixes[0] else prefixes
        for name in names:
            finder.add(robot, name or prefixes[0], name)
    return finder.semantics()


class _Finder:
    """Collector of the groups of a known robot."""

    def __init__(self, model: RobotModel) -> None:
        self._model = model
        self._known: set[str] = set()  # links of the kinds of robots that were found
        self._groups: dict[str, GroupElements] = {}
        self._states: dict[str, Mapping[str, Positions]] = {}
        self._grippers: list[EndEffector] = []

    def prefixes(self, robot: KnownRobot) -> list[str]:
        """Return the prefixes with which all links of a kind exist, and are of no earlier kind."""
        found = []
        for prefix in _prefixes(self._model, robot.links):
            links = {prefix + link for link in robot.links}
            if self._known.isdisjoint(links):
                self._known |= links
                found.append(prefix)
        return found

    def add(self, robot: KnownRobot, prefix: str, name_prefix: str) -> None:
        """Add the groups whose parts exist."""
        for group in robot.groups:
            found = self._found(group, prefix, name_prefix)
            if found is None or found.name in self._groups:
                continue
            self._groups[found.name] = found
            self._states[found.name] = _states(robot.states.get(group.name, {}), prefix)
            if group.name in robot.grippers:
                self._grippers.append(EndEffector(found.name, '', found.name))

    def semantics(self) -> Semantics:
        """Return the semantics of the groups and grippers found."""
        ends = tuple(self._grippers)
        return Semantics(self._model.name, self._groups, self._states, end_effectors=ends)

    def _found(self, group: GroupElements, prefix: str, name_prefix: str) -> GroupElements | None:
        """Return a group with its prefix; None if the robot lacks a part of it."""
        links = set(self._model.links)
        chains = [(prefix + base, prefix + tip) for base, tip in group.chains]
        chains = [chain for chain in chains if links.issuperset(chain)]
        found = GroupElements(
            name_prefix + group.name.replace('{robot}', self._model.name),
            tuple(chains[:1]),
            tuple(prefix + name for name in group.joints),
            tuple(prefix + name for name in group.links),
            tuple(name_prefix + name for name in group.subgroups),
        )
        exists = (
            bool(chains) == bool(group.chains)
            and links.issuperset(found.links)
            and self._model.joints.keys() >= set(found.joints)
            and self._groups.keys() >= set(found.subgroups)
        )
        return found if exists else None


def _robot(entry: Mapping[str, Any]) -> KnownRobot:
    groups = tuple(_elements(name, parts) for name, parts in entry['groups'].items())
    states = {
        group: {
            name: dict(zip(entry['joints'], ((float(value),) for value in values), strict=True))
            for name, values in named.items()
        }
        for group, named in entry.get('states', {}).items()
    }
    return KnownRobot(tuple(entry['links']), groups, states, tuple(entry.get('grippers', ())))


def _elements(name: str, parts: Mapping[str, Any]) -> GroupElements:
    base, *tips = parts.get('chain', [''])
    return GroupElements(
        name,
        tuple((base, tip) for tip in tips),
        tuple(parts.get('joints', ())),
        tuple(parts.get('links', ())),
        tuple(parts.get('groups', ())),
    )


def _prefixes(model: RobotModel, links: tuple[str, ...]) -> list[str]:
    """Return the prefixes with which all links exist, the empty one first."""
    present = set(model.links)
    found = [''] if present.issuperset(links) else []
    for link in model.links:
        prefix = link.removesuffix(links[0])
        prefixed = link.endswith(links[0]) and prefix.endswith(_SEPARATORS)
        if prefixed and all(prefix + other in present for other in links):
            found.append(prefix)
    return found[:_MOST_PREFIXES]


def _states(states: Mapping[str, Positions], prefix: str) -> dict[str, Positions]:
    return {
        name: {prefix + joint: value for joint, value in positions.items()}
        for name, positions in states.items()
    }


def robot_groups(
    model: RobotModel, semantics: Semantics | None, own: Iterable[PlanningGroup]
) -> dict[str, PlanningGroup]:
    """
    Return the planning groups of a robot, the default first.

    :param model: the robot.
    :param semantics: content of an SRDF, checked; None without one. The well-known groups of the
        robot take the place of one without groups.
    :param own: groups that the user gives; they go first, and replace those of the same name.
    """
    if semantics is None or not semantics.groups:
        semantics = known_semantics(model)
        found = resolve_groups(model, semantics, 'known name')
    else:
        found = _default_first(resolve_groups(model, semantics), semantics)
        if all(group.fault for group in found.values()):  # known groups go before the refused
            known = resolve_groups(model, known_semantics(model), 'known name')
            found = {name: group for name, group in known.items() if name not in found} | found
    groups = {group.name: _with_states(model, group, semantics) for group in own}
    groups.update((name, group) for name, group in found.items() if name not in groups)
    return groups or _only_groups(model)


def own_groups(model: RobotModel, groups: object) -> tuple[PlanningGroup, ...]:
    """
    Return planning groups that the user gives; one that needs a faulty joint has a fault.

    :param model: the robot.
    :param groups: base link and tip link, or several tip links, by name of the group.
    :raises ArgumentError: this is no such mapping.
    :raises UnknownLinkError: there is no such link.
    :raises ChainError: no joint moves a tip relative to the base.
    """
    if not isinstance(groups, Mapping):
        raise ArgumentError('groups', f'has to be a mapping, not {safe_repr(groups)}')
    found = []
    for name, ends in groups.items():
        if not isinstance(name, str) or not name:
            raise ArgumentError('groups', f'{safe_repr(name)} is no name')
        base, tips = _ends(name, ends)
        found.append(_own_group(model, name, base or model.root_link, tips))
    return tuple(found)


def _own_group(
    model: RobotModel, name: str, base_link: str, tip_links: tuple[str, ...]
) -> PlanningGroup:
    try:
        return group_between(model, name, base_link, tip_links, 'parameter')
    except FaultyJointError as error:
        fault = f'{named("joint", error.joint)} {error.reason}'
    return PlanningGroup(name, base_link, (), (), origin='parameter', fault=fault)


def default_tip(model: RobotModel, base_link: str, groups: Mapping[str, PlanningGroup]) -> str:
    """
    Return the link below a base that is placed when nobody names one.

    :param model: the robot.
    :param base_link: link in whose frame poses are given.
    :param groups: the robot's planning groups, the default first.
    :raises UnknownLinkError: there is no such link.
    :raises ChainError: several links would do, or no joint moves one; lists the candidates.
    """
    leaves = moved_leaves(model, base_link)
    for group in groups.values():
        if group.origin == 'default' or len(group.tip_links) != 1:
            continue
        if group.origin == 'known name' and len(leaves) == 1:
            break  # a tool beyond the tip of the maker's configuration, such as a gripper's TCP
        tip = group.tip_links[0]
        path = model.path(base_link, tip)
        if model.faulty_joint(base_link, tip) is not None:
            continue
        if all(forward for _, forward in path) and variables_between(model, base_link, tip):
            return tip
    return tip_by_names(model, base_link)


def refused_groups(model: RobotModel, groups: Mapping[str, PlanningGroup]) -> list[PlanningGroup]:
    """Return the groups that a faulty joint keeps from being used."""
    joints = [joint for joint in model.joints.values() if joint.fault]
    faults = [f'{named("joint", joint.name)} {joint.fault}' for joint in joints]
    return [group for group in groups.values() if group.fault and group.fault in faults]


def choice_remarks(model: RobotModel, groups: Mapping[str, PlanningGroup]) -> list[str]:
    """Return remarks on groups that faulty joints cost, and on the default chosen instead."""
    refused = refused_groups(model, groups)
    remarks = [f'{named("group", group.name)} is refused: {group.fault}' for group in refused]
    usable = [group.name for group in groups.values() if len(group.tip_links) == 1]
    if refused and usable:
        remarks.append(f'the default is {named("group", usable[0])}')
    elif any(joint.fault for joint in model.joints.values()) and all(
        group.origin == 'default' for group in groups.values()
    ):
        remarks += _tip_remarks(model)
    return [*remarks, *_arm_remarks(groups)]


def _arm_remarks(groups: Mapping[str, PlanningGroup]) -> list[str]:
    """Return a remark where nobody has said which of several arms is the default."""
    guessed = [group for group in groups.values() if group.origin in ('known name', 'default')]
    if len(guessed) < len(groups):
        return []
    arms: list[PlanningGroup] = []
    for group in guessed:
        joints = {*group.joint_names}.difference(*(arm.joint_names for arm in arms))
        if len(group.tip_links) == 1 and len(joints) >= _ARM_JOINTS:
            arms.append(group)
    if len(arms) < 2:
        return []
    names = ' and '.join(repr(arm.name) for arm in arms)
    kind = 'equal arms' if len({len(arm.joint_names) for arm in arms}) == 1 else 'arms'
    return [
        f'{kind} are the groups {names}: the first is the default; base_link and tip_link, or '
        'the name of a group, choose another'
    ]


def _tip_remarks(model: RobotModel) -> list[str]:
    """Return a remark where the default tip is another one for a faulty joint."""
    usable = tip_candidates(model, model.root_link)
    wanted = tip_candidates(model, model.root_link, faulty_too=True)
    lost = [tip for tip in wanted if model.faulty_joint(model.root_link, tip) is not None]
    if not lost or len(usable) != 1:
        return []
    joint = model.faulty_joint(model.root_link, lost[0])
    assert joint is not None
    return [
        f'the default tip is {named("link", usable[0])}, not {named("link", lost[0])}: '
        f'{named("joint", joint.name)} {joint.fault}'
    ]


def _ends(name: str, ends: object) -> tuple[str, tuple[str, ...]]:
    """Return base and tips of a group that the user gives."""
    if isinstance(ends, (tuple, list)) and len(ends) == 2:
        base, tip = ends
        tips = tuple(tip) if isinstance(tip, (tuple, list)) else (tip,)
        if tips and all(isinstance(link, str) for link in (base, *tips)):
            return base, tips
    raise ArgumentError(
        'groups', f'{name!r} has to be a base link and a tip link, not {safe_repr(ends)}'
    )


def _with_states(model: RobotModel, group: PlanningGroup, semantics: Semantics) -> PlanningGroup:
    """Return a group of the user's own with the states that the SRDF has for its name."""
    states = semantics.states.get(group.name, {})
    return replace(group, states=states_of(model, group.joint_names, states))


def _default_first(
    groups: dict[str, PlanningGroup], semantics: Semantics
) -> dict[str, PlanningGroup]:
    """Put the likeliest group in front: an arm, and one that carries a hand before others."""
    carrying = {end.parent_group for end in semantics.end_effectors}
    hands = {end.group for end in semantics.end_effectors}

    def merit(group: PlanningGroup) -> tuple[bool, ...]:
        return (
            len(group.tip_links) == 1,
            group.name not in hands,
            len(group.joint_names) >= _ARM_JOINTS,
            group.name in carrying,
        )

    first = max(groups.values(), key=merit, default=None)
    if first is None:
        return groups
    return {first.name: first, **groups}


def _only_groups(model: RobotModel) -> dict[str, PlanningGroup]:
    """Return the group from the root to the default tip, as far as that is clear, or two arms."""
    root = model.root_link
    tips = tip_candidates(model, root)
    if are_equal_arms(model, root, tips):
        names = _arm_names(tips)
    elif len(tips) == 1:
        names = [DEFAULT_GROUP]
    else:
        return {}
    try:
        groups = [
            group_between(model, name, root, [tip], 'default')
            for name, tip in zip(names, tips, strict=True)
        ]
    except ChainError:  # only joints that follow others move it
        return {}
    return {group.name: group for group in groups}


def _arm_names(tips: Sequence[str]) -> list[str]:
    """Return names for arms, of the words in which the names of their tips differ."""
    words = [re.split('[_/-]', tip) for tip in tips]
    if len({len(split) for split in words}) == 1:
        differing = [len(set(column)) > 1 for column in zip(*words, strict=True)]
        words = [list(compress(split, differing)) for split in words]
    names = ['_'.join(filter(None, split)) for split in words]
    return [name if 'arm' in name.lower() else f'{name}_arm' for name in names]
