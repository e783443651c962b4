"""Changes of the known world by a scene of MoveIt, whole or as a difference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
import math

from geometry_msgs.msg import TransformStamped
from moveit_msgs.msg import (
    AllowedCollisionMatrix,
    AttachedCollisionObject,
    CollisionObject,
    ObjectColor,
    PlanningScene,
    PlanningSceneWorld,
    RobotState,
)
import numpy as np

from ik_service.collision.rules import (
    AllowedCollisions,
    LinkPadding,
    LONGEST_NAME,
    MOST_NAMES,
    NO_PADDING,
)
from ik_service.collision.world import Color, MOST_OBJECTS
from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.ros.common.conversions import matrix_from_transform
from ik_service.ros.scene.object_changes import operation_of, REMOVE
from ik_service.ros.scene.robot_states import read_multi_dof
from ik_service.ros.scene.world_draft import ScenePosture, SceneSettings, WorldDraft

MOST_TRANSFORMS = 1_000  # fixed frames of a scene, at most


def apply_scene(scene: PlanningScene, draft: WorldDraft) -> list[str]:
    """
    Change a draft of the known world by a scene, in the order in which MoveIt does.

    A whole scene replaces all there is; a difference, the fields it fills. Positions of joints
    belong to the scene until the arm moves; requests begin where the joint states say. Objects to
    be removed that there are not are remarked.

    :param draft: the draft; of no use after an exception.
    :returns: remarks for the sender.
    :raises IkServiceError: a part of the scene is faulty or not supported; names the field.
    """
    whole = not scene.is_diff
    _check_octomap(scene.world)
    _change_settings(scene, draft, whole)
    _change_state(scene.robot_state, draft)
    matrix = scene.allowed_collision_matrix
    entries = (*matrix.entry_names, *matrix.entry_values)
    defaults = (*matrix.default_entry_names, *matrix.default_entry_values)
    if whole or entries or defaults:
        draft.world = draft.world.with_allowed(_allowed(matrix, draft.remarks))
    if whole or scene.link_padding or scene.link_scale:
        before = NO_PADDING if whole else draft.world.padding
        draft.world = draft.world.with_padding(_padding(scene, before, draft))
    if whole or scene.object_colors:
        colors: Mapping[str, Color] = {} if whole else draft.world.colors
        draft.world = draft.world.with_colors({**colors, **_colors(scene.object_colors)})
    draft.remarks += _named_twice(scene)
    if whole:
        draft.drop([*draft.world.objects])
    for number, message in enumerate(scene.world.collision_objects):
        with _naming(f'world.collision_objects[{number}] {quote(message.id)}'):
            _change_object(message, draft)
    return draft.remarks


def _change_settings(scene: PlanningScene, draft: WorldDraft, whole: bool) -> None:
    old, given = draft.settings, scene.fixed_frame_transforms
    name = scene.name if whole or scene.name else old.name
    if len(name) > LONGEST_NAME:
        raise ArgumentError('name', f'has {len(name)} characters, at most {LONGEST_NAME}')
    if whole or given:
        posture = None if whole else old.posture
        draft.take(SceneSettings(name, _fixed_frames(given, draft), posture))
    elif name != old.name:
        draft.take(replace(old, name=name))
    if draft.measured is None:
        return
    known = draft.measured.arm.robot.name
    if scene.robot_model_name not in ('', known):
        draft.remarks.append(
            f'it is for the robot {quote(scene.robot_model_name)}, but this is {quote(known)}'
        )


def _fixed_frames(
    transforms: Sequence[TransformStamped], draft: WorldDraft
) -> dict[str, np.ndarray]:
    """Return (4, 4) T_root_frame [m] of the frames that are neither links nor their own parent."""
    if len(transforms) > MOST_TRANSFORMS:
        raise ArgumentError(
            'fixed_frame_transforms', f'are {len(transforms)}, at most {MOST_TRANSFORMS}'
        )
    fixed: dict[str, np.ndarray] = {}
    for number, transform in enumerate(transforms):
        field = f'fixed_frame_transforms[{number}]'
        frame, parent = transform.child_frame_id.lstrip('/'), transform.header.frame_id.lstrip('/')
        if not 0 < len(frame) <= LONGEST_NAME:
            raise ArgumentError(
                f'{field}.child_frame_id', f'{quote(frame)} is not a valid frame name'
            )
        T = matrix_from_transform(transform.transform, field)
        is_link = draft.measured is not None and draft.measured.arm.has_link(frame)
        if frame != parent and not is_link:
            with _naming(field):
                fixed[frame] = draft.placing.in_root(parent, T)
        elif frame != parent or not np.array_equal(T, np.eye(4)):  # MoveIt sends its own frame
            why = 'a link of the robot' if is_link else 'its own parent'
            draft.remarks.append(f'{field} is not used: {quote(frame)} is {why}')
    return fixed


def _change_state(state: RobotState, draft: WorldDraft) -> None:
    """Attach and detach objects; joints that are given, not as a difference, detach all before."""
    joints = state.joint_state.name or state.multi_dof_joint_state.joint_names
    if joints and draft.measured is not None:
        with _naming('robot_state'):
            _change_posture(state, draft)
    if joints and not state.is_diff:
        draft.drop([*draft.world.attached])
    for number, message in enumerate(state.attached_collision_objects):
        field = f'robot_state.attached_collision_objects[{number}] {quote(message.object.id)}'
        with _naming(field):
            _change_attached(message, draft)


def _change_posture(state: RobotState, draft: WorldDraft) -> None:
    assert draft.measured is not None
    arm = draft.measured.arm
    given = draft.settings.posture_of(draft.measured)
    arm.postures.overlay(given, state.joint_state.name, state.joint_state.position)
    if state.multi_dof_joint_state.joint_names:
        read_multi_dof(arm, state.multi_dof_joint_state, given)
    arm.postures.complete(given)
    posture = ScenePosture(given, draft.measured.posture(), arm)
    if posture.differs:
        draft.take(replace(draft.settings, posture=posture))
    elif draft.settings.posture is not None:
        draft.take(replace(draft.settings, posture=None))


def _change_attached(message: AttachedCollisionObject, draft: WorldDraft) -> None:
    name = message.object.id
    if operation_of(message.object) == REMOVE and name and name not in draft.world.attached:
        draft.remarks.append(f'{quote(name)} is not attached: nothing to detach')
        return
    draft.attach(message)


def _change_object(message: CollisionObject, draft: WorldDraft) -> None:
    name = message.id
    if operation_of(message) == REMOVE and name and name not in draft.world.objects:
        held = draft.world.attached.get(name)
        stays = f'; it stays attached to {quote(held.link)}, until it is detached' if held else ''
        draft.remarks.append(f'{quote(name)} is not in the world, and need not be removed{stays}')
        return
    draft.change(message)


def _allowed(matrix: AllowedCollisionMatrix, remarks: list[str]) -> AllowedCollisions:
    names, rows = matrix.entry_names, matrix.entry_values
    field = 'allowed_collision_matrix'
    if len(names) > MOST_NAMES or len(rows) != len(names):
        raise ArgumentError(
            f'{field}.entry_values',
            f'are {len(rows)}, and entry_names {len(names)}; they must be equal in number, and at '
            f'most {MOST_NAMES}',
        )
    for name, row in zip(names, rows, strict=True):
        if len(row.enabled) != len(names):
            raise ArgumentError(
                f'{field}.entry_values of {quote(name)}',
                f'has {len(row.enabled)} values, has to have {len(names)}',
            )
    enabled = np.array([row.enabled for row in rows], bool).reshape(len(names), len(names))
    with _naming(field):
        found = AllowedCollisions.of_matrix(
            names, enabled, matrix.default_entry_names, matrix.default_entry_values
        )
    differing = np.argwhere(np.triu(enabled != enabled.T))
    if len(differing):
        i, j = differing[0].tolist()
        remarks.append(
            f'{field} has two values for {quote(names[i])} and {quote(names[j])}; the one in the '
            'row of the first name counts'
        )
    return found


def _padding(scene: PlanningScene, before: LinkPadding, draft: WorldDraft) -> LinkPadding:
    padding = {message.link_name: message.padding for message in scene.link_padding}
    scale = {message.link_name: message.scale for message in scene.link_scale}
    for field, links in (('link_padding', padding), ('link_scale', scale)):
        with _naming(field):
            for link in links:
                draft.placing.check_link(link)
    return LinkPadding({**before.padding, **padding}, {**before.scale, **scale})


def _named_twice(scene: PlanningScene) -> list[str]:
    """Return a remark on each field that has several values for one name."""
    fields = {
        'link_padding': [message.link_name for message in scene.link_padding],
        'link_scale': [message.link_name for message in scene.link_scale],
        'object_colors': [message.id for message in scene.object_colors],
        'fixed_frame_transforms': [
            message.child_frame_id.lstrip('/') for message in scene.fixed_frame_transforms
        ],
    }
    counts = {field: Counter(names) for field, names in fields.items()}
    return [
        f'{field} has {count} values for {quote(name)}; the last one counts'
        for field, names in counts.items()
        for name, count in names.most_common(1)
        if count > 1
    ]


def _colors(messages: Sequence[ObjectColor]) -> dict[str, Color]:
    if len(messages) > MOST_OBJECTS:
        raise ArgumentError('object_colors', f'are {len(messages)}, at most {MOST_OBJECTS}')
    found: dict[str, Color] = {}
    for number, message in enumerate(messages):
        color = message.color
        values = color.r, color.g, color.b, color.a
        if not 0 < len(message.id) <= LONGEST_NAME:
            raise ArgumentError(f'object_colors[{number}].id', f'{quote(message.id)} is no name')
        if not all(map(math.isfinite, values)):
            raise ArgumentError(f'object_colors[{number}].color', f'is {values}')
        r, g, b, a = np.clip(values, 0.0, 1.0).tolist()
        found[message.id] = r, g, b, a
    return found


def _check_octomap(world: PlanningSceneWorld) -> None:
    octomap = world.octomap.octomap
    if len(octomap.data):
        raise ArgumentError(
            'world.octomap',
            f'octomaps, such as {quote(octomap.id)} with {len(octomap.data)} bytes, are not '
            'supported; the scene is not applied',
        )


@contextmanager
def _naming(field: str) -> Iterator[None]:
    try:
        yield
    except IkServiceError as error:
        raise ArgumentError(field, str(error)) from error
