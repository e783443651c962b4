"""
Planning groups of a robot from the elements that they are written with.

Base and tip are those that MoveIt finds: of a chain its own, of joints and links in one line the
parent link of the first and the child link of the last. Where MoveIt knows none, because the
joints branch, the tips are those of the sub-groups, the links that carry end effectors, or the
ends of the branches, as far as the branches move on their own: the fingers of a gripper do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ik_service.common.quaternions import normalized_quaternion, rotation_from_quaternion_xyzw
from ik_service.common.quoting import listed, named
from ik_service.common.transforms import rpy_from_rotation
from ik_service.exceptions import ChainError, FaultyJointError, SrdfError
from ik_service.model.expanded_joints import part_names
from ik_service.model.groups.default_tip import best_tips
from ik_service.model.groups.planning_group import PlanningGroup
from ik_service.model.groups.srdf import GroupElements, Positions, Semantics
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel

MAX_JOINTS = 50_000
"""Most joints of all groups together, each counted in every group that it belongs to."""


def joints_of_groups(
    model: RobotModel, groups: Mapping[str, GroupElements]
) -> dict[str, frozenset[str]]:
    """
    Return the names of the joints of each group, those of its sub-groups among them.

    :returns: they by group, sub-groups before the groups that contain them.
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
    """Return the names of the joints that move others, or themselves, but for fixed ones."""
    return frozenset(model.resolve_mimic(name)[0] for name in joints if model.joints[name].movable)


def variables_between(model: RobotModel, base_link: str, tip_link: str) -> frozenset[str]:
    """Return the names of the joints that move a link relative to another on their own."""
    return variables_of(model, (joint.name for joint, _ in model.path(base_link, tip_link)))


def last_movable_joints(model: RobotModel, joints: frozenset[str]) -> list[Joint]:
    """Return the movable joints of a group below which there is no other, in document order."""
    movable = [model.joints[name] for name in model.joints if _moves(model, name, joints)]
    parents = {above.name for joint in movable if (above := _movable_above(model, joint))}
    return [joint for joint in movable if joint.name not in parents]


def base_of(model: RobotModel, joints: frozenset[str]) -> str:
    """Return the link that all movable joints of a group hang on; empty where there are none."""
    bases = []
    for name in model.joints:
        if _moves(model, name, joints):
            above = _movable_above(model, model.joints[name])
            if above is None or above.name not in joints:
                bases.append(_top_of_fixed(model, model.joints[name].parent, joints))
    return common_ancestor(model, bases)


def fixed_ends(model: RobotModel, link: str, joints: frozenset[str]) -> list[str]:
    """Return the links at the ends of the fixed joints of a group below a link, or that link."""
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
    """Return the lowest link that is above links or one of them; empty for no links."""
    paths = [path_from_root(model, link) for link in dict.fromkeys(links)]
    shared = [level[0] for level in zip(*paths, strict=False) if len({*level}) == 1]
    return shared[-1] if shared else ''


def path_from_root(model: RobotModel, link: str) -> list[str]:
    """Return the links from the root to a link, both among them."""
    return [model.root_link, *(joint.child for joint, _ in model.path(model.root_link, link))]


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


MAX_TIPS = 64  # most branches of a group; one with more has a fault


def resolve_groups(
    model: RobotModel, semantics: Semantics, origin: str = 'srdf'
) -> dict[str, PlanningGroup]:
    """Return the groups of a robot in document order, from semantics that are checked."""
    return _Resolver(model, semantics, origin).groups()


