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
    if not node.create_client(GetCartesianPath, 'compute_ik_batch').wait_for_service(5.0):
        child = ChildProcess('the IK node', 'ik_service.ros.node.main', NODE)
        stack.enter_context(child).wait_for('compute_ik_batch is offered', timeout=300.0)
    client = stack.enter_context(IkClient(node))  # nobody has to spin the node for it

    began, times = time.perf_counter(), []
    batch = client.solve(poses, link='panda_hand_tcp', frame='panda_link0')
    for answer in batch:  # in order, while the others are still solved
        times.append(time.perf_counter() - began)
        if answer.row < 4:
            text = answer.message or 'solved'
            print(f'pose {answer.row}: error code {answer.error_code}: {text}')
    print(f'{batch.success.sum()} of {len(batch)} poses solved in {times[-1]:.2f} s')
    print(f'joints of each answer: {", ".join(batch.joint_names)}')

    solved = batch.success
    again = client.solve(poses[solved], batch.q[solved], batch.joint_names).result()
    moved = np.abs(again.q - batch.q[solved]).max()
    print(f'solved again from these solutions, no joint moved by more than {moved:.0f} rad')

    (batch := client.solve(poses)).cancel()
    try:
        batch.result()
    except BatchCancelledError as error:
        print(f'the next batch is cancelled at once: {error}')

try:
    from matplotlib import pyplot as plt
except ImportError as error:
    sys.exit(f"No picture ({error}): pip install 'ik_service[plot]'")
figure, axes = plt.subplots(figsize=(7, 3.6), layout='constrained')
axes.plot(times, np.arange(1, len(times) + 1))
axes.set(xlabel='time since the request [s]', ylabel='answers', title='Answers as they come')
figure.savefig('15_many_poses.png', dpi=120)
print('The picture is in 15_many_poses.png')
