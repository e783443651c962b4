"""Mimic joints, resolved to the joints that move independently."""

from __future__ import annotations

from collections.abc import Mapping
import math

from ik_service.exceptions import UrdfError
from ik_service.model.joint import Joint, Mimic
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


def _resolve(joint: Joint, joints: Mapping[str, Joint], resolved: dict[str, Mimic]) -> None:
    """Follow a joint's sources up to one that is resolved; then fill in all between."""
    followers: dict[str, Mimic] = {}
    while joint.name not in resolved and joint.mimic is not None:
        if joint.name in followers:
            raise UrdfError('follows itself by <mimic>', named('joint', joint.name))
        followers[joint.name] = joint.mimic
        joint = _source(joint.name, joint.mimic, joints)
    known = resolved.setdefault(joint.name, Mimic(joint.name))
    for name, mimic in reversed(followers.items()):
        known = resolved[name] = _compose(name, mimic, known)


def _source(name: str, mimic: Mimic, joints: Mapping[str, Joint]) -> Joint:
    source = joints.get(mimic.joint)
    wanted = f'<mimic> names {named("joint", mimic.joint)}'
    if source is None:
        raise UrdfError(f'{wanted}, which does not exist', named('joint', name))
    if not source.movable:
        raise UrdfError(f'{wanted}, which is fixed', named('joint', name))
    return source


def _compose(name: str, mimic: Mimic, source: Mimic) -> Mimic:
    multiplier = mimic.multiplier * source.multiplier
    offset = mimic.multiplier * source.offset + mimic.offset
    if not (math.isfinite(multiplier) and math.isfinite(offset)):
        raise UrdfError('<mimic> exceeds the range of numbers', named('joint', name))
    return Mimic(source.joint, multiplier, offset)
