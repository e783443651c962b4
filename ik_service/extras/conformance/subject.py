"""The server under test: its robot, arm and group, requests, and judgement of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, wraps
import math
from pathlib import Path
from typing import Any, TypeVar
import zlib

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import PoseStamped
from moveit_msgs import srv
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import RobotState, RobotTrajectory
from moveit_msgs.srv import GetPositionFK, GetPositionIK
import numpy as np
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from std_msgs.msg import String

from ik_service.exceptions import IkServiceError
from ik_service.extras.conformance.answers import (
    COMPUTE_FK,
    COMPUTE_IK,
    NoAnswerError,
    NotSupportedError,
    offset,
    ServerAnswer,
    SUCCESS,
)
from ik_service.extras.conformance.connection import ServerConnection
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import sampled_range, search_limits
from ik_service.kinematics.link_poses import attached_links, link_poses, links_below
from ik_service.kinematics.tree import KinematicTree
from ik_service.model.joint import JointType
from ik_service.robot import Robot
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.common.qos import DESCRIPTION_QOS

_DIRECTIONS = 20  # tries of a step of a walk, from one posture on the mean
# Singular values of the Jacobian, as shares of the largest one: below the first a direction counts
# as none of the arm's, below the second a posture as close to a singular one.
_NEGLIGIBLE, _SINGULAR = 1e-4, 2e-2


class TestedArm:
    """The arm that a server is asked about."""

    __test__ = False  # pytest takes it for a test otherwise

    def __init__(self, robot: Robot, space: KinematicChain | KinematicTree) -> None:
        self.robot = robot
        self.base_link = space.base_link
        self.tips = (
            (space.tip_link,) if isinstance(space, KinematicChain) else tuple(map(str, space.tips))
        )
        self.joint_names = space.joint_names
        self._lower, self._upper = space.lower, space.upper
        self._ranges = sampled_range(space)
        self._space = space

    @classmethod
    def of(cls, robot: Robot, group: str, base_link: str, tip_link: str) -> TestedArm:
        """
        Return an arm of a robot.

        :param group: its planning group, if it has one of that name.
        :param base_link: base; empty for that of the group, or the root.
        :param tip_link: tip; empty for those of the group, or the robot's default.
        :raises ChainError: no tip is named, and several would do.
        :raises UnknownLinkError: there is no such link.
        """
        known = robot.groups.get(group) or (None if group else robot.default_group)
        if known is None or known.fault:
            return cls(robot, robot.chain(base_link or None, tip_link or None))
        if base_link or tip_link:
            tip = tip_link or known.tip_links[0]
            return cls(robot, robot.chain(base_link or known.base_link, tip))
        return cls(robot, robot.group(known.name))

    def bounds(self) -> Iterator[tuple[str, float, float]]:
        """Yield the joints with their limits [rad] or [m], infinite where there are none."""
        yield from zip(self.joint_names, self._lower.tolist(), self._upper.tolist(), strict=True)

    def random_posture(self, rng: np.random.Generator, margin: float = 0.01) -> dict[str, float]:
        """Position of each movable joint by name [rad, m]; those beside the arm near 0."""
        low, high = self._ranges
        away = margin * (high - low)
        return self._named(rng.uniform(low + away, high - away))

    def moved(
        self, posture: Mapping[str, float], rng: np.random.Generator, step: float
    ) -> dict[str, float]:
        """Return a posture within the limits, some joint of which is a step [rad] or [m] away."""
        q, (low, high) = self._vector(posture), self._ranges
        direction = rng.uniform(-1.0, 1.0, len(q))
        motion = step * direction / np.abs(direction).max()
        beyond = (q + motion < low) | (q + motion > high)
        motion[beyond] *= -1.0
        moved = np.clip(q + motion, low, high).tolist()
        return self.completed({**posture, **dict(zip(self.joint_names, moved, strict=True))})

    def walk(
        self, rng: np.random.Generator, length: int, step: float
    ) -> Iterator[tuple[dict[str, float], dict[str, float]]]:
        """Yield beginning and end of steps [rad, m] away from singular postures, if any."""
        low, high = self._ranges
        q, left = self._vector(self.random_posture(rng, 0.2)), length
        for _ in range(_DIRECTIONS * length):
            direction = rng.uniform(-1.0, 1.0, len(q))
            end = q + step * direction / np.abs(direction).max()
            if ((end >= low) & (end <= high)).all() and self._is_regular(end):
                yield self._named(q), self._named(end)
                q, left = end, left - 1
                if not left:
                    return
            elif rng.random() < 1.0 / _DIRECTIONS:
                q = self._vector(self.random_posture(rng, 0.2))

    @property
    def redundant(self) -> bool:
        """Whether the arm can move without its tips."""
        return len(self.joint_names) > self.freedoms

    def _is_regular(self, q: np.ndarray) -> bool:
        """Return whether a posture is far from singular ones, among those of this arm."""
        s = np.linalg.svd(self._space.jacobian(q), compute_uv=False)
        return bool(s[self.freedoms - 1] > _SINGULAR * s[0])

    @cached_property
    def freedoms(self) -> int:
        """Number of the tips' freedoms: a planar arm has three."""
        rng, ranks = np.random.default_rng(0), []
        for _ in range(_DIRECTIONS):
            J = self._space.jacobian(self._vector(self.random_posture(rng)))
            s = np.linalg.svd(J, compute_uv=False)
            ranks.append(int((s > _NEGLIGIBLE * s[0]).sum()))
        return max(ranks)

    def _vector(self, posture: Mapping[str, float]) -> np.ndarray:
        return np.array([posture[name] for name in self.joint_names])

    def _named(self, q: np.ndarray) -> dict[str, float]:
        return self.completed(dict(zip(self.joint_names, q.tolist(), strict=True)))

    def completed(self, given: Mapping[str, float]) -> dict[str, float]:
        """Return the full posture: mimic joints follow those given, others stand next to 0."""
        robot, full = self.robot, {}
        for name in robot.movable_joint_names:
            source, multiplier, offset = robot.resolve_mimic(name)
            limits = robot.joints[source].limits
            rest = min(max(0.0, limits.lower), limits.upper)
            full[name] = multiplier * given.get(source, rest) + offset
        return full

    def joints_beside(self) -> list[str]:
        """Return the joints that move on their own, but not the tips."""
        robot = self.robot
        at_work = {robot.resolve_mimic(name)[0] for name in self.joint_names}
        return [name for name in robot.independent_joint_names if name not in at_work]

    def described(self, names: Iterable[str]) -> list[str]:
        """Return the names that the URDF has, without those made for a floating joint here."""
        text = self.robot.urdf_text
        return [name for name in names if f'"{name}"' in text or f"'{name}'" in text]

    def random_position(self, name: str, rng: np.random.Generator) -> float:
        """Return a random position of a joint within its limits, at most 1 rad or m from 0."""
        limits = self.robot.joints[name].limits
        rest = min(max(0.0, limits.lower), limits.upper)
        return float(rng.uniform(max(limits.lower, rest - 1.0), min(limits.upper, rest + 1.0)))

    def attached_to(self, link: str) -> list[str]:
        """Return the other links that are rigidly attached to a link."""
        return sorted(set(attached_links(self.robot, link)) - {link})

    def links_between(self) -> list[str]:
        """Return the links that the arm moves, but that are not rigidly attached to a tip."""
        path = {
            joint.child for tip in self.tips for joint, _ in self.robot.path(self.base_link, tip)
        }
        still = set(attached_links(self.robot, self.base_link))
        at_tips = {link for tip in self.tips for link in attached_links(self.robot, tip)}
        below = set(links_below(self.robot, self.base_link))
        return [link for link in self.robot.links if link in (path & below) - still - at_tips]

    def reach(self) -> float:
        """Return a length that no tip can be away from the root [m]."""
        slides = [j.limits for j in self.robot.joints.values() if j.type is JointType.PRISMATIC]
        ends = np.abs(search_limits([s.lower for s in slides], [s.upper for s in slides]))
        sliding = float(ends.max(axis=0)[np.isfinite(ends).all(axis=0)].sum())
        lengths = (
            float(np.linalg.norm(joint.T_parent_joint[:3, 3]))
            for joint in self.robot.joints.values()
        )
        return sum(lengths) + sliding

    def out_of_reach(self) -> float:
        """Return ten lengths of the arm [m]; NotSupportedError for one that slides without end."""
        for name, lower, upper in self.bounds():
            endless = np.isinf(search_limits(lower, upper)).any()
            if endless and self.robot.joints[name].type is JointType.PRISMATIC:
                raise NotSupportedError(f'no pose is out of reach: {name} slides without end')
        return 10.0 * self.reach() + 1.0


