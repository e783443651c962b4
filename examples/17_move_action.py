"""
A client of `move_action` that lets the simulated arm move around a box, as MoveIt's clients do.

    .venv/bin/python examples/17_move_action.py
"""

from contextlib import ExitStack
import os
from pathlib import Path
import sys
from typing import Any

from ik_service.common.child_process import ChildProcess

try:
    from moveit_msgs.action import MoveGroup
    from moveit_msgs.msg import CollisionObject, Constraints, JointConstraint
    from moveit_msgs.srv import ApplyPlanningScene
    import rclpy
    from rclpy.action import ActionClient
    from rclpy.signals import SignalHandlerOptions
    from rclpy.task import Future
    from shape_msgs.msg import SolidPrimitive
except ImportError as error:
    sys.exit(f'This example needs ROS 2 ({error}): run "make env", or source an installation')

URDF = f'urdf:={Path(__file__).parents[1] / "urdf" / "panda.urdf"}'
REST = (-0.785, 0.0, -2.356, 0.0, 1.571, 0.785)  # of the joints but the first

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')


def answered(future: Future) -> Any:  # noqa: ANN401 - of any type
    """Return an answer, once it has come."""
    rclpy.spin_until_future_complete(node, future)
    return future.result()


with ExitStack() as stack:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # signals end this, not ROS
    node = rclpy.create_node('move_client')
    stack.callback(rclpy.try_shutdown)
    move = ActionClient(node, MoveGroup, 'move_action')
    change = node.create_client(ApplyPlanningScene, 'apply_planning_scene')
    if not move.wait_for_server(2.0):  # not beside `make demo`: a node, and an arm
        tip = ['-p', 'tip_link:=panda_hand_tcp', '-p', 'state_timeout:=3.0']  # [s]: it may be busy
        for name, program, more in (('the arm', 'sim', []), ('the IK node', 'node', tip)):
            words = ['--ros-args', '-p', URDF, *more]
            child = ChildProcess(name, f'ik_service.ros.{program}.main', words)
            stack.enter_context(child).wait_for('ready', timeout=300.0)
    for server in (move.wait_for_server, change.wait_for_service):
        server(60.0)

    box = CollisionObject(id='box')
    box.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.4, 0.1, 0.6])]
    box.pose.position.x, box.pose.position.z = 0.45, 0.3
    scene = ApplyPlanningScene.Request()
    scene.scene.is_diff = scene.scene.robot_state.is_diff = True
    scene.scene.world.collision_objects = [box]
    for angle in (0.7, -0.7, 0.0):  # to one side, around the box to the other, into it
        wanted = Constraints()
        for number, position in enumerate((angle, *REST), start=1):
            name = f'panda_joint{number}'
            wanted.joint_constraints.append(JointConstraint(joint_name=name, position=position))
        goal = MoveGroup.Goal()
        goal.request.allowed_planning_time, goal.request.goal_constraints = 10.0, [wanted]
        handle = answered(move.send_goal_async(goal))
        code = answered(handle.get_result_async()).result.error_code
        print(f'error_code {code.val}, {code.message}')
        answered(change.call_async(scene))
    box.operation = CollisionObject.REMOVE
    answered(change.call_async(scene))
