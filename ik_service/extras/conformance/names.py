"""Names of the services and error codes of MoveIt's interface."""

from __future__ import annotations

from moveit_msgs.msg import MoveItErrorCodes

COMPUTE_IK, COMPUTE_FK = 'compute_ik', 'compute_fk'
STATE_VALIDITY = 'check_state_validity'
CARTESIAN_PATH = 'compute_cartesian_path'
PLAN, PLANNERS, MOVE = 'plan_kinematic_path', 'query_planner_interface', 'move_action'
JOINT_STATES = 'joint_states'
COLLISION_OBJECT = 'collision_object'
APPLY_SCENE, GET_SCENE = 'apply_planning_scene', 'get_planning_scene'

SUCCESS = int(MoveItErrorCodes.SUCCESS)
HAS_MESSAGE = hasattr(MoveItErrorCodes(), 'message')  # ROS 2 Humble has only the number

_NAMES = {
    value: name
    for name in dir(MoveItErrorCodes)
    if name.isupper() and isinstance(value := getattr(MoveItErrorCodes, name), int)
}


def code_name(code: int) -> str:
    """
    Return an error code in words, such as ``NO_IK_SOLUTION (-31)``.

    :param code: value of ``MoveItErrorCodes``.
    """
    return f'{_NAMES.get(code, "unknown code")} ({code})'