Answer = TypeVar('Answer')

LIMIT_TOLERANCE = 1e-6  # by which a solution may exceed a joint limit [rad] or [m]

Posture = Mapping[str, float]  # position of every movable joint of the robot by name [rad] or [m]
Poses = Mapping[str, np.ndarray]  # (4, 4) T_root_link by name of the link


@dataclass(frozen=True)
class CheckSettings:
    """Tolerances of solutions [m, rad], and whether world and arm may be changed and moved."""

    count: int = 100
    position_tolerance: float = 1e-3
    orientation_tolerance: float = 1e-2
    change_world: bool = False
    move: bool = False


class Subject:
    """Server under test and its arm; its robot may have more joints where it is ``partial``."""

    def __init__(
        self,
        arm: TestedArm,
        connection: ServerConnection,
        settings: CheckSettings,
        group_name: str,
        partial: bool = False,
    ) -> None:
        self.arm = arm
        self.connection = connection
        self.settings = settings
        self.group_name = group_name
        self._partial = partial
        self._kept: dict[Callable[[Subject], Any], Any] = {}

    # Postures

    def postures(self, count: int, purpose: str) -> list[Posture]:
        """Return random postures within the limits, the same for the same purpose."""
        rng = np.random.default_rng(zlib.crc32(purpose.encode()))
        return [self.arm.random_posture(rng) for _ in range(count)]

    def links_at(self, posture: Posture) -> Poses:
        """Return the poses of all links, computed here from the URDF."""
        return link_poses(self.arm.robot, posture)

    def tips_at(self, posture: Posture) -> Poses:
        """Return the poses of the tips, computed here from the URDF."""
        poses = self.links_at(posture)
        return {tip: poses[tip] for tip in self.arm.tips}

    def single_tip(self) -> str:
        """Return the tip, for checks about one link; NotSupportedError for several."""
        if len(self.arm.tips) > 1:
            raise NotSupportedError(f'the group places {len(self.arm.tips)} links together')
        return self.arm.tips[0]

    # Requests

    def request(
        self, poses: Poses, seed: Posture | None = None, seconds: int = 1
    ) -> GetPositionIK.Request:
        """Return a request for poses by link from a seed; 0 seconds for the default time-out."""
        request = GetPositionIK.Request()
        wanted = request.ik_request
        wanted.group_name = self.group_name
        wanted.timeout = Duration(sec=seconds)
        stamped = {link: PoseStamped(pose=pose_from_matrix(T)) for link, T in poses.items()}
        if len(stamped) == 1:
            [(wanted.ik_link_name, wanted.pose_stamped)] = stamped.items()
        else:
            wanted.ik_link_names = list(stamped)
            wanted.pose_stamped_vector = list(stamped.values())
        set_posture(wanted.robot_state, seed)
        return request

    def ordinary_request(self, purpose: str) -> tuple[GetPositionIK.Request, Poses, Posture]:
        """Request, poses and seed that every server solves, by random numbers of the purpose."""
        rng = np.random.default_rng(zlib.crc32(purpose.encode()))
        seed = self.arm.random_posture(rng, margin=0.15)
        poses = self.tips_at(self.arm.moved(seed, rng, 0.02))
        return self.request(poses, seed), poses, seed

    def first_pose(self, request: GetPositionIK.Request) -> PoseStamped:
        """Return the pose of a request, or the first of several."""
        poses = request.ik_request.pose_stamped_vector
        return poses[0] if len(poses) else request.ik_request.pose_stamped

    def ik(
        self, request: GetPositionIK.Request, asked: str, patience: float | None = None
    ) -> ServerAnswer:
        """Ask ``compute_ik``, with a patience [s] of its own; NoAnswerError if none comes."""
        answer, seconds = self.connection.ask(GetPositionIK, COMPUTE_IK, request, asked, patience)
        return ServerAnswer.of(asked, answer, seconds)

    def fk(
        self, links: Sequence[str], posture: Posture | None, asked: str, frame: str = ''
    ) -> GetPositionFK.Response:
        """Ask ``compute_fk`` of a posture, the present one for None, in a frame or the root's."""
        request = GetPositionFK.Request(fk_link_names=list(links))
        request.header.frame_id = frame
        set_posture(request.robot_state, posture)
        answer, _ = self.connection.ask(GetPositionFK, COMPUTE_FK, request, asked)
        return answer

    # Judgement

    def reached(self, answer: ServerAnswer, poses: Poses) -> tuple[Posture, float, float]:
        """Return posture and errors [m, rad] of a solution within limits at the poses."""
        found = self.inside_limits(answer)
        at = self.links_at(found)
        worst = (0.0, 0.0)
        for link, T in poses.items():
            distance, angle = offset(at[link], T)
            if not self.close(distance, angle):
                raise answer.fail(
                    f'{link} at the pose, within {self.settings.position_tolerance * 1e3:g} mm '
                    f'and {self.settings.orientation_tolerance:g} rad',
                    f'SUCCESS with {link} {distance * 1e3:.4g} mm and {angle:.4g} rad away',
                )
            worst = max(worst[0], distance), max(worst[1], angle)
        return found, *worst

    def close(self, distance: float, angle: float) -> bool:
        """Return whether errors [m] and [rad] are within the tolerances."""
        settings = self.settings
        return distance <= settings.position_tolerance and angle <= settings.orientation_tolerance

    def places(self, T: np.ndarray, T_wanted: np.ndarray) -> bool:
        """Return whether a pose (4, 4) is another one, within the tolerances."""
        return self.close(*offset(T, T_wanted))

    def inside_limits(self, answer: ServerAnswer) -> Posture:
        """Return the posture of an answer, which has to be a solution within the limits."""
        found = answer.positions()
        known = self.arm.robot.movable_joint_names
        strange = [name for name in found if name not in known]
        if strange and not self._partial:
            came = f'SUCCESS with a position of {strange[0]!r}'
            raise answer.fail("joints of the robot's description only", came)
        found = {name: value for name, value in found.items() if name in known}
        missing = [name for name in self.arm.joint_names if name not in found]
        if missing:
            raise answer.fail(
                'a position of every joint of the arm', f'SUCCESS without {", ".join(missing)}'
            )
        for name, low, high in self.arm.bounds():
            if not low - LIMIT_TOLERANCE <= found[name] <= high + LIMIT_TOLERANCE:
                came = f'SUCCESS with {name} at {found[name]:.6g}'
                raise answer.fail(f'{name} within {low:g} … {high:g}', came)
        return found

    def kept(self, ask: Callable[[Subject], Answer]) -> Answer:
        """Return the value of a function of the subject, which is called at first only."""
        if ask not in self._kept:
            self._kept[ask] = ask(self)
        value: Answer = self._kept[ask]
        return value


