"""
Comparison of an SRDF with the robot that it is about.

A group that names missing parts cannot be used: it would mean less than was written. Values
of states, end effectors, passive joints and disabled pairs that name missing parts are left
out with a remark, as in MoveIt: the same file often serves an arm with and without its gripper.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from ik_service.common.quoting import listed, named, suggested
from ik_service.model.expanded_joints import FLOATING_PARTS, part_names, PLANAR_PARTS
from ik_service.model.groups.group_resolution import joints_of_groups
from ik_service.model.groups.srdf import EndEffector, GroupElements, Positions, Semantics
from ik_service.model.robot_model import RobotModel

_Part = TypeVar('_Part')

_NEEDS = 'it needs'  # begins the fault of a group that contains a faulty one
_FLOATING_VALUES = 7
_ROUNDED = 1e-3  # distance beyond a limit that values of states in files are rounded by [rad, m]
_VALUES = {len(PLANAR_PARTS): 3, len(FLOATING_PARTS): _FLOATING_VALUES}
"""Number of values of a joint in a state by the number of its parts: a planar joint has x, y [m]
and angle [rad], a floating one x, y, z [m] and a quaternion (x, y, z, w)."""


def checked_semantics(semantics: Semantics, model: RobotModel) -> Semantics:
    """
    Return the content of an SRDF, without parts that the robot lacks, and with remarks on them.

    :param semantics: the SRDF.
    :param model: the robot.
    :raises SrdfError: groups have too many joints.
    """
    remarks = [*semantics.remarks]
    groups = _usable_groups(semantics, model)
    semantics = replace(semantics, groups=groups)
    remarks += [
        f'{named("group", group.name)} cannot be used: {group.fault}'
        for group in groups.values()
        if group.fault
    ]
    joints = joints_of_groups(model, groups)
    states = {}
    for group, own in semantics.states.items():
        missing = _missing('group', group, groups)
        if missing:
            remarks += [f'{named("group_state", name)} is left out: {missing}' for name in own]
        else:
            states[group] = _usable_states(group, own, semantics, model, remarks)
            if not groups[group].fault:
                remarks += _state_remarks(group, states[group], joints[group], model)
    ends = _hands(semantics, model, joints, remarks)
    semantics = replace(semantics, states=states, end_effectors=ends)
    if semantics.robot_name != model.name:
        written = named('robot', semantics.robot_name)
        remarks.append(f'it is written for {written}, and the robot is called {model.name!r}')
    if not groups:
        remarks.append('it has no planning groups')
    return replace(_without_missing_parts(semantics, model, remarks), remarks=tuple(remarks))


def _usable_groups(semantics: Semantics, model: RobotModel) -> dict[str, GroupElements]:
    """Return the groups; those that cannot be used, or need one that cannot, with the fault."""
    groups = semantics.groups
    faults = {name: group.fault for name, group in groups.items() if group.fault}
    for name, group in groups.items():
        if name not in faults:
            fault = _group_fault(group, semantics, model)
            faults.update({name: fault} if fault else {})
    faults = {**_circles(groups), **faults}
    users: dict[str, list[str]] = {}
    for name, group in groups.items():
        for inner in group.subgroups:
            users.setdefault(inner, []).append(name)
    pending = [*faults]
    while pending:
        faulty = pending.pop()
        fault = faults[faulty]
        via = fault if fault.startswith(_NEEDS) else f'{_NEEDS} {named("group", faulty)}: {fault}'
        for user in users.get(faulty, ()):
            if user not in faults:
                faults[user] = via
                pending.append(user)
    return {
        name: GroupElements(name, fault=faults[name]) if name in faults else group
        for name, group in groups.items()
    }


def _group_fault(group: GroupElements, semantics: Semantics, model: RobotModel) -> str:
    """Return the fault of a group that names missing parts; empty for none."""
    virtual = {joint.name for joint in semantics.virtual_joints}
    links = (*(end for chain in group.chains for end in chain), *group.links)
    joints = [name for name in group.joints if name not in virtual]
    joints = [name for name in joints if not part_names(name, model.joints)]
    faults = (
        *(_missing('link', link, model.links) for link in links),
        *(_missing('joint', joint, model.joints) for joint in joints),
        *(_missing('group', other, semantics.groups) for other in group.subgroups),
    )
    return next(filter(None, faults), '')


def _missing(kind: str, name: str, valid: Collection[str]) -> str:
    if name in valid:
        return ''
    return f'{named(kind, name)} does not exist; {suggested(name, valid)}'


def _circles(groups: Mapping[str, GroupElements]) -> dict[str, str]:
    """Return the groups that contain themselves, and how; without recursion, for deep nesting."""
    found: dict[str, str] = {}
    done: set[str] = set()
    for start in groups:
        open_groups = {} if start in done else {start: iter(groups[start].subgroups)}
        while open_groups:
            at = next(reversed(open_groups))
            inner = next(open_groups[at], None)
            if inner is None:
                done.add(at)
                del open_groups[at]
            elif inner in open_groups:
                names = list(open_groups)
                circle = names[names.index(inner) :]
                fault = f'sub-groups form a circle: {listed([*circle, inner])}'
                found.update(dict.fromkeys(circle, fault))
            elif inner not in done and inner in groups:
                open_groups[inner] = iter(groups[inner].subgroups)
    return found


def _usable_states(
    group: str,
    states: Mapping[str, Positions],
    semantics: Semantics,
    model: RobotModel,
    remarks: list[str],
) -> dict[str, Positions]:
    """Return the states of a group without the values that no joint can take."""
    virtual = {joint.name: joint.type for joint in semantics.virtual_joints}
    found: dict[str, Positions] = {}
    for name, positions in states.items():
        faults = {
            joint: _value_fault(joint, values, virtual, model)
            for joint, values in positions.items()
        }
        found[name] = {joint: positions[joint] for joint, fault in faults.items() if not fault}
        remarks += [
            f'{named("group_state", name)} of {named("group", group)}: a value is ignored: {fault}'
            for fault in faults.values()
            if fault
        ]
    return found


def _state_remarks(
    group: str, states: Mapping[str, Positions], joints: frozenset[str], model: RobotModel
) -> list[str]:
    """Return remarks on values of joints beside the group, and on those beyond the limits."""
    found = []
    for name, positions in states.items():
        parts = {joint: {*(part_names(joint, model.joints) or (joint,))} for joint in positions}
        others = [joint for joint in parts if model.joints.keys() & parts[joint] - joints]
        what = f'{named("group_state", name)} of {named("group", group)}'
        if others:
            found.append(f'{what}: values of joints outside of the group: {listed(others)}')
        beyond = [joint for joint in positions if _is_beyond(joint, positions[joint], model)]
        if beyond:
            found.append(f'{what}: values beyond the limits of joints: {listed(beyond)}')
    return found


def _is_beyond(joint: str, values: tuple[float, ...], model: RobotModel) -> bool:
    if joint not in model.joints or not model.joints[joint].movable:
        return False
    limits = model.joints[joint].limits
    return not limits.lower - _ROUNDED <= values[0] <= limits.upper + _ROUNDED


def _value_fault(
    joint: str, values: tuple[float, ...], virtual: Mapping[str, str], model: RobotModel
) -> str:
    """Return why a joint cannot have a value; empty where it can."""
    if joint in virtual:
        wanted = {'planar': 3, 'floating': _FLOATING_VALUES}
        count = wanted.get(virtual[joint], len(values))
    else:
        parts = part_names(joint, model.joints)
        if not parts and joint not in model.joints:
            return _missing('joint', joint, model.joints)
        count = _VALUES.get(len(parts), 1)
    if len(values) != count:
        return f'{named("joint", joint)} has {len(values)} values, and needs {count}'
    if count == _FLOATING_VALUES and not any(values[3:]):
        return f'the quaternion of {named("joint", joint)} is zero'
    return ''


def _hands(
    semantics: Semantics,
    model: RobotModel,
    joints: Mapping[str, frozenset[str]],
    remarks: list[str],
) -> tuple[EndEffector, ...]:
    """Return the end effectors but those whose group moves its own carrier: an arm."""
    found = []
    for end in semantics.end_effectors:
        moving = _moves_its_carrier(end, model, joints)
        if moving:
            remarks.append(
                f'{named("end_effector", end.name)} is left out: {named("joint", moving)} of its '
                f'{named("group", end.group)} moves {named("link", end.parent_link)}, which '
                'should carry it'
            )
        else:
            found.append(end)
    return tuple(found)


def _moves_its_carrier(
    end: EndEffector, model: RobotModel, joints: Mapping[str, frozenset[str]]
) -> str:
    """Return a joint of an end effector's group that moves its parent link; empty for none."""
    if end.parent_link not in model.links:
        return ''
    above = (joint for joint, _ in model.path(model.root_link, end.parent_link))
    own = joints.get(end.group, frozenset())
    return next((joint.name for joint in above if joint.movable and joint.name in own), '')


