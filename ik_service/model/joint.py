"""
Joints of a robot and their limits, as immutable values.

Mimic joints are resolved to the joints that move independently.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
import math

import numpy as np
from numpy.typing import NDArray

from ik_service.common.quoting import named
from ik_service.exceptions import UrdfError

RATES = ('velocity', 'acceleration', 'jerk')  # limits of how fast a joint changes


class JointType(Enum):
    """Types of joints once planar and floating ones are expanded."""

    REVOLUTE = 'revolute'
    CONTINUOUS = 'continuous'
    PRISMATIC = 'prismatic'
    FIXED = 'fixed'


@dataclass(frozen=True)
class Mimic:
    """
    Mimic relation: value = multiplier · value of ``joint`` + offset.

    :ivar joint: name of the joint that is followed.
    :ivar multiplier: factor; its unit follows from the two joints' types.
    :ivar offset: value where the followed joint stands at zero [rad] or [m].
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class JointLimits:
    """
    Range of a joint; infinite where it is unlimited.

    :ivar lower: lowest position [rad] or [m].
    :ivar upper: highest position [rad] or [m].
    :ivar velocity: highest speed [rad/s] or [m/s]; infinite where the URDF gives none. Zero is
        kept as it stands, although some exporters write it for "unknown": whoever drives the
        joint must then not move it, and should say so.
    :ivar effort: highest effort [Nm] or [N]; infinite where the URDF gives none.
    :ivar acceleration: highest acceleration and deceleration [rad/s²] or [m/s²]; infinite where
        the URDF gives none, which can give them from its version 1.2 on.
    :ivar jerk: highest jerk [rad/s³] or [m/s³]; likewise.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf


STILL = JointLimits(lower=0.0, upper=0.0, velocity=0.0)  # limits of a joint that does not move


@dataclass(frozen=True, eq=False)
class Joint:
    """
    Joint with at most one degree of freedom; compared by identity.

    :ivar name: the joint's name.
    :ivar type: its kind.
    :ivar parent: name of the parent link.
    :ivar child: name of the child link.
    :ivar T_parent_joint: (4, 4) pose of the joint frame in the parent link's frame [m]; the child
        link's frame coincides with it at joint value zero. Read-only.
    :ivar axis: (3,) unit vector in the joint frame, along or about which it moves. Read-only.
    :ivar limits: its range; zero to zero for a fixed joint.
    :ivar mimic: the joint it follows, or None.
    :ivar fault: why it cannot be used, as its description is faulty; empty where it can. Such
        a joint is fixed, in the place where its value would be zero.
    :ivar placed: whether it is known where it is.
    """

    name: str
    type: JointType
    parent: str
    child: str
    T_parent_joint: NDArray[np.float64] = field(repr=False)
    axis: NDArray[np.float64]
    limits: JointLimits = JointLimits()
    mimic: Mimic | None = None
    fault: str = ''
    placed: bool = True

    def __post_init__(self) -> None:
        for name in ('T_parent_joint', 'axis'):
            array = np.array(getattr(self, name), dtype=np.float64)
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def movable(self) -> bool:
        """Whether the joint moves at all, be it on its own or by following another one."""
        return self.type is not JointType.FIXED


def resolve_mimics(joints: Mapping[str, Joint]) -> dict[str, Mimic]:
    """
    Return for each movable joint the independent joint that its value depends on.

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
    """Return joints of which all that follow others can do so; others are faulty, and fixed."""
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
    fault = f'cannot be used: {reason}'
    return replace(joint, type=JointType.FIXED, limits=STILL, mimic=None, fault=fault)


def narrowed_by_followers(
    joints: Iterable[Joint], resolved: Mapping[str, Mimic]
) -> tuple[list[Joint], list[str]]:
    """
    Return joints whose limits also keep those of the joints that follow them, and remarks.

    Limits of a follower that would leave a joint no range, or no speed, are not used; chains
    through that follower use them all the same.

    :param joints: the joints of a robot.
    :param resolved: the independent joint of each that moves, as from :func:`resolve_mimics`.
    """
    found = {joint.name: joint.limits for joint in joints}
    remarks = []
    for name, mimic in resolved.items():
        own, source = found[name], found[mimic.joint]
        if mimic.joint == name:
            continue
        ends, ratio = source_range(own, mimic), abs(mimic.multiplier)
        low, high = max(ends[0], source.lower), min(ends[1], source.upper)
        unused = low > high or (low == high and source.lower < source.upper)
        stuck = ratio > 0.0 and own.velocity == 0.0 < source.velocity
        if low < high:
            source = replace(source, lower=low, upper=high)
        if ratio > 0.0:
            rates = RATES[1:] if stuck else RATES
            most = {r: min(getattr(source, r), getattr(own, r) / ratio) for r in rates}
            source = replace(source, **most)
        found[mimic.joint] = source
        if unused or stuck:
            remarks.append(
                f'the limits of {named("joint", name)} are used only in chains through it: it '
                f'follows {named("joint", mimic.joint)}, which could not move within them'
            )
    narrowed = [
        joint if found[joint.name] == joint.limits else replace(joint, limits=found[joint.name])
        for joint in joints
    ]
    return narrowed, remarks


def source_range(limits: JointLimits, mimic: Mimic) -> list[float]:
    """Return the range of a joint in which one that follows it is within its limits [rad], [m]."""
    if mimic.multiplier:
        ends = (limits.lower, limits.upper)
        return sorted((end - mimic.offset) / mimic.multiplier for end in ends)
    everywhere = limits.lower <= mimic.offset <= limits.upper
    return [-math.inf, math.inf] if everywhere else [math.inf, -math.inf]


class _FollowerError(UrdfError):
    """Joints that cannot follow others, each followed by the one before; the last is at fault."""

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