def once(ask: Callable[[Subject], Answer]) -> Callable[[Subject], Answer]:
    """Return a function of the subject whose value several checks share."""
    return wraps(ask)(lambda subject: subject.kept(ask))


def set_posture(state: RobotState, posture: Posture | None) -> None:
    """Write a posture into a message; None for the present one."""
    if posture is None:
        state.is_diff = True
    else:
        state.joint_state.name = list(posture)
        state.joint_state.position = [float(value) for value in posture.values()]


def trajectory_postures(trajectory: RobotTrajectory, start: Posture) -> list[Posture]:
    """Return the postures at the points of a trajectory, one at least; others as at the start."""
    joints = trajectory.joint_trajectory
    if {len(point.positions) for point in joints.points} != {len(joints.joint_names)}:
        raise IkServiceError('a trajectory without points of one position for each joint')
    return [
        {**start, **dict(zip(joints.joint_names, point.positions, strict=True))}
        for point in joints.points
    ]


def largest_step(a: Posture, b: Posture, names: Sequence[str]) -> float:
    """Return the largest difference of joint positions between two postures [rad] or [m]."""
    return max((abs(a[name] - b[name]) for name in names), default=math.nan)


_DISCOVERY = 2.0  # time in which a publisher is found, if there is one [s]
URDF, SRDF = 'robot_description', 'robot_description_semantic'


