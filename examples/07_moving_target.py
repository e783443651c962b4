"""
Following a moving target: the tool draws a circle, and we watch how close to the target it stays.

The IK node turns targets into joint commands; a simulated arm obeys them. Beside a launch in the
same ROS domain this program uses what runs there, otherwise it starts both.

    .venv/bin/python examples/07_moving_target.py
"""

from collections import deque
from contextlib import ExitStack
import math
import os
from pathlib import Path
import sys
import time

from ik_service import Robot
from ik_service.common.child_process import ChildProcess

try:
    from geometry_msgs.msg import PoseStamped
    import rclpy
    from sensor_msgs.msg import JointState
except ImportError as error:
    sys.exit(f'This example needs ROS 2 ({error}): run "make env", or source an installation')

URDF = Path(__file__).parents[1] / 'urdf' / 'panda.urdf'
ROBOT = ['--ros-args', '-p', f'urdf:={URDF}', '-p', 'tip_link:=panda_hand_tcp']
chain = Robot.from_urdf(URDF).chain('panda_link0', 'panda_hand_tcp')
target = PoseStamped()
target.header.frame_id = 'panda_link0'
target.pose.orientation.x, target.pose.orientation.w = 1.0, 0.0  # the tool points down

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
rclpy.init()
node = rclpy.create_node('moving_target')
publisher = node.create_publisher(PoseStamped, 'target_pose', 1)
states: deque[JointState] = deque(maxlen=1)  # the newest one
node.create_subscription(JointState, 'joint_states', lambda state: states.append(state), 1)
time.sleep(2.0)  # discovery takes a moment
with ExitStack() as children:
    if not publisher.get_subscription_count():
        print('No IK node here: starting one, and a simulated arm (the first start compiles)')
        for name, options in (('node', ROBOT), ('sim', ROBOT[:3])):
            child = ChildProcess(name, f'ik_service.ros.{name}.main', options)
            children.enter_context(child).wait_for('ready', timeout=300.0)
    began, printed = time.monotonic(), 0.0
    while (seconds := time.monotonic() - began) < 7.0:
        angle = 2.0 * math.pi * seconds / 6.0  # 6 s a lap
        place = [0.5, 0.15 * math.sin(angle), 0.45 + 0.15 * math.cos(angle)]
        target.pose.position.x, target.pose.position.y, target.pose.position.z = place
        publisher.publish(target)
        rclpy.spin_once(node, timeout_sec=0.01)
        if states and seconds >= printed:
            q = dict(zip(states[0].name, states[0].position, strict=True))
            tip = chain.forward([q[name] for name in chain.joint_names])[:3, 3]
            print(f'{seconds:4.1f} s: the tool is {1e3 * math.dist(tip, place):5.1f} mm away')
            printed = seconds + 1.0
