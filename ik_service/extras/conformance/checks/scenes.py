"""Checks of the planning scene: what is applied counts at once, as a whole, and can be got."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import math
from typing import Any

from moveit_msgs import msg, srv

from ik_service.extras.conformance.answers import IkAnswer
from ik_service.extras.conformance.check import Check, CheckFailedError, NotSupportedError
from ik_service.extras.conformance.checks.collisions import box_object, box_size
from ik_service.extras.conformance.names import APPLY_SCENE, GET_SCENE
from ik_service.extras.conformance.subject import Posture, Subject

_SECTION = 'scenes'
_OBJECT, _OTHER = 'ik_conformance_scene_box', 'ik_conformance_faulty_box'
_POSTURES = 50
# Other builds of moveit_msgs may lack them.
_APPLY = getattr(srv, 'ApplyPlanningScene', None)
_GET = getattr(srv, 'GetPlanningScene', None)


def _at_once(subject: Subject) -> str:
    seed = free_seed(subject)
    with scene_box(subject, seed):
        blocked = _avoiding(subject, seed, 'the same pose, the box of a scene around the tip')
        blocked.no_success('the tip is inside a box of a scene that is applied')
    again = _avoiding(subject, seed, 'the same pose after a scene has removed the box')
    subject.reached(again, subject.tips_at(seed))
    return f'{blocked.text.partition(":")[0]} inside the box'


def _allowed(subject: Subject) -> str:
    seed = free_seed(subject)
    with scene_box(subject, seed):
        scene = _got(subject)
        before = scene.allowed_collision_matrix
        _allow(scene.allowed_collision_matrix, _OBJECT)
        _apply(subject, scene, 'the scene that was got, the box allowed to touch all')
        asked = 'the same pose inside a box that may touch all'
        try:
            answer = _avoiding(subject, seed, asked)
            subject.reached(answer, subject.tips_at(seed))
        finally:
            changed = _diff()
            changed.allowed_collision_matrix = before
            _apply(subject, changed, 'the matrix before')
    return f'{len(scene.allowed_collision_matrix.entry_names)} names'


def _round_trip(subject: Subject) -> str:
    seed = free_seed(subject)
    with scene_box(subject, seed):
        first = _got(subject)
        _apply(subject, first, 'the scene that was got')
        second = _got(subject)
        told = [_facts(scene) for scene in (first, second)]
        for name, value in told[0].items():
            if told[1][name] != value:
                raise CheckFailedError(
                    'get_planning_scene after what was got was applied',
                    f'another {name}',
                    'the same as before',
                )
    return f'{len(told[0]["objects"])} objects'


def _whole_or_not(subject: Subject) -> str:
    free_seed(subject)
    scene = _diff()
    good, bad = (box_object(_root(subject), [0.0, 0.0, 100.0], 0.1) for _ in range(2))
    good.id, bad.id = _OBJECT, _OTHER
    bad.primitives[0].dimensions[1] = math.nan
    scene.world.collision_objects = [good, bad]
    asked = 'a scene with a box, and one with an edge of NaN'
    try:
        if _ask(subject, scene, asked).success:
            raise CheckFailedError(asked, 'success', 'no success')
        names = {each.id for each in _got(subject).world.collision_objects} & {_OBJECT, _OTHER}
        if names:
            raise CheckFailedError(asked, f'{", ".join(sorted(names))} in the scene', 'neither')
    finally:
        _remove(subject, _OBJECT, _OTHER)
    return 'neither is there'


def free_seed(subject: Subject) -> Posture:
    """
    Return a posture whose pose is solved free of collisions.

    :param subject: the server, and its arm.
    :raises NotSupportedError: there is none, or no scene that may be changed.
    """
    if not subject.settings.change_world:
        raise NotSupportedError('it changes the scene of the server: --change-world')
    if _APPLY is None or _GET is None:
        raise NotSupportedError('moveit_msgs has no scenes here')
    box_size(subject)
    for service, kind in ((APPLY_SCENE, _APPLY), (GET_SCENE, _GET)):
        if not subject.connection.offers(kind, service):
            name = subject.connection.full_name(service)
            raise NotSupportedError(f'there is no service {name}')

    def ask() -> Posture | None:
        for seed in subject.postures(_POSTURES, 'scenes'):
            if _avoiding(subject, seed, 'a random pose, with avoid_collisions').solved:
                return seed
        return None

    seed = subject.once('scene seed', ask)
    if seed is None:
        raise NotSupportedError(f'none of {_POSTURES} random poses is solved without collisions')
    return seed


@contextmanager
def scene_box(subject: Subject, seed: Posture) -> Iterator[None]:
    """
    Apply a scene with a box around the tip for a ``with`` block.

    :param subject: the server, and its arm.
    :param seed: the posture of the arm whose tip is meant.
    """
    centre = subject.tips_at(seed)[subject.arm.tips[0]][:3, 3].tolist()
    box = box_object(_root(subject), centre, box_size(subject))
    box.id = _OBJECT
    scene = _diff()
    scene.world.collision_objects = [box]
    try:
        _apply(subject, scene, 'a scene with a box around the tip')
        yield
    finally:
        _remove(subject, _OBJECT)


def _remove(subject: Subject, *names: str) -> None:
    """Remove what is there of these objects; nothing of ours stays in the server's scene."""
    there = {each.id for each in _got(subject).world.collision_objects}
    scene = _diff()
    scene.world.collision_objects = [
        msg.CollisionObject(id=name, operation=msg.CollisionObject.REMOVE)
        for name in names
        if name in there
    ]
    if scene.world.collision_objects:
        _apply(subject, scene, 'a scene that removes the box')


