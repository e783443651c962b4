"""
Forward kinematics: where is the tool, and how does it move?

Run it from the checkout, once `make env` has made the environment; ROS 2 is not needed:

    .venv/bin/python examples/01_forward_kinematics.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

np.set_printoptions(precision=3, suppress=True)

# A robot is read from a URDF. This one is a Franka Emika Panda: 7 joints and a gripper.
robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')

# A chain is what lies between two of its links. Poses are those of the tip, seen from the base.
chain = robot.chain('panda_link0', 'panda_hand_tcp')

print('name            lower    upper  [rad]   speed [rad/s]')
for name, lower, upper, speed in zip(
    chain.joint_names, chain.lower, chain.upper, chain.velocity, strict=True
):
    print(f'{name}  {lower:7.3f}  {upper:7.3f}        {speed:8.3f}')

# A joint vector q holds a number for each joint, in the order of chain.joint_names.
q = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])

# The pose is a (4, 4) matrix: rotation on the left, position [m] on the right.
T_base_tip = chain.forward(q)
print('\nPose of the tool at q:')
print(T_base_tip)

# The Jacobian says how the tool moves when the joints do. It is (6, n): three rows for the linear
# velocity [m/s], three for the angular one [rad/s], both in the base frame.
J = chain.jacobian(q)
print('\nJacobian:')
print(J)

# Do not take its word for it: move the joints a little, and compare.
dq = 1e-6 * np.arange(1, 8)
moved = chain.forward(q + dq)[:3, 3] - T_base_tip[:3, 3]
print(f'\nThe tool moves by   {1e6 * moved} µm')
print(f'the Jacobian says   {1e6 * J[:3] @ dq} µm')

# In a singular posture, such as the stretched arm, the tool cannot move in every direction.
for what, posture in (('q', q), ('the stretched arm', np.zeros(7))):
    smallest = np.linalg.svd(chain.jacobian(posture))[1][-1]
    print(f'Smallest singular value of the Jacobian at {what}: {smallest:.3f}')
