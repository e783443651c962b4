"""
Your own robot: what a URDF has to say, and what is asked of you.

    .venv/bin/python examples/05_your_own_robot.py
    .venv/bin/python examples/05_your_own_robot.py ~/arm.urdf base_link tool0
"""

from pathlib import Path
import sys

import numpy as np

import ik_service as iks
from ik_service.exceptions import IkServiceError

np.set_printoptions(precision=3, suppress=True)

# A path, or the XML itself. Links, joints and limits are read; meshes and masses do not matter.
MY_ARM = Path(__file__).with_name('my_arm.urdf')
urdf = sys.argv[1] if len(sys.argv) > 1 else MY_ARM
try:
    robot = iks.Robot.from_urdf(urdf)
    # A chain runs from the root to the tool, unless you name its ends.
    chain = robot.chain(*sys.argv[2:4])
except IkServiceError as error:  # it names what is wrong
    sys.exit(str(error))
print(f'{robot}\nroot: {robot.root_link}, leaves: {", ".join(robot.leaves)}')
for name in robot.movable_joint_names:
    joint = robot.joints[name]
    print(f'  {name:12} {joint.type.value:10} {joint.parent} → {joint.child}')

print(f'\n{chain}')

# A target that can be reached, because the joints are known; then the search for them.
rng = np.random.default_rng(1)
unlimited = ~np.isfinite(chain.upper - chain.lower)
q = rng.uniform(np.where(unlimited, -3.0, chain.lower), np.where(unlimited, 3.0, chain.upper))
result = iks.solve_ik(chain, chain.forward(q))
print(f'asked at {q}\nfound    {result.q}\n{result.reason}')

# An arm with fewer than six joints reaches few full poses. Free the axes that it cannot turn
# about: this one keeps its tool upright, so only x, y, z and the turn about z can be asked for.
if chain.n < 6:
    weights = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 1))
    tilted = chain.forward(q) @ np.diag([1.0, -1.0, -1.0, 1.0])
    print(f'\ntool up, full pose:  {iks.solve_ik(chain, tilted).reason}')
    print(f'tool up, tilt free:  {iks.solve_ik(chain, tilted, options=weights).reason}')

# A joint can be locked, for instance the torso of a larger robot: a chain of the others remains.
first, *others = chain.joint_names
if others:
    locked = robot.chain(chain.base_link, chain.tip_link, locked={first: float(q[0])})
    print(f'\nwith {first} locked: {", ".join(locked.joint_names)}')

# A xacro file is expanded before it is read, and its arguments can be set (pip install xacro).
try:
    longer = iks.Robot.from_urdf(f'{MY_ARM}.xacro', {'forearm': 0.5}).chain()
    print(f'my_arm reaches {longer.forward(np.zeros(4))[0, 3]:.2f} m with a longer forearm')
    robot.chain(tip_link='hand')  # there is none, and the error lists those that there are
except IkServiceError as error:
    print(f'{type(error).__name__}: {error}')
