"""Checks of seeds that are wrong."""

from __future__ import annotations

import math

from moveit_msgs.msg import MoveItErrorCodes as Code

from ik_service.extras.conformance.check import Check
from ik_service.extras.conformance.subject import Subject

_SECTION = 'wrong seeds'


def _lengths(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('lengths')
    joints = request.ik_request.robot_state.joint_state
    joints.position = list(joints.position)[:-1]
    names, positions = len(joints.name), len(joints.position)
    answer = subject.ik(request, f'a seed with {names} names and {positions} positions')
    answer.refused(Code.INVALID_ROBOT_STATE)
    return 'INVALID_ROBOT_STATE'


def _not_a_number(subject: Subject) -> str:
    name = subject.arm.joint_names[0]
    for number in (math.nan, math.inf):
        request, _, _ = subject.ordinary_request('nan')
        joints = request.ik_request.robot_state.joint_state
        joints.position[joints.name.index(name)] = number
        answer = subject.ik(request, f'a seed with {name} at {number}')
        answer.refused(Code.INVALID_ROBOT_STATE)
    return 'INVALID_ROBOT_STATE'


def _unknown_joint(subject: Subject) -> str:
    request, _, _ = subject.ordinary_request('unknown joint')
    joints = request.ik_request.robot_state.joint_state
    joints.name = [*joints.name, 'there_is_no_such_joint']
    joints.position = [*joints.position, 0.1]
    answer = subject.ik(request, 'a seed with the joint there_is_no_such_joint')
    answer.refused(Code.INVALID_ROBOT_STATE)
    return 'INVALID_ROBOT_STATE'


CHECKS = (
    Check(
        'seed-lengths',
        _SECTION,
        'A seed with more names than positions is answered with INVALID_ROBOT_STATE',
        _lengths,
        'answer table: wrong lengths',
        moveit='it logs an error, and solves from the present state',
    ),
    Check(
        'seed-not-a-number',
        _SECTION,
        'NaN or infinity in the seed is answered with INVALID_ROBOT_STATE',
        _not_a_number,
        'answer table: NaN in the seed',
        moveit='it does not look at the numbers of a seed',
        rough=True,
    ),
    Check(
        'seed-unknown-joint',
        _SECTION,
        'An unknown joint in the seed is answered with INVALID_ROBOT_STATE',
        _unknown_joint,
        'answer table: unknown joint',
        moveit='it throws an exception, which may end the process',
        rough=True,
    ),
)
