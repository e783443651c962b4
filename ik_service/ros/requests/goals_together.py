"""Poses of several links that a ``compute_ik`` request places together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.common.quoting import listed, quote
from ik_service.kinematics.tree import Tip
from ik_service.ros.common.errors import invalid_link
from ik_service.ros.requests.constraints import ToBase
from ik_service.ros.requests.goals import PoseGoal


def goals_together(
    goals: Sequence[PoseGoal], arm: Arm, group: ArmGroup, posture: np.ndarray, to_base: ToBase
) -> dict[Tip, np.ndarray]:
    """
    Return the poses of all links that a request places, and of those of the group that stay.

    A pose in the frame of a link of another arm, which the other poses move, is relative to where
    that link will be.

    :param posture: (m,) full posture [rad] or [m], where the other tips of the group are.
    :param to_base: transforms poses into the base frame of the group.
    :returns: (4, 4) T_base_tip by link, or T_frame_tip by (frame link, link).
    :raises RequestError: naming the field that is wrong.
    """
    links = [_link_of(goal, group) for goal in goals]
    held = _held(links, arm, group)
    poses: dict[Tip, np.ndarray] = {}
    for goal, link in zip(goals, links, strict=True):
        T = goal.matrix()
        frame = goal.frame_id.lstrip('/')
        others = [other for other in (*links, *held) if other != link]
        if arm.has_link(frame) and _moves_apart(frame, link, others, arm, group):
            poses[frame, link] = T
        else:
            poses[link] = to_base(goal.frame_id, T)
    return poses | {link: arm.pose_of(link, group.base_link, posture) for link in held}


def joints_of(goals: Sequence[PoseGoal], arm: Arm, group: ArmGroup) -> set[str]:
    """Return the joints of the group and of the links placed; raises RequestError for a link."""
    links = [_link_of(goal, group) for goal in goals]
    sources = {arm.robot.resolve_mimic(name)[0] for name in _joints(arm, group.base_link, links)}
    return sources.union(group.chain.joint_names)


def _link_of(goal: PoseGoal, group: ArmGroup) -> str:
    """Return the link that a pose places."""
    if goal.link:
        if goal.link not in group.links:
            raise invalid_link(
                f'link {quote(goal.link)} of ik_link_names is none of group {group.name!r}; '
                f'valid: {listed(group.links)}'
            )
        return goal.link
    if len(group.tip_links) > 1:
        raise invalid_link(
            f'group {group.name!r} places several links; name the one to be placed in '
            f'ik_link_name: {listed(group.tip_links)}'
        )
    return group.tip_links[0]


def _held(links: Sequence[str], arm: Arm, group: ArmGroup) -> list[str]:
    """Return the tips of the group that the request leaves out; they stay where they are."""
    if len(group.tip_links) == 1:
        return []
    placed = {near for link in links for near in arm.link_frames.beside(link)}
    return [tip for tip in group.tip_links if tip not in placed]


def _moves_apart(frame: str, link: str, others: Sequence[str], arm: Arm, group: ArmGroup) -> bool:
    """Return whether a frame is on another arm than a link, one that the other links move."""
    if not others:
        return False
    own, moving = (_joints(arm, group.base_link, [name]) for name in (link, frame))
    apart = moving - own
    return bool(own - moving) and bool(apart & _joints(arm, group.base_link, others))


def _joints(arm: Arm, base_link: str, links: Sequence[str]) -> set[str]:
    """Return the joints between the base and some links."""
    return {
        joint.name
        for link in links
        for joint, _ in arm.robot.path(base_link, link)
        if joint.movable
    }
