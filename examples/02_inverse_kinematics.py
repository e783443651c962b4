"""
Inverse kinematics: which joint positions put the tool here?

    .venv/bin/python examples/02_inverse_kinematics.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

np.set_printoptions(precision=3, suppress=True)

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')

# The target: 40 cm ahead, 10 cm to the left, 50 cm up, with the tool pointing down.
target = np.array(
    [
        [1.0, 0.0, 0.0, 0.4],
        [0.0, -1.0, 0.0, 0.1],
        [0.0, 0.0, -1.0, 0.5],
        [0.0, 0.0, 0.0, 1.0],
    ]
)

# The search starts at the seed: usually where the arm is now. Here, the middle of the limits.
result = iks.solve_ik(chain, target, seed=chain.mid_range())
print(f'Solved: {result.success}\nq:      {result.q}\nreason: {result.reason}')

# Success means that forward kinematics of the answer is the target. Look for yourself:
error = np.abs(chain.forward(result.q) - target).max()
print(f'Largest difference to the target: {error:.0e}')

# An arm with more than six joints reaches a pose in many ways. The seed decides which is found;
# prefer='nearest' searches on for the one that is nearest to the seed.
ready = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
nearest = iks.solve_ik(chain, target, seed=ready, options=iks.IkOptions(prefer='nearest'))
print(f'\nNearest to the ready posture: {nearest.q}')
print(f'Largest motion of a joint:    {np.abs(nearest.q - ready).max():.2f} rad')

# A target out of reach is no exception. The result says so, and has the closest pose found.
target[2, 3] = 2.0
result = iks.solve_ik(chain, target)
print(f'\nTwo metres up: {result.status.name}\n{result.reason}')

# For many calls, prepare a solver once. There are several methods; the default is the fastest.
target[2, 3] = 0.5
print()
for name in iks.solver_names():
    solver = iks.Solver(chain, solver=name)
    solver.warm_up()  # compiles it on this machine, once; later runs load it from the cache
    print(f'{name:20} {solver.solve(target, ready).reason}')
