"""The reference has to find what is wrong, or the fuzzers find nothing."""

import pytest

pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from geometry_msgs.msg import PoseStamped
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.msg import OrientationConstraint, PositionConstraint
from moveit_msgs.srv import GetPositionIK
import numpy as np
from shape_msgs.msg import SolidPrimitive
from support.chains import arm_path

from hardening.hostile import LEFT, RIGHT, SRDF
from hardening.reference import Reference
from ik_service import Robot
from ik_service.kinematics.link_poses import link_poses
from ik_service.ros.common.conversions import pose_from_matrix

ROBOT = Robot.from_urdf(arm_path('upper_body'), srdf=SRDF)
MEASURED = dict.fromkeys(ROBOT.movable_joint_names, 0.1)
GOAL = {**MEASURED, 'left_elbow': 0.6, 'left_shoulder_roll': 0.3}
AT = link_poses(ROBOT, GOAL)


def answered(found):
    answer = GetPositionIK.Response()
    answer.error_code.val = Code.SUCCESS
    answer.solution.joint_state.name = list(found)
    answer.solution.joint_state.position = list(found.values())
    return answer


def request(*links, group='both'):
    made = GetPositionIK.Request()
    made.ik_request.group_name = group
    made.ik_request.ik_link_names = list(links)
    for link in links:
        made.ik_request.pose_stamped_vector.append(PoseStamped(pose=pose_from_matrix(AT[link])))
    return made


def ball(link, distance, radius):
    constraint = PositionConstraint(link_name=link)
    T = AT[link].copy()
    T[0, 3] += distance
    region = constraint.constraint_region
    region.primitives = [SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[radius])]
    region.primitive_poses = [pose_from_matrix(T)]
    return constraint


def turned(link, tolerance):
    orientation = pose_from_matrix(np.eye(4)).orientation
    made = OrientationConstraint(link_name=link, orientation=orientation, parameterization=1)
    made.absolute_x_axis_tolerance = made.absolute_y_axis_tolerance = tolerance
    made.absolute_z_axis_tolerance = tolerance
    return made


def judged(made, **changes):
    reference = Reference(MEASURED, robot=ROBOT, base='pelvis', tip=LEFT)
    return reference.wrong_ik(made, answered({**GOAL, **changes}))


def test_right_answers_are_accepted():
    assert judged(request(LEFT, RIGHT)) is None
    assert judged(request(LEFT)) is None
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball('left_forearm', 0.05, 0.1)]
    made.ik_request.constraints.orientation_constraints = [turned('chest', 2.0)]
    assert judged(made) is None


@pytest.mark.parametrize(
    ('links', 'changes', 'complaint'),
    [
        ((LEFT, RIGHT), {'left_elbow': 0.61}, 'left_grip is off'),
        ((LEFT, RIGHT), {'right_elbow': 0.11}, 'right_grip is off'),
        ((LEFT,), {'right_elbow': 0.2}, 'right_grip has moved'),
        ((LEFT,), {'left_elbow': 40.0}, 'limits'),
    ],
)
def test_poses_that_are_missed_are_found(links, changes, complaint):
    assert complaint in judged(request(*links), **changes)


def test_constraints_that_are_violated_are_found():
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball('left_forearm', 0.3, 0.1)]
    assert 'left_forearm is 0.2 outside its position' in judged(made)
    made = request(LEFT)
    made.ik_request.constraints.orientation_constraints = [turned('chest', 0.01)]
    assert 'outside its orientation' in judged(made)
    made = request(LEFT)
    made.ik_request.constraints.position_constraints = [ball(LEFT, 0.3, 0.1)]
    assert 'the pose of left_grip is 0.2 outside' in judged(made)
