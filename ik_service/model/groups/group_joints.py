"""Joints of a planning group, and how they hang together in the robot's tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ik_service.exceptions import SrdfError
from ik_service.model.groups.semantics import GroupElements
from ik_service.model.joint import Joint
from ik_service.model.multi_dof import part_names
from ik_service.model.robot_model import RobotModel

MAX_JOINTS = 50_000
"""Most joints of all groups together, each counted in every group that it belongs to."""


def joints_of_groups(
    model: RobotModel, groups: Mapping[str, GroupElements]
) -> dict[str, frozenset[str]]:
    """
    Return the names of the joints of each group, those of its sub-groups among them.

    :param model: the robot.
    :param groups: elements of the groups, without circles.
    :raises SrdfError: they have more than :data:`MAX_JOINTS` joints together.
    """
    found: dict[str, frozenset[str]] = {}
    total = 0
    pending = [*groups][::-1]
    while pending:
        group = groups[pending[-1]]
        missing = [name for name in group.subgroups if name not in found]
        if missing:
            pending += missing
            continue
        inner = (found[name] for name in group.subgroups)
        joints = direct_joints(model, group).union(*inner)
        found[pending.pop()] = joints
        total += len(joints)
        if total > MAX_JOINTS:
            raise SrdfError(f'the groups have more than {MAX_JOINTS} joints together')
    return found


def direct_joints(model: RobotModel, group: GroupElements) -> frozenset[str]:
    """
    Return the names of the joints of a group, without those of its sub-groups.

    :param model: the robot.
    :param group: elements of the group; joints that the robot does not have do not count, because
        virtual joints may be among them.
    """
    names: set[str] = set()
    for base, tip in group.chains:
        names.update(joint.name for joint, _ in model.path(base, tip))
    for name in group.joints:
        names.update([name] if name in model.joints else part_names(name, model.joints))
    for link in group.links:
        above = model.parent_joint_of(link)
        if above is not None:
            names.add(above.name)
            names.update(part_names(above.name.rpartition('/')[0], model.joints))
    return frozenset(names)


def variables_of(model: RobotModel, joints: Iterable[str]) -> frozenset[str]:
    """
    Return the names of the joints that move others, or themselves, on their own.

    :param model: the robot.
    :param joints: names of joints; fixed ones have none.
    """
    return frozenset(model.resolve_mimic(name)[0] for name in joints if model.joints[name].movable)


def variables_between(model: RobotModel, base_link: str, tip_link: str) -> frozenset[str]:
    """
    Return the names of the joints that move a link relative to another on their own.

    :param model: the robot.
    :param base_link: the one link.
    :param tip_link: the other link.
    """
    return variables_of(model, (joint.name for joint, _ in model.path(base_link, tip_link)))


def last_movable_joints(model: RobotModel, joints: frozenset[str]) -> list[Joint]:
    """
    Return the movable joints of a group below which there is no other of them.

    :param model: the robot.
    :param joints: names of the group's joints.
    :returns: in document order.
    """
    movable = [model.joints[name] for name in model.joints if _moves(model, name, joints)]
    parents = {above.name for joint in movable if (above := _movable_above(model, joint))}
    return [joint for joint in movable if joint.name not in parents]


def base_of(model: RobotModel, joints: frozenset[str]) -> str:
    """
    Return the link that all movable joints of a group hang on; empty where there are none.

    :param model: the robot.
    :param joints: names of the group's joints.
    """
    bases = []
    for name in model.joints:
        if _moves(model, name, joints):
            above = _movable_above(model, model.joints[name])
            if above is None or above.name not in joints:
                bases.append(_top_of_fixed(model, model.joints[name].parent, joints))
    return common_ancestor(model, bases)


def fixed_ends(model: RobotModel, link: str, joints: frozenset[str]) -> list[str]:
    """
    Return the links at the ends of the fixed joints of a group below a link.

    :param model: the robot.
    :param link: the link.
    :param joints: names of the group's joints.
    :returns: the link itself where no fixed joint follows.
    """
    ends, pending = [], [link]
    while pending:
        at = pending.pop()
        below = [
            joint.child
            for joint in model.child_joints_of(at)
            if joint.name in joints and not joint.movable
        ]
        pending += reversed(below)
        if not below:
            ends.append(at)
    return ends


def common_ancestor(model: RobotModel, links: Iterable[str]) -> str:
    """
    Return the lowest link that is above links or one of them; empty for no links.

    :param model: the robot.
    :param links: names of links.
    """
    common: list[str] | None = None
    for link in dict.fromkeys(links):
        way = ways_down(model, link)
        if common is None:
            common = way
        else:
            pairs = zip(common, way, strict=False)
            common = common[: sum(1 for _ in _while_equal(pairs))]
    return common[-1] if common else ''


def ways_down(model: RobotModel, link: str) -> list[str]:
    """
    Return the links from the root to a link, both among them.

    :param model: the robot.
    :param link: the link.
    """
    return [model.root_link, *(joint.child for joint, _ in model.path(model.root_link, link))]


def _while_equal(pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    for one, other in pairs:
        if one != other:
            return
        yield one


def _moves(model: RobotModel, name: str, joints: frozenset[str]) -> bool:
    return name in joints and model.joints[name].movable


def _movable_above(model: RobotModel, joint: Joint) -> Joint | None:
    """Return the nearest movable joint above a joint."""
    above = model.parent_joint_of(joint.parent)
    while above is not None and not above.movable:
        above = model.parent_joint_of(above.parent)
    return above


def _top_of_fixed(model: RobotModel, link: str, joints: frozenset[str]) -> str:
    """Climb along fixed joints of a group."""
    above = model.parent_joint_of(link)
    while above is not None and not above.movable and above.name in joints:
        link = above.parent
        above = model.parent_joint_of(link)
    return link