def _without_missing_parts(
    semantics: Semantics, model: RobotModel, remarks: list[str]
) -> Semantics:
    links, groups = set(model.links), {*semantics.groups, ''}
    joints = {*model.joints, *(joint.name for joint in semantics.virtual_joints)}

    def kept(
        kind: str, parts: Iterable[_Part], missing: Callable[[_Part], str]
    ) -> tuple[_Part, ...]:
        judged = [(part, missing(part)) for part in parts]
        left_out = dict.fromkeys(name for _, name in judged if name)
        if left_out:
            what = 'left out because they name what does not exist'
            remarks.append(f'{kind} {what}: {listed(left_out)}')
        return tuple(part for part, name in judged if not name)

    def absent(names: Iterable[str], valid: Collection[str] = links) -> str:
        return next((name for name in names if name not in valid), '')

    ends = kept(
        'end effectors',
        semantics.end_effectors,
        lambda end: absent([end.parent_link]) or absent((end.group, end.parent_group), groups),
    )
    pairs = kept('disabled pairs', semantics.disabled_pairs, lambda pair: absent(sorted(pair)))
    enabled = kept('enabled pairs', semantics.enabled_pairs, lambda pair: absent(sorted(pair)))
    unchecked = kept('unchecked links', semantics.unchecked_links, lambda link: absent([link]))
    virtual = kept('virtual joints', semantics.virtual_joints, lambda j: absent([j.child_link]))
    remarks += [
        f'{named("virtual_joint", joint.name)} is not used: it does not hold the root link, '
        f'{model.root_link!r}'
        for joint in virtual
        if joint.child_link != model.root_link
    ]
    remarks += [
        f'{named("virtual_joint", joint.name)} has the name of a joint of the robot, too: '
        'multi_dof_joint_state of that name is the virtual joint'
        for joint in virtual
        if joint.name in model.joints or part_names(joint.name, model.joints)
    ]
    passive = kept(
        'passive joints',
        semantics.passive_joints,
        lambda name: '' if part_names(name, model.joints) else absent([name], joints),
    )
    return replace(
        semantics,
        end_effectors=ends,
        disabled_pairs={pair: semantics.disabled_pairs[pair] for pair in pairs},
        virtual_joints=virtual,
        passive_joints=passive,
        unchecked_links=unchecked,
        enabled_pairs=frozenset(enabled),
    )