def group_between(
    model: RobotModel, name: str, base_link: str, tip_links: Iterable[str], origin: str
) -> PlanningGroup:
    """
    Return the planning group of the joints between links.

    :raises UnknownLinkError: there is no such link.
    :raises ChainError: no joint moves a tip relative to the base.
    """
    tips = tuple(dict.fromkeys(tip_links))
    variables: set[str] = set()
    for tip in tips:
        faulty = model.faulty_joint(base_link, tip)
        if faulty is not None:
            raise FaultyJointError(base_link, tip, faulty.name, faulty.fault)
        between = variables_between(model, base_link, tip)
        if not between:
            raise ChainError(
                f'{named("group", name)}: no joint moves {named("link", tip)} relative to '
                f'{named("link", base_link)}'
            )
        variables |= between
    joints = tuple(joint for joint in model.independent_joint_names if joint in variables)
    return PlanningGroup(name, base_link, tips, joints, origin=origin)


def states_of(
    model: RobotModel, joints: Iterable[str], states: Mapping[str, Positions]
) -> dict[str, dict[str, float]]:
    """Return the states of a group with one value a joint."""
    wanted = set(joints)
    found = {}
    for name, positions in states.items():
        values = {
            part: value
            for joint, numbers in positions.items()
            for part, value in _values(model, joint, numbers)
        }
        found[name] = {joint: value for joint, value in values.items() if joint in wanted}
    return found


def _values(
    model: RobotModel, joint: str, numbers: tuple[float, ...]
) -> Iterable[tuple[str, float]]:
    """Yield the values of the joints that a joint of an SRDF stands for."""
    parts = part_names(joint, model.joints)
    if joint in model.joints:
        parts = (joint,)
    elif len(parts) == 6:  # a quaternion, as MoveIt writes floating joints
        quaternion, _ = normalized_quaternion(numbers[3:])
        roll, pitch, yaw = rpy_from_rotation(rotation_from_quaternion_xyzw(*quaternion))
        numbers = (*numbers[:3], yaw, pitch, roll)
    return zip(parts, numbers, strict=False)