class NoDescriptionError(IkServiceError):
    """No description of the server's robot on the ROS graph."""


def _from_parameters(connection: ServerConnection, servers: Sequence[str], name: str) -> str:
    """Return the XML text that a parameter of the servers holds; empty where none does."""
    for server in servers:
        service = f'{server}/get_parameters'
        request = GetParameters.Request(names=[name])
        if not connection.waited_for(partial(connection.offers, GetParameters, service)):
            continue
        try:
            answer, _ = connection.ask(GetParameters, service, request, f'parameter {name}')
        except NoAnswerError:
            continue
        values = [parameter_value_to_python(value) for value in answer.values]
        for value in values:
            if isinstance(value, str) and '<' in value:
                return value
    return ''


def _from_service(connection: ServerConnection, group: str) -> str:
    kind = getattr(srv, 'GetGroupUrdf', None)  # other builds of moveit_msgs may lack it
    if kind is None or not connection.offers(kind, 'get_urdf'):
        return ''
    try:
        answer, _ = connection.ask(kind, 'get_urdf', kind.Request(group_name=group), 'the URDF')
    except NoAnswerError:
        return ''
    return str(answer.urdf_string) if answer.error_code.val == SUCCESS else ''


def _from_topic(connection: ServerConnection, topic: str, patience: float) -> str:
    """Return the last text of a latched topic; empty where nobody publishes one in time."""
    texts: list[str] = []
    node = connection.node

    def take(message: String) -> None:
        texts.append(message.data)

    subscription = node.create_subscription(String, topic, take, DESCRIPTION_QOS)
    try:
        found = connection.waited_for(lambda: bool(texts), patience)
        if not found and subscription.get_publisher_count():
            connection.waited_for(lambda: bool(texts))
    finally:
        node.destroy_subscription(subscription)
    return texts[-1] if texts else ''


