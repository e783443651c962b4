"""
A motion around a box, planned, timed and checked, without ROS.

    .venv/bin/pip install 'ik_service[plan]'
    .venv/bin/python examples/16_motion_plan.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')
checker = iks.CollisionChecker(robot)
T_box = np.eye(4)
T_box[:3, 3] = 0.45, 0.0, 0.3
checker.add('box', iks.Box((0.4, 0.1, 0.6)), T_box)

left = np.array([0.7, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
right = chain.forward([-0.7, *left[1:]])  # a pose; the plan chooses the posture
print(iks.plan_motion(chain, left, right, collisions=checker, pipeline='ptp').reason)

plan = iks.plan_motion(chain, left, right, collisions=checker, timeout=10.0)
print(plan.reason)
trajectory = plan.trajectory
print(f'{len(plan.path)} corners, {trajectory.duration:.2f} s')
path = [trajectory.at(t)[0] for t in np.linspace(0.0, trajectory.duration, 1000)]
print('collisions on the way:', sum(map(checker.in_collision, path)))
print('highest point of the tool:', f'{max(chain.forward(q)[2, 3] for q in path):.2f} m')

# Inside the box there is nowhere to go.
inside = right.copy()
inside[:3, 3] = T_box[:3, 3]
print(iks.plan_motion(chain, left, inside, collisions=checker, timeout=10.0).reason)
