"""Checks of collisions: of the arm with itself, and with objects of the world."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import time
from typing import Any

from geometry_msgs.msg import Pose
from moveit_msgs import srv
from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
from moveit_msgs.msg import MoveItErrorCodes as Code
from shape_msgs.msg import SolidPrimitive

from ik_service.extras.conformance.answers import IkAnswer
from ik_service.extras.conformance.check import Check, CheckFailedError, NotSupportedError
from ik_service.extras.conformance.names import COLLISION_OBJECT, STATE_VALIDITY
from ik_service.extras.conformance.subject import Posture, Subject
from ik_service.model.geometry.link_geometry import read_collision_geometry

_SECTION = 'collisions'
_POSTURES = 200
_REFUSED = (Code.GOAL_IN_COLLISION, Code.NO_IK_SOLUTION, Code.TIMED_OUT)
_OBJECT = 'ik_conformance_box'
_SIZE = 0.5  # edge of the box around the tip, in lengths of the arm
_PAUSE = 0.1  # between two requests while the world of the server changes [s]
_VALIDITY = getattr(srv, 'GetStateValidity', None)  # other builds of moveit_msgs may lack it


def _validity(subject: Subject) -> str:
    valid, invalid = random_states(subject)
    if not valid:
        came = f'not valid, for all of {_POSTURES} random postures'
        raise CheckFailedError('check_state_validity', came, 'some valid postures')
    return f'{len(invalid)} of {len(valid) + len(invalid)} random postures are not valid'


def _contacts(subject: Subject) -> str:
    _, invalid = random_states(subject)
    if not invalid:
        raise NotSupportedError(f'none of {_POSTURES} random postures collides')
    asked = 'check_state_validity of a posture that is not valid'
    answer = ask_validity(subject, invalid[0], asked)
    pairs = [(found.contact_body_1, found.contact_body_2) for found in answer.contacts]
    if not pairs or not all(a and b for a, b in pairs):
        raise CheckFailedError(asked, f'contacts {pairs}', 'the names of bodies that touch')
    return f'{pairs[0][0]} and {pairs[0][1]}'


def _self_collision(subject: Subject) -> str:
    _, invalid = random_states(subject)
    if not invalid:
        raise NotSupportedError(f'none of {_POSTURES} random postures collides')
    solved = 0
    for seed in invalid[:20]:
        poses = subject.tips_at(seed)
        answer = _avoiding(subject, seed, 'the pose of a colliding seed, with avoid_collisions')
        if answer.solved:
            found, _, _ = subject.reached(answer, poses)
            _require_valid(subject, found, answer)
            solved += 1
        else:
            answer.refused(*_REFUSED)
    return f'{solved} of {len(invalid[:20])} colliding poses solved without a collision'


def _free(subject: Subject) -> str:
    valid, _ = random_states(subject)
    if not valid:
        raise NotSupportedError('check_state_validity finds no posture valid')
    for seed in valid[:20]:
        answer = _avoiding(subject, seed, 'the pose of a valid seed, with avoid_collisions')
        found, _, _ = subject.reached(answer, subject.tips_at(seed))
        _require_valid(subject, found, answer)
    return f'{len(valid[:20])} poses'


def _world(subject: Subject) -> str:
    if not subject.settings.change_world:
        raise NotSupportedError('it adds an object to the world of the server: --change-world')
    valid, _ = random_states(subject)
    if not valid:
        raise NotSupportedError('check_state_validity finds no posture valid')
    seed = valid[0]
    T, size = subject.tips_at(seed)[subject.arm.tips[0]], box_size(subject)
    free = _avoiding(subject, seed, 'the pose of a valid seed, with avoid_collisions')
    subject.reached(free, subject.tips_at(seed))
    with _box(subject, T[:3, 3].tolist(), size) as remove:
        asked = f'the same pose inside a box of {size:.2g} m that was added'
        blocked = _until(subject, seed, asked, lambda answer: not answer.solved)
        if blocked.solved:
            raise blocked.fail('an error, as the tip is inside the box')
        blocked.refused(*_REFUSED)
        if ask_validity(subject, seed, asked).valid:
            raise CheckFailedError(
                'check_state_validity of the tip inside the box', 'valid', 'not valid'
            )
        remove()
        asked = 'the same pose after the box was removed'
        again = _until(subject, seed, asked, lambda answer: answer.solved)
        subject.reached(again, subject.tips_at(seed))
    return f'{blocked.text.partition(":")[0]} inside the box'


def _attached(subject: Subject) -> str:
    valid, _ = random_states(subject)
    if not valid:
        raise NotSupportedError('check_state_validity finds no posture valid')
    tip, size = subject.arm.tips[0], box_size(subject)
    carried = AttachedCollisionObject(
        link_name=tip,
        object=box_object(tip, [0.0, 0.0, 0.0], size),
        touch_links=[tip, *subject.arm.attached_to(tip)],
    )
    request = subject.request(subject.tips_at(valid[0]), valid[0])
    request.ik_request.avoid_collisions = True
    request.ik_request.robot_state.attached_collision_objects = [carried]
    answer = subject.ik(
        request, f'the pose of a valid seed, with a box of {size:.2g} m on the tip'
    )
    answer.no_success('the box is around the links above the tip')
    return answer.text.partition(':')[0]


def box_size(subject: Subject) -> float:
    """
    Return the edge of a box that links near its middle cannot stay out of [m].

    :param subject: the server, and its arm.
    :raises NotSupportedError: the links that the arm moves have no shapes.
    """
    arm = subject.arm
    moved = {*arm.links_between(), *arm.tips}.union(*map(arm.attached_to, arm.tips))
    shapes = read_collision_geometry(arm.robot.description)
    if not any(shape.link in moved for shape in shapes):
        raise NotSupportedError('the URDF has no collision geometry of the links that move')
    return _SIZE * arm.reach()


def box_object(frame: str, centre: list[float], size: float) -> CollisionObject:
    """
    Return a cube as a message that adds it.

    :param frame: frame of its centre.
    :param centre: x, y and z [m].
    :param size: its edge [m].
    """
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
    """Add a box to the server's world for a ``with`` block; yields what removes it."""
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
    subject: Subject, seed: Posture, asked: str, wanted: Callable[[IkAnswer], bool]
) -> IkAnswer:
    """Ask until the answer is the wanted one, or the patience is over; return the last."""
    deadline = time.monotonic() + subject.connection.patience
    while True:
        answer = _avoiding(subject, seed, asked)
        if wanted(answer) or time.monotonic() > deadline:
            return answer
        time.sleep(_PAUSE)


