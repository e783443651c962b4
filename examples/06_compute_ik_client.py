"""
A client of the ROS 2 service `compute_ik`, as MoveIt offers it.

Beside `make demo` or `ros2 launch ik_service demo.launch.py`, in the same ROS domain, it asks
the node that runs there; otherwise it starts one of its own, for the Panda.

    .venv/bin/python examples/06_compute_ik_client.py
"""

from contextlib import ExitStack
import os
from pathlib import Path
import sys

from ik_service.common.child_process import ChildProcess

try:
    from moveit_msgs.srv import GetPositionIK
    import rclpy
except ImportError as error:
    sys.exit(f'This example needs ROS 2 ({error}): run "make env", or source an installation')

PANDA = Path(__file__).parents[1] / 'urdf' / 'panda.urdf'
NODE = ['--ros-args', '-p', f'urdf:={PANDA}', '-p', 'tip_link:=panda_hand_tcp']


def request(x: float, y: float, z: float) -> GetPositionIK.Request:
    """The tool at (x, y, z) [m] in the frame of the robot's base, pointing down."""
    question = GetPositionIK.Request()
    pose = question.ik_request.pose_stamped
    pose.header.frame_id = 'panda_link0'
    pose.pose.position.x, pose.pose.position.y, pose.pose.position.z = x, y, z
    pose.pose.orientation.x, pose.pose.orientation.w = 1.0, 0.0
    question.ik_request.timeout.sec = 10  # it takes milliseconds; a busy machine may stall
    return question


os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
with ExitStack() as stack:
    rclpy.init()
    stack.callback(rclpy.try_shutdown)
    node = rclpy.create_node('compute_ik_client')
    client = node.create_client(GetPositionIK, 'compute_ik')
    if not client.wait_for_service(2.0):
        print('No compute_ik here: starting an IK node (the first start compiles, some 20 s)')
        child = ChildProcess('the IK node', 'ik_service.ros.node.main', NODE)
        stack.enter_context(child).wait_for('ready', timeout=300.0)
        client.wait_for_service(60.0)

    for position in ((0.4, 0.1, 0.5), (0.5, -0.3, 0.2), (0.9, 0.0, 0.9)):
        future = client.call_async(request(*position))
        rclpy.spin_until_future_complete(node, future, timeout_sec=60.0)
        if not future.done():
            sys.exit('compute_ik did not answer')
        answer = future.result()
        print(f'\n{position}: error_code {answer.error_code.val}, {answer.error_code.message}')
        state = answer.solution.joint_state
        for name, value in zip(state.name, state.position, strict=True):
            print(f'    {name:20} {value:8.4f}')
