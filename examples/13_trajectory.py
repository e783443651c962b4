"""
A trajectory without ROS: a tool moves along a straight line, exactly, at the speed that is asked.

A path is solved for and timed; the follower plays it. Where limits are tighter than the trajectory
needs, it takes longer, on the same way; and it can be canceled at any time.

    .venv/bin/python examples/13_trajectory.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks
from ik_service.exceptions import TrajectoryError
from ik_service.motion.playback.trajectory_fit import fitted
from ik_service.motion.playback.trajectory_goal import TrajectoryGoal

RATE = 100.0  # commands a second [Hz]

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])

targets = np.repeat(chain.forward(ready)[None], 101, axis=0)  # T_base_tip of each row
targets[:, 1, 3] += np.linspace(0.0, 0.3, 101)  # 0.3 m to the left
path = iks.solve_path(chain, targets, seed=ready)
trajectory = iks.time_path(chain, path.q, cartesian_speed=0.15, acceleration_scaling=0.5)
print(f'{len(trajectory)} points, {trajectory.duration:.2f} s')


def play(velocity_scaling: float, cancel_at: float = np.inf) -> None:
    """Play the trajectory with an arm that is where it is commanded."""
    follower = iks.TargetFollower(iks.Solver(chain), rate=RATE, velocity_scaling=velocity_scaling)
    checked = fitted(trajectory, chain, ready)  # raises TrajectoryError, naming point and joint
    goal = TrajectoryGoal(checked, follower.limits, 1.0 / RATE)
    q, now, off = ready, 0.0, 0.0
    while goal.outcome is None:
        follower.set_measured(q, now)
        if now >= 0.1 and goal.progress is None:
            follower.follow_goal(goal)
        if now >= cancel_at:
            goal.cancel()
        command = follower.tick(now)
        q, now = q if command is None else command.q, now + 1.0 / RATE
        off = max(off, float(np.abs(chain.forward(q)[[0, 2], 3] - targets[0, [0, 2], 3]).max()))
    moved = chain.forward(q)[1, 3] - targets[0, 1, 3]
    print(
        f'scaling {velocity_scaling}: {now:.1f} s, {moved:.3f} m, {1e3 * off:.2f} mm off the line'
    )
    print(f'  {goal.outcome.reason}')


play(1.0)
play(0.1)
play(1.0, cancel_at=1.0)

try:
    fitted(iks.JointTrajectory(chain.joint_names, [0.1], [path.q[-1]]), chain, ready)
except TrajectoryError as error:
    print(error)
