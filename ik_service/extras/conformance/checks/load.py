"""Checks of huge requests, of many clients, and of the state of the server at the end."""

from __future__ import annotations

from functools import partial

from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionIK
import numpy as np

from ik_service.common.quoting import counted
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    COMPUTE_IK,
    NoAnswerError,
    ServerAnswer,
)
from ik_service.extras.conformance.check import Check, Section
from ik_service.extras.conformance.subject import Subject

CLIENTS, HUGE, ALIVE = Section('clients'), Section('load'), Section('load')
_JOINTS = 10_000  # of the seed of a huge request
_CHARACTERS = 1_000_000  # of each name in a huge request
_LONGEST = 10_000  # characters of a reason
_CLIENTS = (1, 4, 16)  # at a time
_EACH = 25  # requests of a client, at least


@HUGE.check(
    'huge requests',
    summary=f'Names of {_CHARACTERS:,} characters are refused with the right codes, in short '
    'words',
    rough=True,
)
def _long_names(subject: Subject) -> str:
    name = 'x' * _CHARACTERS
    asked = (('group_name', Code.INVALID_GROUP_NAME), ('frame_id', Code.FRAME_TRANSFORM_FAILURE))
    for field, code in asked:
        request, _, _ = subject.ordinary_request('long names')
        if field == 'frame_id':
            subject.first_pose(request).header.frame_id = name
        else:
            setattr(request.ik_request, field, name)
        answer = subject.ik(request, f'a {field} of {_CHARACTERS:,} characters')
        answer.refused(code)
        _short(answer)
    return f'{len(asked)} fields'


@HUGE.check(
    'huge requests; answer table: unknown joint',
    summary=f'A seed with {_JOINTS:,} unknown joints is answered with INVALID_ROBOT_STATE',
    moveit='it throws an exception at the first unknown joint, which may end the process',
    rough=True,
)
def _many_joints(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('many joints')
    joints = request.ik_request.robot_state.joint_state
    joints.name = [*joints.name, *(f'no_joint_{number}' for number in range(_JOINTS))]
    joints.position = [*joints.position, *[0.1] * _JOINTS]
    answer = subject.ik(request, f'a seed with {_JOINTS:,} unknown joints')
    answer.refused(Code.INVALID_ROBOT_STATE)
    _short(answer)
    return f'INVALID_ROBOT_STATE after {answer.seconds * 1e3:.1f} ms'


@ALIVE.check('a server lives', moveit='an unknown joint in the seed may have ended the process')
def _alive(subject: Subject) -> str:
    """After all other checks the server still solves."""
    request, poses, _ = subject.ordinary_request('alive')
    if not subject.connection.offers(GetPositionIK, COMPUTE_IK):
        raise CheckFailedError('a pose near its seed', 'no such service any more', 'SUCCESS')
    answer = subject.ik(request, 'a pose near its seed, after all the others')
    subject.reached(answer, poses)
    return f'solved in {answer.seconds * 1e3:.2f} ms'


def _clients(clients: int, subject: Subject) -> str:
    count = max(subject.settings.count, _EACH * clients)
    asked = [subject.ordinary_request(f'client {number}') for number in range(count)]
    poses = {id(request): wanted for request, wanted, _ in asked}
    requests = [request for request, _, _ in asked]
    found = subject.connection.ask_at_once(GetPositionIK, COMPUTE_IK, requests, clients)
    text = f'{count} poses near their seeds, by {counted(clients, "client")}'
    if len(found) < count:
        came = f'{len(found)} answers'
        raise NoAnswerError(text, came, f'{count} answers')
    for request, answer, seconds in found:
        subject.reached(ServerAnswer.of(text, answer, seconds), poses[id(request)])
    times = np.array([seconds for _, _, seconds in found]) * 1e3
    return f'median {np.median(times):.2f} ms, 99 % within {np.percentile(times, 99):.2f} ms'


for _count in _CLIENTS:
    CLIENTS.append(
        Check(
            f'clients-{_count}',
            CLIENTS.name,
            f'{_count} client{" at a time is" if _count == 1 else "s at a time are"} answered, '
            'each with a solution of its own pose; the times are informational',
            partial(_clients, _count),
            'latency',
        )
    )


def _short(answer: ServerAnswer) -> None:
    if len(answer.message) > _LONGEST:
        came = f'a message of {len(answer.message):,} characters'
        raise answer.fail(f'a message of at most {_LONGEST:,} characters', came)