def _allow(matrix: Any, name: str) -> None:  # noqa: ANN401 - of moveit_msgs, without types
    """Allow a name to touch all others of a matrix, as pymoveit2 does."""
    names = [*matrix.entry_names]
    rows = [[*row.enabled] for row in matrix.entry_values]
    if name not in names:
        names.append(name)
        rows = [*([*row, False] for row in rows), [False] * len(names)]
    own = names.index(name)
    for row in rows:
        row[own] = True
    rows[own] = [True] * len(names)
    matrix.entry_names = names
    matrix.entry_values = [msg.AllowedCollisionEntry(enabled=row) for row in rows]


def _facts(scene: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return what a scene says, without the times of its messages."""
    matrix, state = scene.allowed_collision_matrix, scene.robot_state
    return {
        'objects': {each.id: len(each.primitives) for each in scene.world.collision_objects},
        'attached objects': {each.object.id for each in state.attached_collision_objects},
        'matrix': {
            frozenset((a, b))
            for a, row in zip(matrix.entry_names, matrix.entry_values, strict=True)
            for b, value in zip(matrix.entry_names, row.enabled, strict=True)
            if value and a != b
        },
        'padding': {each.link_name: each.padding for each in scene.link_padding},
        'scale': {each.link_name: each.scale for each in scene.link_scale},
        'name': scene.name,
    }


def _diff() -> Any:  # noqa: ANN401
    scene = msg.PlanningScene(is_diff=True)
    scene.robot_state.is_diff = True
    return scene


def _root(subject: Subject) -> str:
    return subject.arm.robot.root_link


def _apply(subject: Subject, scene: Any, asked: str) -> None:  # noqa: ANN401
    if not _ask(subject, scene, asked).success:
        raise CheckFailedError(asked, 'no success', 'success')


def _ask(subject: Subject, scene: Any, asked: str) -> Any:  # noqa: ANN401
    assert _APPLY is not None
    request = _APPLY.Request(scene=scene)
    return subject.connection.ask(_APPLY, APPLY_SCENE, request, asked)[0]


def _got(subject: Subject) -> Any:  # noqa: ANN401
    assert _GET is not None
    asked = 'the whole scene'
    return subject.connection.ask(_GET, GET_SCENE, _GET.Request(), asked)[0].scene


def _avoiding(subject: Subject, seed: Posture, asked: str) -> IkAnswer:
    """Ask for the pose of a seed, free of collisions."""
    request = subject.request(subject.tips_at(seed), seed)
    request.ik_request.avoid_collisions = True
    request.ik_request.robot_state.is_diff = True
    return subject.ik(request, asked)


CHECKS = (
    Check(
        'scene-at-once',
        _SECTION,
        'A box of a scene that is applied makes the next request an error, and its removal not',
        _at_once,
        'ApplyPlanningScene: success',
    ),
    Check(
        'scene-allowed',
        _SECTION,
        'The scene that was got, with the box allowed to touch all, lets the pose be solved',
        _allowed,
        'AllowedCollisionMatrix; pymoveit2: allow_collisions',
    ),
    Check(
        'scene-round-trip',
        _SECTION,
        'A scene that was got can be applied as a whole, and changes nothing',
        _round_trip,
        'GetPlanningScene',
    ),
    Check(
        'scene-whole',
        _SECTION,
        'Of a scene with a faulty object nothing is taken',
        _whole_or_not,
        'ApplyPlanningScene: success',
        moveit='it takes the objects before the faulty one',
    ),
)
