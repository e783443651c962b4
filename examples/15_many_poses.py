"""
Many poses in a few calls of a node: answers in order as they come, seeds, cancellation.

Asks the node that runs in this ROS domain, such as that of `make demo`, or starts one.

    .venv/bin/python examples/15_many_poses.py
"""

from contextlib import ExitStack
import os
from pathlib import Path
import sys
import time

import numpy as np

import ik_service as iks
from ik_service.common.child_process import ChildProcess

try:
    from moveit_msgs.srv import GetCartesianPath
    import rclpy

    from ik_service.ros.clients import BatchCancelledError, IkClient
except ImportError as error:
    sys.exit(f'This example needs ROS 2 ({error}): run "make env", or source an installation')

PANDA = Path(__file__).parents[1] / 'urdf' / 'panda.urdf'
NODE = ['--ros-args', '-p', f'urdf:={PANDA}', '-p', 'tip_link:=panda_hand_tcp']

chain = iks.Robot.from_urdf(PANDA).chain('panda_link0', 'panda_hand_tcp')
rng = np.random.default_rng(1)
poses = np.array([chain.forward(q) for q in rng.uniform(chain.lower, chain.upper, (5000, 7))])
poses[1, 2, 3] = 3.0  # out of reach
poses[2, 0, 3] = np.nan

os.environ.setdefault('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
with ExitStack() as stack:
    rclpy.init()
    stack.callback(rclpy.try_shutdown)
    node = rclpy.create_node('many_poses')
    if not node.create_client(GetCartesianPath, 'compute_ik_batch').wait_for_service(2.0):
        child = ChildProcess('the IK node', 'ik_service.ros.node.main', NODE)
        stack.enter_context(child).wait_for('compute_ik_batch is offered', timeout=300.0)
    client = stack.enter_context(IkClient(node))  # nobody has to spin the node for it

    began = time.perf_counter()
    batch = client.solve(poses, link='panda_hand_tcp', frame='panda_link0')
    for answer in batch:  # in order, while the others are still solved
        if answer.row < 4:
            print(f'pose {answer.row}: {answer.error_code:3} {answer.message}'.rstrip())
    seconds = time.perf_counter() - began
    print(f'{batch.success.sum()} of {len(batch)} solved in {seconds:.2f} s')
    print(', '.join(batch.joint_names))

    solved = batch.success
    again = client.solve(poses[solved], batch.q[solved], batch.joint_names).result()
    print(f'from their solutions: moved by {np.abs(again.q - batch.q[solved]).max():.0f} rad')

    (batch := client.solve(poses)).cancel()
    try:
        batch.result()
    except BatchCancelledError as error:
        print(error)
