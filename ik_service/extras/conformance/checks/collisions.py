"""Checks of collisions: of the arm with itself, with objects of the world, and of scenes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
import math
import time
from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs import msg, srv
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from moveit_msgs.msg import MoveItErrorCodes as Code
from shape_msgs.msg import SolidPrimitive

from ik_service.extras.conformance.answers import (
    APPLY_SCENE,
    CheckFailedError,
    COLLISION_OBJECT,
    GET_SCENE,
    moveit_type,
    NotSupportedError,
    offset,
    ServerAnswer,
    STATE_VALIDITY,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.subject import once, Posture, set_posture, Subject
from ik_service.model.geometry.link_geometry import read_collision_geometry

COLLISIONS = Section('collisions')
_POSTURES = 200  # random ones, of which some have to be valid and others not
_REFUSED = (Code.GOAL_IN_COLLISION, Code.NO_IK_SOLUTION, Code.TIMED_OUT)
_OBJECT = 'ik_conformance_box'
_SIZE = 0.5  # edge of the box around the tip, in lengths of the arm
_AROUND = 2.5  # edge of one around the nearest link, in distances from the tip
_PAUSE = 0.1  # between two requests while the world of the server changes [s]

SCENES = Section('scenes')
_SCENE_BOX, _FAULTY_BOX = 'ik_conformance_scene_box', 'ik_conformance_faulty_box'
_SEEDS = 50  # random poses of which one has to be solved without collisions


@COLLISIONS.check('GetStateValidity')
def _state_validity(subject: Subject) -> str:
    """check_state_validity finds valid postures among random ones."""
    valid, invalid = random_states(subject)
    if not valid:
        came = f'not valid, for all of {_POSTURES} random postures'
        raise CheckFailedError('check_state_validity', came, 'some valid postures')
    return f'{len(invalid)} of {len(valid) + len(invalid)} random postures are not valid'


@COLLISIONS.check('GetStateValidity: contacts')
def _state_contacts(subject: Subject) -> str:
    """check_state_validity names the bodies that touch."""
    asked = 'check_state_validity of a posture that is not valid'
    answer = ask_validity(subject, _colliding_states(subject)[0], asked)
    pairs = [(found.contact_body_1, found.contact_body_2) for found in answer.contacts]
    if not pairs or not all(a and b for a, b in pairs):
        raise CheckFailedError(asked, f'contacts {pairs}', 'the names of bodies that touch')
    return f'{pairs[0][0]} and {pairs[0][1]}'


@COLLISIONS.check('answer table: avoid_collisions')
def _avoid_collisions(subject: Subject) -> str:
    """With avoid_collisions, the poses of valid seeds are solved by valid postures."""
    valid = valid_states(subject)[:20]
    for seed in valid:
        answer = _avoiding(subject, seed, 'the pose of a valid seed, with avoid_collisions')
        found, _, _ = subject.reached(answer, subject.tips_at(seed))
        _require_valid(subject, found, answer)
    return f'{len(valid)} poses'


@COLLISIONS.check('answer table: avoid_collisions')
def _self_collision(subject: Subject) -> str:
    """With avoid_collisions, the pose of a colliding seed gets another posture, or an error."""
    invalid, solved = _colliding_states(subject)[:20], 0
    for seed in invalid:
        poses = subject.tips_at(seed)
        answer = _avoiding(subject, seed, 'the pose of a colliding seed, with avoid_collisions')
        if answer.solved:
            found, _, _ = subject.reached(answer, poses)
            _require_valid(subject, found, answer)
            solved += 1
        else:
            answer.refused(*_REFUSED)
    return f'{solved} of {len(invalid)} colliding poses solved without a collision'


@COLLISIONS.check('answer table: avoid_collisions; RobotState: attached_collision_objects')
def _attached_object(subject: Subject) -> str:
    """With avoid_collisions, a box on the tip in robot_state that hits the arm is an error."""
    seed, tip = valid_states(subject)[0], subject.arm.tips[0]
    touched = [tip, *subject.arm.attached_to(tip)]
    size = box_size(subject, seed, touched)
    box = box_object(tip, [0.0, 0.0, 0.0], size)
    carried = AttachedCollisionObject(link_name=tip, object=box, touch_links=touched)
    request = subject.request(subject.tips_at(seed), seed)
    request.ik_request.avoid_collisions = True
    request.ik_request.robot_state.attached_collision_objects = [carried]
    answer = subject.ik(
        request, f'the pose of a valid seed, with a box of {size:.2g} m on the tip'
    )
    return answer.no_success('the box is around the links above the tip')


@COLLISIONS.check('answer table: avoid_collisions')
def _world_object(subject: Subject) -> str:
    """A box around the tip makes a pose an error; without the box it is solved again."""
    if not subject.settings.change_world:
        raise NotSupportedError('it adds an object to the world of the server: --change-world')
    seed = valid_states(subject)[0]
    T, size = subject.tips_at(seed)[subject.arm.tips[0]], box_size(subject, seed)
    free = _avoiding(subject, seed, 'the pose of a valid seed, with avoid_collisions')
    subject.reached(free, subject.tips_at(seed))
    with _box(subject, T[:3, 3].tolist(), size) as remove:
        asked = f'the same pose inside a box of {size:.2g} m that was added'
        blocked = _until(subject, seed, asked, lambda answer: not answer.solved)
        if blocked.solved:
            raise blocked.fail('an error, as the tip is inside the box')
        refused = blocked.refused(*_REFUSED)
        if ask_validity(subject, seed, asked).valid:
            raise CheckFailedError(
                'check_state_validity of the tip inside the box', 'valid', 'not valid'
            )
        remove()
        asked = 'the same pose after the box was removed'
        again = _until(subject, seed, asked, lambda answer: answer.solved)
        subject.reached(again, subject.tips_at(seed))
    return f'{refused} inside the box'


def box_size(subject: Subject, seed: Posture, spared: Collection[str] = ()) -> float:
    """Return the edge [m] of a box around the tip that some link, not spared, is in."""
    arm, poses = subject.arm, subject.links_at(seed)
    moved = {*arm.links_between(), *arm.tips}.union(*map(arm.attached_to, arm.tips))
    shaped = {shape.link for shape in read_collision_geometry(arm.robot.description)}
    near = [offset(poses[link], poses[arm.tips[0]])[0] for link in moved & shaped - {*spared}]
    if not near:
        raise NotSupportedError('the URDF has no collision geometry of the links that move')
    return max(_SIZE * arm.reach(), _AROUND * min(near))


def box_object(frame: str, centre: list[float], size: float) -> CollisionObject:
    """Return a cube, by its centre and edge [m], as a message that adds it."""
    message = CollisionObject(id=_OBJECT, operation=CollisionObject.ADD)
    message.header.frame_id = frame
    message.pose.orientation.w = 1.0
    pose = Pose()
    pose.orientation.w = 1.0
    pose.position.x, pose.position.y, pose.position.z = centre
    message.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[size] * 3)]
    message.primitive_poses = [pose]
    return message


@contextmanager
def _box(subject: Subject, centre: list[float], size: float) -> Iterator[Callable[[], None]]:
    """Add a box to the server's world for a ``with`` block; yields a function that removes it."""
    publisher = subject.connection.publisher(CollisionObject, COLLISION_OBJECT)
    message = box_object(subject.arm.robot.root_link, centre, size)
    pending = [CollisionObject(id=_OBJECT, operation=CollisionObject.REMOVE)]

    def remove() -> None:
        if pending:
            publisher.publish(pending.pop())

    publisher.publish(message)
    try:
        yield remove
    finally:
        remove()  # whatever has happened, nothing of ours stays in the world of the server