class GroupNeededError(IkServiceError):
    """Server that takes no empty group name, and none of the names that are known."""


@dataclass(frozen=True)
class Choice:
    """Files of robot and arm that were chosen; empty where the graph or the robot says it."""

    urdf: Path | None = None
    srdf: Path | None = None
    group: str = ''
    base_link: str = ''
    tip_link: str = ''


def prepare(
    connection: ServerConnection, choice: Choice, settings: CheckSettings, first_patience: float
) -> tuple[Subject, str]:
    """
    Return the server with its robot and arm, and where the description comes from.

    :param first_patience: how long to wait for the first answer [s], as a server may still load
        or compile a solver.
    :raises NoServerError: there is no such service.
    :raises IkServiceError: there is no description, or none that gives an arm.
    """
    robot, source, partial = None, str(choice.urdf), False
    if choice.urdf is not None:  # a faulty file is told before a server is waited for
        robot = Robot.from_urdf(choice.urdf, srdf=choice.srdf)
    connection.wait_for(GetPositionIK, COMPUTE_IK)
    if robot is None:
        robot, source, partial = _robot(connection, choice.group)
        robot = robot if choice.srdf is None else robot.with_srdf(choice.srdf)
    if choice.srdf is None:
        robot = _with_srdf(robot, connection)
    own = (name for name in robot.group_names if not robot.groups[name].fault)
    for name in (choice.group, *own):
        arm = TestedArm.of(robot, name, choice.base_link, choice.tip_link)
        subject = Subject(arm, connection, settings, name, partial)
        if not _refuses_group(subject, first_patience) or choice.group:
            return subject, source
    raise GroupNeededError(
        'the server takes no empty group name; name one of its groups by --group'
        + f', and its SRDF by --srdf (refused: {", ".join(robot.group_names)})'
    )


def _robot(connection: ServerConnection, group: str) -> tuple[Robot, str, bool]:
    """
    Return the robot, where it comes from, and whether other parts of it may be missing.

    The server's parameters are asked first, as MoveIt's ``move_group`` has both, then
    ``get_urdf``, then the topic, which several robots may share; ``get_urdf`` of a group, which is
    all that MoveIt's knows, is the last.
    """
    servers = connection.servers_of(COMPUTE_IK)
    sources = {
        f'parameter {URDF} of the server': lambda: _from_parameters(connection, servers, URDF),
        'service get_urdf': lambda: _from_service(connection, ''),
        f'topic {URDF}': lambda: _from_topic(connection, URDF, connection.patience),
        f'service get_urdf, group {group}': lambda: _from_service(connection, group),
    }
    found = ((source, find()) for source, find in sources.items())
    source, urdf = next(((source, text) for source, text in found if text), ('', ''))
    if not urdf:
        raise NoDescriptionError(
            f'neither parameter nor topic {URDF} nor get_urdf describes the robot of the server; '
            'name its file by --urdf'
        )
    return Robot.from_urdf_text(urdf), source, 'group' in source


def _with_srdf(robot: Robot, connection: ServerConnection) -> Robot:
    """Return a robot with the SRDF of the server, if there is one."""
    srdf = _from_parameters(connection, connection.servers_of(COMPUTE_IK), SRDF)
    srdf = srdf or _from_topic(connection, SRDF, _DISCOVERY)
    return robot.with_srdf_text(srdf) if srdf else robot


def _refuses_group(subject: Subject, patience: float) -> bool:
    """Return whether the server knows no such group; no answer is left to the checks."""
    request, _, _ = subject.ordinary_request('group')
    try:
        answer = subject.ik(request, f'group {subject.group_name!r}', patience)
    except NoAnswerError:
        return False
    return answer.code == Code.INVALID_GROUP_NAME