class _Resolver:
    """Resolution of all groups of a robot."""

    def __init__(self, model: RobotModel, semantics: Semantics, origin: str) -> None:
        self._model = model
        self._semantics = semantics
        self._origin = origin
        self._joints = joints_of_groups(model, semantics.groups)
        self._end_effector_groups = {end.group for end in semantics.end_effectors}
        self._found: dict[str, PlanningGroup] = {}

    def groups(self) -> dict[str, PlanningGroup]:
        """Resolve sub-groups before the groups that contain them."""
        written = self._semantics.groups
        for name in self._joints:
            self._found[name] = self._resolved(written[name])
        return {name: self._found[name] for name in written}

    def _resolved(self, group: GroupElements) -> PlanningGroup:
        if group.fault:
            return PlanningGroup(group.name, '', (), (), origin=self._origin, fault=group.fault)
        model, joints = self._model, self._joints[group.name]
        passive = set(self._semantics.passive_joints)
        names = tuple(name for name in model.independent_joint_names if name in joints - passive)
        base, tips, fault = self._ends(group)
        fault = self._faulty_joint(group.name, base, tips) or fault
        fault = fault or self._missing_variable(base, tips, names)
        return PlanningGroup(
            group.name,
            base,
            () if fault else tips,
            names,
            states_of(model, names, self._semantics.states.get(group.name, {})),
            group.subgroups,
            self._origin,
            fault,
        )

    def _ends(self, group: GroupElements) -> tuple[str, tuple[str, ...], str]:
        """Return base, tips and fault of a group."""
        joints = self._joints[group.name]
        if len(group.chains) == 1 and joints == direct_joints(
            self._model, GroupElements('', chains=group.chains)
        ):
            base, tip = group.chains[0]
            return base, (tip,), '' if variables_of(self._model, joints) else _STILL
        if not variables_of(self._model, joints):
            return '', (), _STILL
        return self._ends_of_tree(group, joints)

    def _ends_of_tree(
        self, group: GroupElements, joints: frozenset[str]
    ) -> tuple[str, tuple[str, ...], str]:
        arms = [name for name in group.subgroups if name not in self._end_effector_groups]
        if arms and len(arms) < len(group.subgroups):
            # The joints of a gripper do not move its hand.
            joints = direct_joints(self._model, group).union(
                *(self._joints[name] for name in arms)
            )
        base = base_of(self._model, joints)
        branches = self._branches(base, joints)
        if len(branches) == 1:
            return base, (branches[0][0],), ''
        tips = self._tips_of_parts(group, arms) or self._carriers(group.name)
        if tips:
            return base, tuple(self._lowest(tips)), ''
        ends = [tip for tip, _ in branches]
        alone = max(own for _, own in branches)
        if alone <= 1 or group.name in self._end_effector_groups:
            return base, (), f'it is no chain: it branches to {listed(ends)}'
        return base, tuple(ends), ''

    def _branches(self, base: str, joints: frozenset[str]) -> list[tuple[str, int]]:
        """Return the ends of the joints, each with the number of variables that only it has."""
        model = self._model
        leaves = last_movable_joints(model, joints)
        if len(leaves) > MAX_TIPS:
            return [(joint.child, 0) for joint in leaves]
        variables = [variables_between(model, base, joint.child) for joint in leaves]
        counts: dict[str, int] = {}
        for names in variables:
            for name in names:
                counts[name] = counts.get(name, 0) + 1
        found = []
        for joint, names in zip(leaves, variables, strict=True):
            ends = best_tips(fixed_ends(model, joint.child, joints))
            tip = ends[0] if len(ends) == 1 else joint.child
            found.append((tip, sum(1 for name in names if counts[name] == 1)))
        if any(own for _, own in found):  # a branch that only follows another is no arm
            found = [branch for branch in found if branch[1]]
        lowest = self._lowest([tip for tip, _ in found])
        return [branch for branch in found if branch[0] in lowest]

    def _tips_of_parts(self, group: GroupElements, arms: list[str]) -> list[str]:
        """Return the tips of the sub-groups, and of the other members of a group."""
        if not group.subgroups:
            return []
        tips = [tip for name in arms for tip in self._found[name].tip_links]
        direct = direct_joints(self._model, group)
        if variables_of(self._model, direct):
            base = base_of(self._model, direct)
            tips += [tip for tip, own in self._branches(base, direct) if own > 1]
        return list(dict.fromkeys(tips))

    def _carriers(self, name: str) -> list[str]:
        """Return the links that carry the end effectors of a group."""
        ends = self._semantics.end_effectors
        return list(dict.fromkeys(end.parent_link for end in ends if end.parent_group == name))

    def _lowest(self, tips: list[str]) -> list[str]:
        """Return the tips without those that others hang on."""
        above = {link for tip in tips for link in path_from_root(self._model, tip)[:-1]}
        return [tip for tip in tips if tip not in above]

    def _faulty_joint(self, name: str, base: str, tips: tuple[str, ...]) -> str:
        """Return the fault of a joint that a group needs; empty where it needs none."""
        model = self._model
        own = (model.joints[joint] for joint in model.joints if joint in self._joints[name])
        between = (model.faulty_joint(base, tip) for tip in tips)
        faulty = (joint for joint in (*own, *between) if joint is not None and joint.fault)
        return next((f'{named("joint", joint.name)} {joint.fault}' for joint in faulty), '')

    def _missing_variable(self, base: str, tips: tuple[str, ...], names: tuple[str, ...]) -> str:
        """Return why a group does not determine its tips; empty if it does."""
        for tip in tips:
            between = variables_between(self._model, base, tip)
            if not between:
                return f'no joint moves {named("link", tip)} relative to {named("link", base)}'
            for name in self._model.independent_joint_names:
                if name in between and name not in names:
                    passive = name in self._semantics.passive_joints
                    why = 'passive' if passive else 'no part of it'
                    return (
                        f'it is no chain: {named("joint", name)}, which moves '
                        f'{named("link", tip)}, is {why}'
                    )
        return ''


_STILL = 'none of its joints moves on its own'