def _until(
    subject: Subject, seed: Posture, asked: str, wanted: Callable[[ServerAnswer], bool]
) -> ServerAnswer:
    """Ask until the answer is the wanted one, or the patience is over; return the last."""
    deadline = time.monotonic() + subject.connection.patience
    while True:
        answer = _avoiding(subject, seed, asked)
        if wanted(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(_PAUSE)


def _avoiding(subject: Subject, seed: Posture, asked: str) -> ServerAnswer:
    """Ask for the pose of a seed, free of collisions."""
    request = subject.request(subject.tips_at(seed), seed)
    request.ik_request.avoid_collisions = True
    request.ik_request.robot_state.is_diff = True
    return subject.ik(request, asked)


@once
def random_states(subject: Subject) -> tuple[list[Posture], list[Posture]]:
    """Return random postures that are valid, and those that are not, by the server's word."""
    valid: list[Posture] = []
    invalid: list[Posture] = []
    for posture in subject.postures(_POSTURES, 'collisions'):
        answer = ask_validity(subject, posture, 'check_state_validity of a random posture')
        (valid if answer.valid else invalid).append(posture)
    return valid, invalid


def valid_states(subject: Subject) -> list[Posture]:
    """Return random postures that are valid; NotSupportedError where none is."""
    valid, _ = random_states(subject)
    if not valid:
        raise NotSupportedError('check_state_validity finds no posture valid')
    return valid


def _colliding_states(subject: Subject) -> list[Posture]:
    _, invalid = random_states(subject)
    if not invalid:
        raise NotSupportedError(f'none of {_POSTURES} random postures collides')
    return invalid


def _require_valid(subject: Subject, posture: Posture, answer: ServerAnswer) -> None:
    if not ask_validity(subject, posture, 'check_state_validity of a solution').valid:
        raise answer.fail('a posture that check_state_validity calls valid', 'SUCCESS, not valid')


def ask_validity(subject: Subject, posture: Posture, asked: str) -> Any:  # noqa: ANN401
    """Ask check_state_validity about a posture; NotSupportedError where there is none."""
    kind = moveit_type(srv, 'GetStateValidity')
    request = kind.Request(group_name=subject.group_name)
    set_posture(request.robot_state, posture)
    answer, _ = subject.connection.ask(kind, STATE_VALIDITY, request, asked)
    return answer


@SCENES.check('ApplyPlanningScene: success')
def _scene_at_once(subject: Subject) -> str:
    """A box of a scene that is applied makes the next request an error, and its removal not."""
    seed = free_seed(subject)
    with scene_box(subject, seed):
        blocked = _avoiding(subject, seed, 'the same pose, the box of a scene around the tip')
        refused = blocked.no_success('the tip is inside a box of a scene that is applied')
    again = _avoiding(subject, seed, 'the same pose after a scene has removed the box')
    subject.reached(again, subject.tips_at(seed))
    return f'{refused} inside the box'


@SCENES.check('AllowedCollisionMatrix; pymoveit2: allow_collisions')
def _scene_allowed(subject: Subject) -> str:
    """The scene that was got, with the box allowed to touch all, lets the pose be solved."""
    seed = free_seed(subject)
    with scene_box(subject, seed):
        scene = _got(subject)
        before = scene.allowed_collision_matrix
        _allow(scene.allowed_collision_matrix, _SCENE_BOX)
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


@SCENES.check('GetPlanningScene')
def _scene_round_trip(subject: Subject) -> str:
    """A scene that was got can be applied as a whole, and changes nothing."""
    seed = free_seed(subject)
    with scene_box(subject, seed):
        first = _got(subject)
        _apply(subject, first, 'the scene that was got')
        second = _got(subject)
        facts = [_facts(scene) for scene in (first, second)]
        for name, value in facts[0].items():
            if facts[1][name] != value:
                raise CheckFailedError(
                    'get_planning_scene after what was got was applied',
                    f'another {name}',
                    'the same as before',
                )
    return f'{len(facts[0]["objects"])} objects'


@SCENES.check('ApplyPlanningScene: success', moveit='it takes the objects before the faulty one')
def _scene_whole(subject: Subject) -> str:
    """Of a scene with a faulty object nothing is taken."""
    free_seed(subject)
    scene = _diff()
    good, bad = (box_object(_root(subject), [0.0, 0.0, 100.0], 0.1) for _ in range(2))
    good.id, bad.id = _SCENE_BOX, _FAULTY_BOX
    bad.primitives[0].dimensions[1] = math.nan
    scene.world.collision_objects = [good, bad]
    asked = 'a scene with a box, and one with an edge of NaN'
    try:
        if _ask(subject, scene, asked).success:
            raise CheckFailedError(asked, 'success', 'no success')
        names = {each.id for each in _got(subject).world.collision_objects} & {
            _SCENE_BOX,
            _FAULTY_BOX,
        }
        if names:
            raise CheckFailedError(asked, f'{", ".join(sorted(names))} in the scene', 'neither')
    finally:
        _remove(subject, _SCENE_BOX, _FAULTY_BOX)
    return 'neither is there'


def free_seed(subject: Subject) -> Posture:
    """Return a posture solved free of collisions; NotSupportedError where there is none."""
    if not subject.settings.change_world:
        raise NotSupportedError('it changes the scene of the server: --change-world')
    box_size(subject, subject.postures(1, 'scenes')[0])
    for service, name in ((APPLY_SCENE, 'ApplyPlanningScene'), (GET_SCENE, 'GetPlanningScene')):
        if not subject.connection.offers(moveit_type(srv, name), service):
            full_name = subject.connection.full_name(service)
            raise NotSupportedError(f'there is no service {full_name}')
    seed = _solved_seed(subject)
    if seed is None:
        raise NotSupportedError(f'none of {_SEEDS} random poses is solved without collisions')
    return seed


@once
def _solved_seed(subject: Subject) -> Posture | None:
    for seed in subject.postures(_SEEDS, 'scenes'):
        if _avoiding(subject, seed, 'a random pose, with avoid_collisions').solved:
            return seed
    return None


@contextmanager
def scene_box(subject: Subject, seed: Posture) -> Iterator[None]:
    """Apply a scene with a box around the tip of a posture for a ``with`` block."""
    centre = subject.tips_at(seed)[subject.arm.tips[0]][:3, 3].tolist()
    box = box_object(_root(subject), centre, box_size(subject, seed))
    box.id = _SCENE_BOX
    scene = _diff()
    scene.world.collision_objects = [box]
    try:
        _apply(subject, scene, 'a scene with a box around the tip')
        yield
    finally:
        _remove(subject, _SCENE_BOX)


def _remove(subject: Subject, *names: str) -> None:
    """Remove these objects where they exist; nothing of ours stays in the server's scene."""
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
    """Return the content of a scene, without the times of its messages."""
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
    kind = moveit_type(srv, 'ApplyPlanningScene')
    request = kind.Request(scene=scene)
    return subject.connection.ask(kind, APPLY_SCENE, request, asked)[0]


def _got(subject: Subject) -> Any:  # noqa: ANN401
    kind = moveit_type(srv, 'GetPlanningScene')
    return subject.connection.ask(kind, GET_SCENE, kind.Request(), 'the whole scene')[0].scene
