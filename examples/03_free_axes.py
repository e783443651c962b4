"""
Position only, and free axes: asking for less than a full pose.

    .venv/bin/python examples/03_free_axes.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

np.set_printoptions(precision=3, suppress=True)

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])

# The tool points down, 60 cm ahead and 30 cm to the left, turned by 3.4 rad about the vertical.
turn = 3.4
target = np.eye(4)
target[:3, :3] = [
    [np.cos(turn), np.sin(turn), 0.0],
    [np.sin(turn), -np.cos(turn), 0.0],
    [0.0, 0.0, -1.0],
]
target[:3, 3] = 0.6, 0.3, 0.2

# task_weights has six numbers: position along x, y, z and rotation about x, y, z of the base
# frame. Zero frees an axis: the solver does not care about it, and neither does success.
TASKS = {
    'full pose': (1, 1, 1, 1, 1, 1),
    'any turn about the vertical': (1, 1, 1, 1, 1, 0),
    'position only': (1, 1, 1, 0, 0, 0),
    'height only': (0, 0, 1, 0, 0, 0),
}

print('task                         solved  position [m]           tilt  turn [°]  motion [rad]')
for what, weights in TASKS.items():
    options = iks.IkOptions(task_weights=weights)
    result = iks.solve_ik(chain, target, ready, options=options)
    T = chain.forward(result.q)
    # What the axes that were left free have become:
    tilt = np.degrees(np.arccos(np.clip(-T[2, 2], -1.0, 1.0)))
    turned = np.degrees(np.arctan2(T[1, 0], T[0, 0])) % 360
    motion = np.abs(result.q - ready).max()
    place = str(T[:3, 3])
    print(f'{what:28} {result.success!s:6}  {place:22} {tilt:4.0f}  {turned:8.0f}  {motion:12.2f}')

# The fewer axes count, the less the arm has to move, and the more targets it can reach.
target[0, 3] = 0.8
print('\n20 cm farther:')
for what, weights in TASKS.items():
    options = iks.IkOptions(task_weights=weights)
    print(f'{what:28} {iks.solve_ik(chain, target, ready, options=options).reason}')
