"""An arm: a robot, and its planning groups with their solvers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
import math

import numpy as np

from ik_service.arm.group import ArmGroup, GroupSettings
from ik_service.arm.postures import LinkFrames, PostureSpace
from ik_service.common.quoting import listed, quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import link_poses
from ik_service.model.groups.planning_group import named_states, PlanningGroup
from ik_service.model.joint import Joint
from ik_service.model.motion_bounds import MotionBounds
from ik_service.model.tool_frame import ToolFrame
from ik_service.robot import Robot

_MOST_JOINTS = 12  # joints of a hand, at most, since each is moved by a follower of its own


@dataclass(frozen=True)
class Hand:
    """
    Hand of a robot.

    :ivar name: name of its planning group.
    :ivar joint_names: its joints that move on their own.
    """

    name: str
    joint_names: tuple[str, ...]


def hands_of(robot: Robot, arm_joints: Collection[str]) -> tuple[Hand, ...]:
    """
    Return the hands of a robot.

    A group is a hand when its joints move and no tip is placed with them, or when the SRDF names
    it as that of an end effector, and when each of its joints has limits and no arm moves it.

    :param arm_joints: joints that are moved by the arm, or by nobody.
    """
    ends = {end.group for end in robot.semantics.end_effectors}
    found: dict[tuple[str, ...], Hand] = {}
    for group in robot.groups.values():
        names = group.joint_names
        if names not in found and _is_hand(robot, group, ends) and not {*names} & {*arm_joints}:
            found[names] = Hand(group.name, names)
    return tuple(found.values())


def gripper_joints(hands: Iterable[Hand]) -> dict[str, str]:
    """Return the joint of each hand that one joint opens and closes, by the name of the hand."""
    return {hand.name: hand.joint_names[0] for hand in hands if len(hand.joint_names) == 1}


def _is_hand(robot: Robot, group: PlanningGroup, ends: Collection[str]) -> bool:
    if group.tip_links and group.name not in ends:
        return False
    joints = [robot.joints[name] for name in group.joint_names]
    return 0 < len(joints) <= _MOST_JOINTS and all(map(_opens, joints))


def _opens(joint: Joint) -> bool:
    limits = joint.limits
    span = limits.upper - limits.lower
    return not joint.fault and 0.0 < span < math.inf and limits.velocity > 0.0


_ROBOT = '{robot}'


@dataclass(frozen=True)
class ArmSettings:
    """
    Base, tip, locked joints and planning groups of an arm.

    :ivar base_link: link in whose frame the chain starts; empty is the root.
    :ivar tip_link: link that is placed; empty is that of the robot's first planning group, where
        a semantic description or ``groups`` name one, or else the robot's default tip.
    :ivar locked: joints that do not move, and where [rad] or [m].
    :ivar group_names: further names of the default group; ``{robot}`` stands for the robot's
        name. Names of groups that the robot has itself mean those.
    :ivar groups: planning groups of the user's own, and settings for others, by name.
    :ivar tool_frames: frames that become links of the robot, by name.
    :ivar bounds: limits of its joints beyond those of the URDF.
    """

    base_link: str = ''
    tip_link: str = ''
    locked: Mapping[str, float] = field(default_factory=dict)
    group_names: tuple[str, ...] = ('manipulator',)
    groups: Mapping[str, GroupSettings] = field(default_factory=dict)
    tool_frames: Mapping[str, ToolFrame] = field(default_factory=dict)
    bounds: MotionBounds = field(default_factory=MotionBounds)


class Arm:
    """
    A robot with its planning groups. Safe to share between threads.

    :ivar robot: the robot, with its tool frames and further limits.
    :ivar described: the robot without them.
    :ivar bounds: limits of its joints beyond those of the URDF: of acceleration and jerk, and of
        position and speed, which its robot and the chains have already.
    :ivar root_link: its root link.
    :ivar group: the default group.
    :ivar chain: the chain of the default group.
    :ivar groups: the groups by name, the default first; some names may mean the same group.
    :ivar faults: why no inverse kinematics is done for the other groups, by name.
    :ivar postures: the robot's full postures.
    :ivar link_frames: poses of single links.
    :ivar indices: (n,) where the joints of the default group stand in a full posture.
    :ivar rest: (m,) full posture [rad] or [m], read-only: the chain's joints in the middle of
        their limits, the others at 0 or at the limit nearest to it.
    :param settings: which of its links and joints make the arm.
    :raises ChainError: the links make no chain.
    :raises UnknownLinkError: there is no such link.
    :raises UnknownJointError: there is no such joint to lock.
    :raises ToolFrameError: a tool frame does not go with the robot.
    :raises JointLimitsError: the limits do not go with the robot.
    """

    def __init__(self, robot: Robot, settings: ArmSettings) -> None:
        self.described = robot
        self.bounds = settings.bounds
        robot = robot.with_limits(settings.bounds)
        robot = robot.with_tool_frames(settings.tool_frames) if settings.tool_frames else robot
        own = {
            name: (group.base_link or robot.root_link, group.tip_link)
            for name, group in settings.groups.items()
            if group.tip_link
        }
        self.robot = robot = robot.with_groups(own) if own else robot
        _check_settings(robot, settings.groups)
        self.root_link = robot.root_link
        self._locked = dict(settings.locked)
        self._settings = settings
        self.postures = PostureSpace(robot, self._locked)
        self.link_frames = LinkFrames(robot, self._locked)
        self.group = self._default_group()
        assert isinstance(self.group.chain, KinematicChain)  # it has one tip
        self.chain: KinematicChain = self.group.chain
        self.indices = self.group.indices
        self.rest = self._rest()
        self.faults: dict[str, str] = {}
        self.groups = self._groups()
        self.hands = hands_of(robot, {*self.chain.joint_names, *self._locked})
        self._links = frozenset(robot.links)

    @property
    def group_names(self) -> tuple[str, ...]:
        """Names of the groups that can be asked for, the default first."""
        return tuple(self.groups)

    def states(self, group: ArmGroup) -> Mapping[str, Mapping[str, float]]:
        """
        Return the named states of a group, and those of others that go with its joints.

        :returns: position [rad] or [m] by joint, by name of the state; of the group's joints only.
        """
        names = group.chain.joint_names
        described = self.robot.groups.get(group.name)
        own = () if described is None else (described,)
        return {**self.robot.named_states(names), **named_states(own, names)}

    def hand_groups(self) -> dict[str, ArmGroup]:
        """Return a group for each joint of the hands, by its name: nothing but that joint."""
        groups = {}
        for joint in (self.robot.joints[name] for hand in self.hands for name in hand.joint_names):
            with suppress(ChainError):  # its limits contradict those of the joints that follow it
                groups[joint.name] = self._make(joint.name, joint.parent, (joint.child,))
        return groups

    def has_link(self, name: str) -> bool:
        """Return whether the robot has a link of that name."""
        return name in self._links

    def link_poses(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """Return (4, 4) T_root_link [m] of every link by name, in a full posture (m,)."""
        return link_poses(self.robot, self.postures.by_name(positions))

    def pose_of(self, link: str, frame: str, positions: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the frame of another.

        :param link: a link of the robot.
        :param frame: likewise.
        :param positions: (m,) full posture [rad] or [m].
        :returns: (4, 4) T_frame_link [m].
        """
        T_root_frame = self.link_frames.root_from_link(frame, positions)
        return inverse_transform(T_root_frame) @ self.link_frames.root_from_link(link, positions)

    def joints_that_move(self, links: Iterable[str]) -> np.ndarray:
        """Return the indices of the joints that the poses of links, from the root, depend on."""
        moving = [self.link_frames.moving(link) for link in links]
        return np.unique(np.concatenate([np.empty(0, np.intp), *moving]))

    def _default_group(self) -> ArmGroup:
        settings, robot = self._settings, self.robot
        described = robot.default_group
        if described is not None and not (settings.base_link or settings.tip_link):
            return self._group_of(described, default=True)
        base = settings.base_link or robot.root_link
        # Tool frames do not change which tip is the default.
        tip = settings.tip_link or self.described.default_tip(base)
        name = _names(settings.group_names[:1], robot)[0] if settings.group_names else 'arm'
        return self._make(name, base, (tip,), default=True)

    def _groups(self) -> dict[str, ArmGroup]:
        """Return the groups by all names that they have."""
        names, known = self._settings.group_names, self.robot.groups
        literal = [name for name in names if _ROBOT not in name]
        groups = {self.group.name: self.group}
        for name in _names(names, self.robot):
            described = known.get(name)
            if described is None or (described.origin == 'known name' and name in literal):
                groups[name] = self.group
        for name, described in known.items():
            if name in groups:
                continue
            if described.fault:
                self.faults[name] = described.fault
                continue
            try:
                groups[name] = self._group_of(described)
            except ChainError as error:  # its joints are locked
                self.faults[name] = str(error)
        return groups

    def _group_of(self, described: PlanningGroup, default: bool = False) -> ArmGroup:
        return self._make(described.name, described.base_link, described.tip_links, default)

    def _make(
        self, name: str, base_link: str, tip_links: tuple[str, ...], default: bool = False
    ) -> ArmGroup:
        return ArmGroup(
            self.robot,
            name,
            base_link,
            tip_links,
            self.postures,
            self._locked,
            settings=self._settings.groups.get(name),
            default=default,
        )

    def _rest(self) -> np.ndarray:
        posture = self.postures.near_zero()
        posture[self.indices] = self.chain.mid_range()
        self.postures.complete(posture).setflags(write=False)
        return posture


def _names(patterns: Iterable[str], robot: Robot) -> list[str]:
    return list(dict.fromkeys(name.replace(_ROBOT, robot.name) for name in patterns))


def _check_settings(robot: Robot, groups: Mapping[str, GroupSettings]) -> None:
    """Refuse settings of groups that there are not."""
    for name, group in groups.items():
        if not group.tip_link and name not in robot.groups:
            raise ChainError(
                f'groups.{name} names no tip_link, and the robot has no group {quote(name)}; it '
                f'has {listed(robot.group_names) or "none"}. Give groups.{name}.tip_link, or an '
                'SRDF with that group as srdf or robot_description_semantic'
            )
