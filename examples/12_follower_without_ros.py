"""
A follower without ROS: an arm follows a moving target, within limits of acceleration and jerk.

The follower turns targets, which may jump, into joint commands that never do. Here a simulated
arm obeys them, and time is simulated too; on a real arm, call tick() once in a period, with the
time of a monotonic clock, and send what it returns.

    .venv/bin/python examples/12_follower_without_ros.py
"""

import math
from pathlib import Path

import numpy as np

import ik_service as iks
from ik_service.sim.simulated_arm import SimulatedArm

RATE = 100.0  # commands a second [Hz]
LIMITS = """
joint_limits:
  panda_joint1: {has_acceleration_limits: true, max_acceleration: 7.5}
  panda_joint2: {max_acceleration: 4.0, max_jerk: 100.0}
  panda_joint4: {max_acceleration: 6.0, max_jerk: 100.0}
"""

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')
bounds = iks.load_joint_limits(LIMITS)  # or the path of a joint_limits.yaml as MoveIt's
follower = iks.TargetFollower(iks.Solver(chain), bounds=bounds, rate=RATE)

ready = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
arm = SimulatedArm(robot, dict(zip(chain.joint_names, ready, strict=True)))
indices = [arm.joint_names.index(name) for name in chain.joint_names]

T = chain.forward(ready)  # T_base_tip; its orientation is kept
velocities = []
for step in range(800):
    now = step / RATE
    follower.set_measured(arm.positions[indices], now)
    angle = 2.0 * math.pi * min(now, 6.0) / 6.0  # one lap in 6 s, then it rests
    T[:3, 3] = 0.5, 0.15 * math.sin(angle), 0.45 + 0.15 * math.cos(angle)
    follower.set_target(T, at=now)  # the time tells its velocity
    command = follower.tick(now)
    if command is not None:
        arm.command(chain.joint_names, command.q.tolist(), command.velocity.tolist())
        velocities.append(command.velocity)
    arm.step(1.0 / RATE)
    if step % 100 == 99:
        tip = chain.forward(arm.positions[indices])[:3, 3]
        print(f'{now:4.2f} s: {1e3 * math.dist(tip, T[:3, 3]):5.1f} mm away, ', end='')
        print(follower.state.name)

# What the commands have used of the limits.
speed = np.array(velocities)
acceleration = np.diff(speed, axis=0, prepend=0.0) * RATE
jerk = np.diff(acceleration, axis=0, prepend=0.0) * RATE
for name in ('panda_joint1', 'panda_joint2', 'panda_joint4'):
    i = chain.joint_names.index(name)
    largest = [abs(values[:, i]).max() for values in (speed, acceleration, jerk)]
    print(f'{name}: {largest[0]:.2f} rad/s, {largest[1]:.2f} rad/s², {largest[2]:.1f} rad/s³')
