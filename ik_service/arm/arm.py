"""An arm: a robot, its planning groups with their solvers, and its measured joint state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
import math
import threading

import numpy as np

from ik_service.arm.group import ArmGroup, GroupSettings
from ik_service.arm.hands import hands_of
from ik_service.arm.joint_state import check_lengths, check_near, FARTHEST, PostureSpace
from ik_service.common.quoting import listed, quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.link_poses import attached_links, link_poses
from ik_service.model.groups.planning_group import named_states, PlanningGroup
from ik_service.model.joint import Joint
from ik_service.model.motion_bounds import MotionBounds
from ik_service.model.robot_model import RobotModel
from ik_service.model.tool_frame import ToolFrame
from ik_service.robot import Robot

_Step = tuple[Joint, int]  # a joint, and where it stands in a full posture; −1 for a fixed one


class LinkFrames:
    """
    Poses of links, and the joints that they depend on. Safe to share between threads.

    :param locked: names of the joints that do not move.
    """

    def __init__(self, robot: RobotModel, postures: PostureSpace, locked: Iterable[str]) -> None:
        self._robot = robot
        self._index = {name: i for i, name in enumerate(postures.names)}
        self._locked = frozenset(locked)
        self._beside: dict[str, Mapping[str, np.ndarray]] = {}
        self._steps: dict[str, tuple[_Step, ...]] = {}
        self._moving: dict[str, np.ndarray] = {}

    def beside(self, link: str) -> Mapping[str, np.ndarray]:
        """
        Return the links that are rigidly attached to a link, itself among them.

        :returns: (4, 4) T_link_other [m] of each by its name.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._beside.get(link)
        if found is None:
            found = self._beside[link] = attached_links(self._robot, link)
        return found

    def moving(self, link: str) -> np.ndarray:
        """
        Return which joints the pose of a link in the frame of the root link depends on.

        :returns: indices, in the full posture, of joints that are neither mimics nor locked.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._moving.get(link)
        if found is None:
            joints = (joint for joint, _ in self._robot.path(self._robot.root_link, link))
            names = {self._robot.resolve_mimic(joint.name)[0] for joint in joints if joint.movable}
            indices = sorted(self._index[name] for name in names - self._locked)
            found = self._moving[link] = np.array(indices, dtype=np.intp)
        return found

    def stands_still(self, link: str) -> bool:
        """
        Return whether no joint moves a link in the frame of the root link.

        :raises UnknownLinkError: there is no such link.
        """
        return not len(self.moving(link))

    def root_from_link(self, link: str, posture: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the frame of the root link.

        :param posture: (m,) full posture [rad] or [m], with its mimic joints where they belong.
        :returns: (4, 4) T_root_link [m].
        :raises UnknownLinkError: there is no such link.
        """
        T = np.eye(4)
        for joint, i in self._path_to(link):
            T = T @ joint.T_parent_joint
            if i >= 0:
                T = T @ joint_motion(joint, float(posture[i]))
        return T

    def _path_to(self, link: str) -> tuple[_Step, ...]:
        steps = self._steps.get(link)
        if steps is None:
            path = self._robot.path(self._robot.root_link, link)
            steps = tuple((joint, self._index.get(joint.name, -1)) for joint, _ in path)
            self._steps[link] = steps
        return steps


_ROBOT = '{robot}'
_KEPT_NAME_LISTS = 64
_LONGEST_KEPT = 1000  # names; longer lists are resolved anew


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
    :ivar hands: its hands.
    :ivar postures: the robot's full postures.
    :ivar link_frames: poses of single links.
    :ivar indices: (n,) where the joints of the default group stand in a full posture.
    :ivar rest: (m,) full posture [rad] or [m], read-only: the chain's joints in the middle of
        their limits, the others at 0 or at the limit nearest to it.
    :param robot: the robot.
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
        self.link_frames = LinkFrames(robot, self.postures, self._locked)
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

        :param group: the group.
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
        """
        Return whether the robot has a link of that name.

        :param name: the name.
        """
        return name in self._links

    def link_poses(self, positions: np.ndarray) -> dict[str, np.ndarray]:
        """
        Return the pose of every link in the frame of the root link.

        :param positions: (m,) full posture [rad] or [m].
        :returns: (4, 4) T_root_link [m] by link name.
        """
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
        """
        Return which joints the poses of links in the frame of the root link depend on.

        :param links: names of links.
        :returns: indices of the joints in the full posture.
        """
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


