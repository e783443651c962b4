"""Mimic joints, resolved to the joints that move independently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
import math

from ik_service.exceptions import UrdfError
from ik_service.model.joint import Joint, JointLimits, JointType, Mimic
from ik_service.model.part_names import named


def resolve_mimics(joints: Mapping[str, Joint]) -> dict[str, Mimic]:
    """
    Return for each movable joint the independent joint that its value depends on.

    :param joints: the robot's joints by name.
    :returns: by name, in the joints' order: value = multiplier · value of an independent joint
        + offset. A joint that moves on its own depends on itself, with multiplier 1 and offset 0.
    :raises UrdfError: a joint follows one that does not exist or is fixed, or follows itself.
    """
    resolved: dict[str, Mimic] = {}
    for joint in joints.values():
        if joint.movable:
            _resolve(joint, joints, resolved)
    return {name: resolved[name] for name in joints if name in resolved}


def settled_mimics(joints: Iterable[Joint]) -> list[Joint]:
    """
    Return joints of which all that follow others can do so; the others are faulty, and fixed.

    :param joints: the joints of a robot, with different names.
    """
    joints = list(joints)
    settled = {joint.name: joint for joint in joints}
    resolved: dict[str, Mimic] = {}
    for name in settled:
        if settled[name].movable:
            try:
                _resolve(settled[name], settled, resolved)
            except _FollowerError as error:
                for follower, reason in error.reasons():
                    settled[follower] = _without_motion(settled[follower], reason)
    return [joint if joint.mimic is None else settled[joint.name] for joint in joints]


def _without_motion(joint: Joint, reason: str) -> Joint:
    still = JointLimits(lower=0.0, upper=0.0, velocity=0.0)
    fault = f'cannot be used: {reason}'
    return replace(joint, type=JointType.FIXED, limits=still, mimic=None, fault=fault)


class _FollowerError(UrdfError):
    """
    Joints that cannot follow others.

    :ivar followers: their names, each followed by the one before; the last one is at fault.
    """

    def __init__(self, reason: str, followers: list[str]) -> None:
        super().__init__(reason, named('joint', followers[-1]))
        self.followers = followers

    def reasons(self) -> list[tuple[str, str]]:
        """Return for each follower why it cannot be used."""
        *others, faulty = self.followers
        after = f'<mimic> needs {self.element}, which cannot be used: {self.reason}'
        return [(faulty, self.reason), *((name, after) for name in others)]


def _resolve(joint: Joint, joints: Mapping[str, Joint], resolved: dict[str, Mimic]) -> None:
    """Follow a joint's sources up to one that is resolved; then fill in all between."""
    followers: dict[str, Mimic] = {}
    while joint.name not in resolved and joint.mimic is not None:
        if joint.name in followers:
            others = [name for name in followers if name != joint.name]
            raise _FollowerError('follows itself by <mimic>', [*others, joint.name])
        followers[joint.name] = joint.mimic
        joint = _source([*followers], joint.mimic, joints)
    known = resolved.setdefault(joint.name, Mimic(joint.name))
    names = [*followers]
    while names:
        known = resolved[names[-1]] = _compose(names, followers[names[-1]], known)
        names.pop()


def _source(followers: list[str], mimic: Mimic, joints: Mapping[str, Joint]) -> Joint:
    source = joints.get(mimic.joint)
    wanted = f'<mimic> names {named("joint", mimic.joint)}'
    if source is None:
        raise _FollowerError(f'{wanted}, which does not exist', followers)
    if source.fault:
        raise _FollowerError(f'{wanted}, which {source.fault}', followers)
    if not source.movable:
        raise _FollowerError(f'{wanted}, which is fixed', followers)
    return source


def _compose(followers: list[str], mimic: Mimic, source: Mimic) -> Mimic:
    multiplier = mimic.multiplier * source.multiplier
    offset = mimic.multiplier * source.offset + mimic.offset
    if not (math.isfinite(multiplier) and math.isfinite(offset)):
        raise _FollowerError('<mimic> exceeds the range of numbers', followers)
    return Mimic(source.joint, multiplier, offset)
