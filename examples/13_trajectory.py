"""
A trajectory without ROS: a tool moves along a straight line, exactly, at the speed that is asked.

A path is solved for and timed; the follower plays it. Where limits are tighter than the trajectory
needs, it takes longer on the same line; it can be canceled at any time.

    .venv/bin/python examples/13_trajectory.py
"""

from pathlib import Path
import sys

import numpy as np

import ik_service as iks
from ik_service.exceptions import TrajectoryError
from ik_service.motion.playback import fitted, TrajectoryGoal

RATE = 100.0  # commands a second [Hz]

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])

targets = np.repeat(chain.forward(ready)[None], 101, axis=0)  # T_base_tip of each row
targets[:, 1, 3] += np.linspace(0.0, 0.3, 101)  # 0.3 m to the left
path = iks.solve_path(chain, targets, seed=ready)
trajectory = iks.time_path(chain, path.q, cartesian_speed=0.15, acceleration_scaling=0.5)
print(f'The tool moves 0.3 m to the left in {trajectory.duration:.2f} s, at no more than 0.15 m/s')


def play(title: str, velocity_scaling: float, cancel_at: float = np.inf) -> np.ndarray:
    """Play the trajectory on an arm that is where it is commanded; return times and tool's y."""
    follower = iks.TargetFollower(iks.Solver(chain), rate=RATE, velocity_scaling=velocity_scaling)
    checked = fitted(trajectory, chain, ready)  # raises TrajectoryError, naming point and joint
    goal = TrajectoryGoal(checked, follower.limits, 1.0 / RATE)
    follower.set_measured(ready, 0.0)
    follower.follow_goal(goal)
    q, now, rows = ready, 0.0, []
    while goal.outcome is None:
        follower.set_measured(q, now)
        if now >= cancel_at:
            goal.cancel()
        command = follower.tick(now)
        q, now = q if command is None else command.q, now + 1.0 / RATE
        rows.append([now, *(chain.forward(q)[:3, 3] - targets[0, :3, 3])])
    time, x, y, z = np.transpose(rows)
    off = 1e3 * np.abs([x, z]).max()
    print(f'{title}: {y[-1]:.3f} m in {now:.1f} s, at most {off:.2f} mm off the line')
    print(f'  {goal.outcome.reason}')
    return np.array([time, y])


titles = 'joints at full speed', 'joints at 10 % of their speed', 'canceled after 1 s'
runs = play(titles[0], 1.0), play(titles[1], 0.1), play(titles[2], 1.0, cancel_at=1.0)

try:
    fitted(iks.JointTrajectory(chain.joint_names, [0.1], [path.q[-1]]), chain, ready)
except TrajectoryError as error:
    print(f'the same motion in 0.1 s is refused: {error}')

try:
    from matplotlib import pyplot as plt
except ImportError as error:
    sys.exit(f"No picture ({error}): pip install 'ik_service[plot]'")
figure, axes = plt.subplots(figsize=(7, 3.6), layout='constrained')
for title, (time, y) in zip(titles, runs, strict=True):
    axes.plot(time, y, label=title)
axes.set(xlabel='time [s]', ylabel='tool to the left [m]', title='One trajectory, played')
axes.legend()
figure.savefig('13_trajectory.png', dpi=120)
print('The picture is in 13_trajectory.png')
