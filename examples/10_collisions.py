"""
Solutions that are free of collisions: of the robot with itself, and with objects around it.

    .venv/bin/pip install 'ik_service[collision]'
    .venv/bin/python examples/10_collisions.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')

# The checker knows the collision shapes of the robot, and the world; poses are in the frame of the
# robot's root link.
checker = iks.CollisionChecker(robot)


def at(x: float, y: float, z: float) -> np.ndarray:
    """A pose without a turn."""
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


checker.add('table', iks.Box((0.8, 1.2, 0.04)), at(0.75, 0.0, 0.2))
checker.add('post', iks.Cylinder(0.04, 1.2), at(0.3, 0.25, 0.6))

# Tool down on a grid above the table: how many of the plain solutions collide?
targets = []
for x in np.linspace(0.4, 0.75, 8):
    for y in np.linspace(-0.4, 0.4, 17):
        targets.append(at(x, y, 0.35) @ np.diag([1.0, -1.0, -1.0, 1.0]))
plain = iks.solve_ik_batch(chain, targets)
print(f'without a test: {plain.success.sum()} of {len(targets)} solved, ', end='')
print(f'{sum(map(checker.in_collision, plain.q))} of these postures collide')

# The same, free of collisions. Where only colliding solutions are found, the answer says which
# bodies are in each other's way.
free = iks.solve_ik_batch(chain, targets, collisions=checker)
print(f'with a test:    {free.success.sum()} solved, ', end='')
print(f'{sum(map(checker.in_collision, free.q[free.success]))} collide')

# One target inside the table.
below = at(0.6, 0.0, 0.2) @ np.diag([1.0, -1.0, -1.0, 1.0])
result = iks.solve_ik(chain, below, collisions=checker)
print(result.status.name, result.collision)

# What the hand holds moves with it, and may touch it.
holding = at(0.6, 0.0, 0.35) @ np.diag([1.0, -1.0, -1.0, 1.0])
touching = ['panda_hand', 'panda_leftfinger', 'panda_rightfinger']
for length in 0.2, 0.4:
    checker.attach('rod', iks.Cylinder(0.01, length), 'panda_hand_tcp', touching)
    print(f'rod of {length} m:', iks.solve_ik(chain, holding, collisions=checker).status.name)