class MeasuredState:
    """
    Latest measured position of every joint of an arm's robot. Safe to share between threads.

    Several publishers may each send a part of the joints, such as an arm and its gripper; joints
    that the robot does not have are left out, and those never measured are at rest.

    :ivar arm: the arm.
    :param arm: the arm.
    :param previous: measurements of the arm before; those of joints by the same name are kept.
    """

    def __init__(self, arm: Arm, previous: MeasuredState | None = None) -> None:
        self.arm = arm
        self._postures = arm.postures
        self._chain_joints = frozenset(arm.chain.joint_names)
        self._lock = threading.Lock()
        self._positions = arm.rest.copy()
        self._arrivals = np.full(len(self._positions), -math.inf)
        self._velocities = np.full(len(self._positions), math.nan)
        self._known: dict[tuple[str, ...], list[int]] = {}
        if previous is not None:
            self._keep(previous)

    def update(
        self,
        names: Sequence[str],
        values: Sequence[float],
        now: float,
        velocities: Sequence[float] = (),
    ) -> None:
        """
        Take the positions of a ``joint_states`` message.

        :param names: the joints.
        :param values: their positions [rad] or [m]; none is fine: other quantities are not used.
        :param now: arrival of the message on the monotonic clock [s].
        :param velocities: their velocities [rad/s] or [m/s]; as good as none where their number
            is not that of the names.
        :raises ArgumentError: the lengths differ or a joint is named twice, and nothing of the
            message is taken; or joints of the chain are not finite or farther than
            :data:`~ik_service.arm.joint_state.FARTHEST`, and the others are taken. Such a
            position of a joint outside the chain is left out, as drivers send NaN for those they
            do not measure.
        """
        if not len(values):
            return
        check_lengths(names, values, 'joint_states')
        names = tuple(names)
        moving = len(velocities) == len(names)
        chosen = self._chosen(names)
        if len(chosen) != len(names):
            names = tuple(names[i] for i in chosen)
            values = [values[i] for i in chosen]
            velocities = [velocities[i] for i in chosen] if moving else ()
        numbers = np.array(values, dtype=np.float64)
        near = np.abs(numbers) <= FARTHEST
        if near.all():
            indices = self._postures.indices(names)
            with self._lock:
                self._positions[indices] = numbers
                self._velocities[indices] = velocities if moving else math.nan
                self._arrivals[indices] = now
            return
        with self._lock:
            far = self._take_usable(names, values, near, now)
        check_near([name for name, _ in far], np.array([value for _, value in far]))

    def _take_usable(
        self, names: Sequence[str], values: Sequence[float], near: np.ndarray, now: float
    ) -> list[tuple[str, float]]:
        """Take the positions that can be used; return those of the chain that cannot."""
        self._postures.indices(names)  # refuses a joint that is named twice
        usable = np.flatnonzero(near).tolist()
        taken, positions = [names[i] for i in usable], [values[i] for i in usable]
        indices = self._postures.overlay(self._positions, taken, positions)
        self._velocities[indices] = math.nan
        self._arrivals[indices] = now
        far = [(names[i], values[i]) for i in np.flatnonzero(~near).tolist()]
        return [(name, value) for name, value in far if name in self._chain_joints]

    def posture(self) -> np.ndarray:
        """Return a copy of the full posture (m,) [rad] or [m]; unmeasured joints are at rest."""
        with self._lock:
            return self._positions.copy()

    def joints(self, indices: np.ndarray | None = None) -> tuple[np.ndarray, float] | None:
        """
        Return positions of joints and when they were measured.

        :param indices: (n,) indices in the full posture; None for the joints of the chain.
        :returns: (n,) positions [rad] or [m], and when the oldest of them arrived on the
            monotonic clock [s]; None when some were never measured.
        """
        indices = self.arm.indices if indices is None else indices
        with self._lock:
            oldest = float(self._arrivals[indices].min())
            positions = self._positions[indices]
        return (positions, oldest) if oldest > -math.inf else None

    def velocities(self, indices: np.ndarray) -> np.ndarray:
        """
        Return measured velocities (n,) [rad/s] or [m/s]; NaN where the last state gave none.

        :param indices: (n,) indices of the joints in the full posture.
        """
        with self._lock:
            return self._velocities[indices]

    def unmeasured(self, indices: np.ndarray) -> np.ndarray:
        """
        Return those of some joints that were never measured.

        :param indices: indices of the joints in the full posture.
        """
        return indices[self._arrivals[indices] == -math.inf]

    def left_out(self, indices: np.ndarray, age: float) -> np.ndarray:
        """
        Return those of some joints that were measured once, but not any more.

        :param indices: indices of the joints in the full posture.
        :param age: by how much longer ago than that of any joint [s].
        """
        arrivals = self._arrivals[indices]
        return indices[(arrivals > -math.inf) & (arrivals < self._arrivals.max() - age)]

    def _chosen(self, names: tuple[str, ...]) -> list[int]:
        """Return which of a message's joints belong to the robot."""
        chosen = self._known.get(names)
        if chosen is None:
            own = set(self._postures.names)
            chosen = [i for i, name in enumerate(names) if name in own]
            if len(self._known) >= _KEPT_NAME_LISTS:
                self._known.clear()
            if len(names) <= _LONGEST_KEPT:
                self._known[names] = chosen
        return chosen

    def _keep(self, previous: MeasuredState) -> None:
        with previous._lock:
            for i, name in enumerate(previous._postures.names):
                if previous._arrivals[i] > -math.inf and name in self._postures.names:
                    j = self._postures.names.index(name)
                    self._positions[j] = previous._positions[i]
                    self._arrivals[j] = previous._arrivals[i]
