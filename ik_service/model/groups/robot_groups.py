"""The planning groups of a robot from all sources, the default first, and its default tip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
import re

from ik_service.common.quoting import named, safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.model.groups.default_tip import are_equal_arms, moved_leaves, tip_candidates
from ik_service.model.groups.default_tip import default_tip as tip_by_names
from ik_service.model.groups.group_resolution import (
    group_between,
    resolve_groups,
    states_of,
    variables_between,
)
from ik_service.model.groups.known_groups import known_semantics
from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.groups.srdf import Semantics
from ik_service.model.robot_model import RobotModel

DEFAULT_GROUP = 'manipulator'
"""Name of the group of a robot about which nothing else is known."""

_ARM_JOINTS = 3


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
    faulty = [model.faulty_joint(base_link, tip) for tip in tip_links]
    joint = next(filter(None, faulty), None)
    if joint is None:
        return group_between(model, name, base_link, tip_links, 'parameter')
    fault = f'{named("joint", joint.name)} {joint.fault}'
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
    """
    Return the groups that a faulty joint keeps from being used.

    :param model: the robot.
    :param groups: its planning groups.
    """
    joints = [joint for joint in model.joints.values() if joint.fault]
    faults = [f'{named("joint", joint.name)} {joint.fault}' for joint in joints]
    return [group for group in groups.values() if group.fault and group.fault in faults]


def choice_remarks(model: RobotModel, groups: Mapping[str, PlanningGroup]) -> list[str]:
    """
    Return remarks on groups that faulty joints cost, and on the default that is chosen instead.

    :param model: the robot.
    :param groups: its planning groups, the default first.
    """
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
