"""The three cases of which joints may move."""

import math

import numpy as np
import pytest

from ik_service import Robot
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.movable_joints import answer, CASES, TARGETS

NEAR, FAR = TARGETS


@pytest.fixture(scope='module')
def answers():
    robot = Robot.from_urdf(urdf_path('upper_body'))
    return {(target, case): answer(robot, target, case) for target in TARGETS for case in CASES}


def norm(item):
    return math.hypot(*item.motion.values())


def test_each_case_moves_more_joints(answers):
    assert [len(answers[NEAR, case].motion) for case in CASES] == [7, 9, 12]


def test_locked_joints_stay(answers):
    arm, chest, everything = (answers[FAR, case].positions for case in CASES)
    assert not {'waist_pitch', 'chest_yaw'} & set(arm)
    assert 'waist_pitch' not in chest
    assert {'waist_pitch', 'chest_yaw'} <= set(everything)


def test_all_reach_the_near_target_with_ever_less_motion(answers):
    arm, chest, everything = (answers[NEAR, case] for case in CASES)
    assert all(item.result.success for item in (arm, chest, everything))
    assert norm(arm) > norm(chest) > norm(everything)


def test_only_the_whole_body_reaches_the_far_target(answers):
    arm, chest, everything = (answers[FAR, case].result for case in CASES)
    assert everything.success
    assert not chest.success
    assert arm.position_error > chest.position_error > 0.005


def test_the_hand_is_where_the_answer_says(answers):
    robot = Robot.from_urdf(urdf_path('upper_body'))
    for (target, _), item in answers.items():
        chain = robot.chain('pelvis', 'right_grip')
        q = [item.positions.get(name, 0.0) for name in chain.joint_names]
        distance = np.linalg.norm(chain.forward(q)[:3, 3] - TARGETS[target])
        assert distance == pytest.approx(item.result.position_error, abs=1e-9)
