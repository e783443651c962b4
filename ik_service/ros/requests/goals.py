"""Group, links and poses that a ``compute_ik`` request asks for, one or several together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import math
from typing import NamedTuple

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import PositionIKRequest, RobotState
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup
from ik_service.arm.measured_state import MeasuredState
from ik_service.common.quoting import listed, quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import ChainError, IkServiceError
from ik_service.kinematics.tree import Tip
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import ErrorCode, invalid_link, RequestError
from ik_service.ros.requests.constraints import ToBase
from ik_service.ros.requests.service_handler import start_posture
from ik_service.ros.scene.avoidance import fault_of_attached, world_of_state
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.known_world import find_held, KnownWorld
from ik_service.ros.scene.object_changes import Placing
from ik_service.ros.scene.world_draft import attached_subframes

_MOST_POSES = 64  # of a request
_HAND_TYPED = 0.05  # by which the length of a hand-typed quaternion may be off

Held = Callable[[str], tuple[str, np.ndarray] | None]
"""Of a name: the link on which an attached object of that name is, and (4, 4) its pose there."""


class PoseGoal(NamedTuple):
    """
    Pose that a request asks for.

    :ivar link: the link; empty for the group's tip.
    :ivar field: where the pose stands in the request, for messages.
    :ivar T_link_point: (4, 4) point of the link the pose is for [m]; None for the link itself.
    """

    link: str
    pose: PoseStamped
    field: str
    T_link_point: np.ndarray | None = None

    @property
    def frame_id(self) -> str:
        """The frame in which the pose is given."""
        return self.pose.header.frame_id

    def matrix(self) -> np.ndarray:
        """Return T_frame_link (4, 4) [m]; raises RequestError, naming a field that is wrong."""
        T = matrix_from_pose(self.pose.pose, self.field)
        return T if self.T_link_point is None else T @ inverse_transform(self.T_link_point)

    def notes(self) -> list[str]:
        """Return remarks on a quaternion so far from unit length that it may be a slip."""
        turn = self.pose.pose.orientation
        length = math.hypot(turn.x, turn.y, turn.z, turn.w)
        if abs(length - 1.0) <= _HAND_TYPED:
            return []
        return [
            f'{self.field}.orientation, of length {length:.3g}, was normalised (where w is '
            'left out, ROS takes w = 1)'
        ]


def group_of(arm: Arm, name: str) -> ArmGroup:
    """Return the group of a request, '' for the default; raises RequestError listing all."""
    if not name:
        return arm.group
    group = arm.groups.get(name)
    if group is not None:
        return group
    if name in arm.faults:
        raise RequestError(
            ErrorCode.INVALID_GROUP_NAME, f'no solver for group {quote(name)}: {arm.faults[name]}'
        )
    raise RequestError(
        ErrorCode.INVALID_GROUP_NAME,
        f'there is no group {quote(name)}; groups: {listed(arm.group_names)}. The parameter '
        'groups adds one, such as groups.NAME.base_link and groups.NAME.tip_link, and '
        'robot_description_semantic all those of an SRDF',
    )


def pose_goals(request: PositionIKRequest, held: Held = lambda name: None) -> list[PoseGoal]:
    """
    Return the poses that a request asks for, by MoveIt's rules of precedence.

    A link name may also be that of an attached object or of a subframe of it.

    :param held: returns the link of an attached object and its pose there; None for all else.
    :raises RequestError: INVALID_LINK_NAME where poses and links do not go together.
    """
    goals = _goals_as_given(request)
    for k, goal in enumerate(goals):
        found = held(goal.link) if goal.link else None
        if found is not None:
            goals[k] = PoseGoal(found[0], goal.pose, goal.field, found[1])
    return goals


def _goals_as_given(request: PositionIKRequest) -> list[PoseGoal]:
    poses, links = request.pose_stamped_vector, request.ik_link_names
    if not poses and set(links) <= {request.ik_link_name}:
        return [PoseGoal(request.ik_link_name, request.pose_stamped, 'pose_stamped.pose')]
    if len(poses) == 1 and not links:
        return [PoseGoal('', poses[0], 'pose_stamped_vector[0].pose')]
    if len(links) != len(poses):
        raise invalid_link(
            f'pose_stamped_vector has {len(poses)} poses, but ik_link_names has '
            f'{len(links) or "no"} link{"" if len(links) == 1 else "s"}; each pose needs one'
        )
    if len(poses) > _MOST_POSES:
        raise invalid_link(
            f'ik_link_names has {len(links)} links; at most {_MOST_POSES} are placed together'
        )
    for number, link in enumerate(links):
        if link in links[:number]:
            twice = f'names {quote(link)} twice' if link else 'has several empty names'
            raise invalid_link(f'ik_link_names {twice}; each pose needs a link of its own')
    return [
        PoseGoal(link, pose, f'pose_stamped_vector[{number}].pose')
        for number, (link, pose) in enumerate(zip(links, poses, strict=True))
    ]


_NONE = np.empty(0, dtype=np.intp)


def held_with(
    state: RobotState,
    known: KnownWorld,
    measured: MeasuredState,
    frames: Frames,
    field: str = 'robot_state',
) -> Held:
    """
    Return a look-up of attached objects' poses, and check those that a request attaches.

    An object of the request counts before one of the same name that is known. Where it is given
    in the frame of a link, that link stands as in the request.

    :raises RequestError: INVALID_ROBOT_STATE for an object or a position that is faulty.
    """
    attached = state.attached_collision_objects
    if not attached:
        return known.held
    posture, _ = start_posture(measured, state, _NONE, field)
    placing = Placing(measured.arm, posture, frames)
    world = world_of_state(state, known.world, placing, field)
    subframes: dict[str, Mapping[str, np.ndarray]] = {}
    for number, message in enumerate(attached):
        name = message.object.id
        try:
            old = subframes.get(name) or known.subframes(name)
            subframes[name] = attached_subframes(message.object, old)
        except IkServiceError as error:
            raise fault_of_attached(field, number, error) from error

    subframes.pop('', None)  # of all that are detached

    def held(name: str) -> tuple[str, np.ndarray] | None:
        if name in subframes or name.rpartition('/')[0] in subframes:
            return find_held(name, world, lambda of: subframes.get(of) or known.subframes(of))
        return known.held(name)

    return held


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
    for number, link in enumerate(links):
        if link in links[:number]:  # by an empty name, or by something attached to it
            raise invalid_link(f'ik_link_names has two names for {quote(link)}, with a pose each')
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
    try:
        group.check_driven(sources)
    except ChainError as error:
        raise invalid_link(f'ik_link_names: {error}') from error
    return sources.union(group.chain.joint_names)


def _link_of(goal: PoseGoal, group: ArmGroup) -> str:
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
    return {
        joint.name
        for link in links
        for joint, _ in arm.robot.path(base_link, link)
        if joint.movable
    }
