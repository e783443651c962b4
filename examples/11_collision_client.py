"""
A client with a box in the way of the arm: first at its elbow, then at its hand.

    .venv/bin/python examples/11_collision_client.py
"""

from contextlib import ExitStack
import os
from pathlib import Path
import sys
import threading

from ik_service.common.child_process import ChildProcess

try:
    from moveit_msgs.msg import CollisionObject
    from moveit_msgs.srv import GetPositionFK, GetPositionIK, GetStateValidity
    import rclpy
    from rclpy.signals import SignalHandlerOptions
    from shape_msgs.msg import SolidPrimitive
except ImportError as error:
    sys.exit(f'This example needs ROS 2 ({error}): run "make env", or source an installation')

PANDA = Path(__file__).parents[1] / 'urdf' / 'panda.urdf'
NODE = ['--ros-args', '-p', f'urdf:={PANDA}', '-p', 'tip_link:=panda_hand_tcp']

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
with ExitStack() as stack:
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)  # signals end this, not ROS
    node = rclpy.create_node('collision_client')
    spinning = threading.Thread(target=rclpy.spin, args=[node])
    spinning.start()
    stack.callback(spinning.join)
    stack.callback(rclpy.try_shutdown)
    compute_ik = node.create_client(GetPositionIK, 'compute_ik')
    compute_fk = node.create_client(GetPositionFK, 'compute_fk')
    check = node.create_client(GetStateValidity, 'check_state_validity')
    world = node.create_publisher(CollisionObject, 'collision_object', 10)
    if not compute_ik.wait_for_service(5.0):  # not beside `make demo`: a node for the Panda
        child = ChildProcess('the IK node', 'ik_service.ros.node.main', NODE)
        stack.enter_context(child).wait_for('ready', timeout=300.0)
    for client in (compute_ik, compute_fk, check):
        client.wait_for_service(60.0)
    request = GetPositionIK.Request()
    request.ik_request.avoid_collisions, request.ik_request.timeout.sec = True, 5
    tool = request.ik_request.pose_stamped.pose  # pointing down
    tool.position.x, tool.position.y, tool.position.z = 0.4, 0.1, 0.5
    tool.orientation.x, tool.orientation.w = 1.0, 0.0
    box = CollisionObject(id='box')
    box.primitives = [SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[0.2, 0.2, 0.2])]

    for link in ('panda_link4', 'panda_hand', None):
        found = compute_ik.call(request)
        print(f'compute_ik: error_code {found.error_code.val}, {found.error_code.message}')
        if link:
            state = GetStateValidity.Request(robot_state=found.solution)
            place = GetPositionFK.Request(fk_link_names=[link], robot_state=found.solution)
            where = compute_fk.call(place).pose_stamped[0]
            box.header, box.pose = where.header, where.pose
            while (seen := check.call(state)).valid:
                world.publish(box)
            print('box touches', sorted({at.contact_body_1 for at in seen.contacts}))
    box.operation = CollisionObject.REMOVE
    while not check.call(state).valid:
        world.publish(box)
