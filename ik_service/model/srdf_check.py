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
from ik_service.model.multi_dof import FLOATING_PARTS, part_names, PLANAR_PARTS
from ik_service.model.part_names import listed, named, suggested
from ik_service.model.robot_model import RobotModel
from ik_service.model.semantics import GroupElements, Positions, Semantics

_Part = TypeVar('_Part')

VALUES = {len(PLANAR_PARTS): 3, len(FLOATING_PARTS): 7}
"""Number of values of a joint in a state by the number of its parts: a planar joint has x, y [m]
and angle [rad], a floating one x, y, z [m] and a quaternion (x, y, z, w)."""


def checked_semantics(semantics: Semantics, model: RobotModel) -> Semantics:
    """
    Return what an SRDF says, without what the robot does not have, and with remarks on that.

    :param semantics: the SRDF.
    :param model: the robot.
    :raises SrdfError: a group names a link, joint or group that does not exist, groups contain
        each other in a circle, or a state names a group or joint that does not exist or gives it
        the wrong number of values.
    """
    for group in semantics.groups.values():
        _check_group(group, semantics, model)
    _check_circles(semantics.groups)
    for group_name, states in semantics.states.items():
        for name, positions in states.items():
            _check_state(name, group_name, positions, semantics, model)
    remarks = list(semantics.remarks)
    _compare_names(semantics, model, remarks)
    return replace(
        _without_missing_parts(semantics, model, remarks), remarks=tuple(dict.fromkeys(remarks))
    )


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
    wanted = {'planar': 3, 'floating': 7}
    for joint, values in positions.items():
        if joint in virtual:
            count = wanted.get(virtual[joint], len(values))
        else:
            parts = part_names(joint, model.joints)
            if not parts:
                _check_name('joint', joint, label, model.joints)
            count = VALUES.get(len(parts), 1)
        if len(values) != count:
            raise SrdfError(
                f'{named("joint", joint)} has {len(values)} values, and needs {count}', label
            )


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

    def kept(kind: str, parts: Iterable[_Part], missing: Callable[[_Part], str]) -> list[_Part]:
        found, left_out = [], []
        for part in parts:
            reason = missing(part)
            if reason:
                left_out.append(reason)
            else:
                found.append(part)
        if left_out:
            remarks.append(
                f'{kind} left out because they name what does not exist: '
                f'{listed(dict.fromkeys(left_out))}'
            )
        return found

    def first_missing(*names: tuple[str, Collection[str]]) -> str:
        return next((name for name, valid in names if name not in valid), '')

    end_effectors = kept(
        'end effectors',
        semantics.end_effectors,
        lambda end: first_missing(
            (end.parent_link, links), (end.group, groups), (end.parent_group, groups)
        ),
    )
    pairs = kept(
        'disabled pairs',
        semantics.disabled_pairs,
        lambda pair: first_missing(*((link, links) for link in sorted(pair))),
    )
    virtual = kept(
        'virtual joints', semantics.virtual_joints, lambda j: first_missing((j.child_link, links))
    )
    passive = kept(
        'passive joints',
        semantics.passive_joints,
        lambda name: first_missing((name, model.joints)),
    )
    return replace(
        semantics,
        end_effectors=tuple(end_effectors),
        disabled_pairs={pair: semantics.disabled_pairs[pair] for pair in pairs},
        virtual_joints=tuple(virtual),
        passive_joints=tuple(passive),
    )