def _avoiding(subject: Subject, seed: Posture, asked: str) -> IkAnswer:
    """Ask for the pose of a seed, free of collisions."""
    request = subject.request(subject.tips_at(seed), seed)
    request.ik_request.avoid_collisions = True
    return subject.ik(request, asked)


def random_states(subject: Subject) -> tuple[list[Posture], list[Posture]]:
    """
    Return random postures that are valid, and those that are not, by the server's word.

    :param subject: the server, and its arm.
    :raises NotSupportedError: there is no check_state_validity.
    """

    def ask() -> tuple[list[Posture], list[Posture]]:
        valid: list[Posture] = []
        invalid: list[Posture] = []
        for posture in subject.postures(_POSTURES, 'collisions'):
            answer = ask_validity(subject, posture, 'check_state_validity of a random posture')
            (valid if answer.valid else invalid).append(posture)
        return valid, invalid

    return subject.once('states', ask)


def _require_valid(subject: Subject, posture: Posture, answer: IkAnswer) -> None:
    if not ask_validity(subject, posture, 'check_state_validity of a solution').valid:
        raise answer.fail('a posture that check_state_validity calls valid', 'SUCCESS, not valid')


def ask_validity(subject: Subject, posture: Posture, asked: str) -> Any:  # noqa: ANN401
    """
    Ask check_state_validity about a posture, and return the answer.

    :param subject: the server, and its arm.
    :param posture: the posture.
    :param asked: the request, in words.
    :raises NotSupportedError: there is no such service.
    """
    if _VALIDITY is None:
        raise NotSupportedError('moveit_msgs has no GetStateValidity here')
    request = _VALIDITY.Request(group_name=subject.group_name)
    joints = request.robot_state.joint_state
    joints.name = list(posture)
    joints.position = [float(value) for value in posture.values()]
    answer, _ = subject.connection.ask(_VALIDITY, STATE_VALIDITY, request, asked)
    return answer


CHECKS = (
    Check(
        'state-validity',
        _SECTION,
        'check_state_validity finds valid postures among random ones',
        _validity,
        'GetStateValidity',
    ),
    Check(
        'state-contacts',
        _SECTION,
        'check_state_validity names the bodies that touch',
        _contacts,
        'GetStateValidity: contacts',
    ),
    Check(
        'avoid-collisions',
        _SECTION,
        'With avoid_collisions, the poses of valid seeds are solved by valid postures',
        _free,
        'answer table: avoid_collisions',
    ),
    Check(
        'self-collision',
        _SECTION,
        'With avoid_collisions, the pose of a colliding seed gets another posture, or an error',
        _self_collision,
        'answer table: avoid_collisions',
    ),
    Check(
        'attached-object',
        _SECTION,
        'With avoid_collisions, a box on the tip in robot_state that hits the arm is an error',
        _attached,
        'answer table: avoid_collisions; RobotState: attached_collision_objects',
    ),
    Check(
        'world-object',
        _SECTION,
        'A box around the tip makes a pose an error; without the box it is solved again',
        _world,
        'answer table: avoid_collisions',
    ),
)
