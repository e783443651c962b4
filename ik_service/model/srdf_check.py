"""
Comparison of an SRDF with the robot that it is about.

A group or a state that names what does not exist is an error: it would mean less than was written.
End effectors, passive joints and disabled pairs of links that are not there are left out with
a remark, as in MoveIt: the same file often serves an arm with and without its gripper.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from ik_service.exceptions import SrdfError
from ik_service.model.group_joints import joints_of_groups
from ik_service.model.multi_dof import FLOATING_PARTS, part_names, PLANAR_PARTS
from ik_service.model.part_names import listed, named, suggested
from ik_service.model.robot_model import RobotModel
from ik_service.model.semantics import (
    EndEffector,
    GroupElements,
    Positions,
    Semantics,
    VirtualJoint,
)

_Part = TypeVar('_Part')

_FLOATING_VALUES = 7
_VALUES = {len(PLANAR_PARTS): 3, len(FLOATING_PARTS): _FLOATING_VALUES}
"""Number of values of a joint in a state by the number of its parts: a planar joint has x, y [m]
and angle [rad], a floating one x, y, z [m] and a quaternion (x, y, z, w)."""


def checked_semantics(semantics: Semantics, model: RobotModel) -> Semantics:
    """
    Return what an SRDF says, without what the robot does not have, and with remarks on that.

    :param semantics: the SRDF.
    :param model: the robot.
    :raises SrdfError: a group names a link, joint or group that does not exist, groups contain
        each other in a circle or have too many joints, or a state names a group or joint that does
        not exist or gives it the wrong number of values.
    """
    for group in semantics.groups.values():
        _check_group(group, semantics, model)
    _check_circles(semantics.groups)
    joints_of_groups(model, semantics.groups)
    for group_name, states in semantics.states.items():
        for name, positions in states.items():
            _check_state(name, group_name, positions, semantics, model)
    remarks: list[str] = []
    _compare_names(semantics, model, remarks)
    if not semantics.groups:
        remarks.append('it has no planning groups')
    return replace(_without_missing_parts(semantics, model, remarks), remarks=tuple(remarks))


def _check_group(group: GroupElements, semantics: Semantics, model: RobotModel) -> None:
    label = named('group', group.name)
    for link in (*(end for chain in group.chains for end in chain), *group.links):
        _check_name('link', link, label, model.links)
    virtual = {joint.name for joint in semantics.virtual_joints}
    for joint in group.joints:
        if joint not in virtual and not part_names(joint, model.joints):
            _check_name('joint', joint, label, model.joints)
    for other in group.subgroups:
        _check_name('group', other, label, semantics.groups)


def _check_name(kind: str, name: str, label: str, valid: Collection[str]) -> None:
    if name not in valid:
        raise SrdfError(f'{named(kind, name)} does not exist; {suggested(name, valid)}', label)


def _check_circles(groups: Mapping[str, GroupElements]) -> None:
    """Raise an error where groups contain themselves; without recursion, for deep nesting."""
    done: set[str] = set()
    for start in groups:
        way = {} if start in done else {start: iter(groups[start].subgroups)}
        while way:
            at = next(reversed(way))
            inner = next(way[at], None)
            if inner is None:
                done.add(at)
                del way[at]
            elif inner in way:
                names = list(way)
                circle = listed([*names[names.index(inner) :], inner])
                raise SrdfError(f'sub-groups form a circle: {circle}', named('group', inner))
            elif inner not in done:
                way[inner] = iter(groups[inner].subgroups)


def _check_state(
    name: str, group: str, positions: Positions, semantics: Semantics, model: RobotModel
) -> None:
    label = named('group_state', name)
    _check_name('group', group, label, semantics.groups)
    virtual = {joint.name: joint.type for joint in semantics.virtual_joints}
    wanted = {'planar': 3, 'floating': _FLOATING_VALUES}
    for joint, values in positions.items():
        if joint in virtual:
            count = wanted.get(virtual[joint], len(values))
        else:
            parts = part_names(joint, model.joints)
            if not parts:
                _check_name('joint', joint, label, model.joints)
            count = _VALUES.get(len(parts), 1)
        if len(values) != count:
            raise SrdfError(
                f'{named("joint", joint)} has {len(values)} values, and needs {count}', label
            )
        if count == _FLOATING_VALUES and not any(values[3:]):
            raise SrdfError(f'the quaternion of {named("joint", joint)} is zero', label)


def _compare_names(semantics: Semantics, model: RobotModel, remarks: list[str]) -> None:
    if semantics.robot_name != model.name:
        remarks.append(
            f'it is written for {named("robot", semantics.robot_name)}, and the robot is called '
            f'{model.name!r}'
        )


def _without_missing_parts(
    semantics: Semantics, model: RobotModel, remarks: list[str]
) -> Semantics:
    links, groups = set(model.links), {*semantics.groups, ''}
    joints = {*model.joints, *(joint.name for joint in semantics.virtual_joints)}

    def missing_of_end_effector(end: EndEffector) -> str:
        if end.parent_link not in links:
            return end.parent_link
        return next((name for name in (end.group, end.parent_group) if name not in groups), '')

    def missing_of_pair(pair: frozenset[str]) -> str:
        return next((link for link in sorted(pair) if link not in links), '')

    def missing_of_virtual(joint: VirtualJoint) -> str:
        return '' if joint.child_link in links else joint.child_link

    def missing_of_passive(name: str) -> str:
        return '' if name in joints or part_names(name, model.joints) else name

    ends = _kept('end effectors', semantics.end_effectors, missing_of_end_effector, remarks)
    pairs = _kept('disabled pairs', semantics.disabled_pairs, missing_of_pair, remarks)
    enabled = _kept('enabled pairs', semantics.enabled_pairs, missing_of_pair, remarks)
    unchecked = _kept(
        'unchecked links',
        semantics.unchecked_links,
        lambda link: '' if link in links else link,
        remarks,
    )
    virtual = _kept('virtual joints', semantics.virtual_joints, missing_of_virtual, remarks)
    passive = _kept('passive joints', semantics.passive_joints, missing_of_passive, remarks)
    return replace(
        semantics,
        end_effectors=ends,
        disabled_pairs={pair: semantics.disabled_pairs[pair] for pair in pairs},
        virtual_joints=virtual,
        passive_joints=passive,
        unchecked_links=unchecked,
        enabled_pairs=frozenset(enabled),
    )


def _kept(
    kind: str, parts: Iterable[_Part], missing: Callable[[_Part], str], remarks: list[str]
) -> tuple[_Part, ...]:
    """Return the parts of which no name is missing, and remark on the others."""
    found, left_out = [], []
    for part in parts:
        name = missing(part)
        if name:
            left_out.append(name)
        else:
            found.append(part)
    if left_out:
        names = listed(dict.fromkeys(left_out))
        remarks.append(f'{kind} left out because they name what does not exist: {names}')
    return tuple(found)
