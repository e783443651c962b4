"""
Two arms on one torso, solved together, and targets with tolerances.

    .venv/bin/python examples/09_two_arms.py
"""

from pathlib import Path

import numpy as np

import ik_service as iks

np.set_printoptions(precision=3, suppress=True)

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'upper_body.urdf')
tree = robot.tree('pelvis', ['left_grip', 'right_grip'])
print(f'{tree.n} joints, of which {sum(tree.arrays.moves.all(axis=0))} move both hands')


def pose(x: float, y: float, z: float) -> np.ndarray:
    """A hand that points ahead: its z axis to the back, its x axis up."""
    T = np.eye(4)
    T[:3, :3] = [[0, 0, -1], [0, 1, 0], [1, 0, 0]]
    T[:3, 3] = x, y, z
    return T


# Both hands in front of the chest: one solve over the joints of the torso and both arms.
left, right = pose(0.35, 0.2, 0.25), pose(0.35, -0.2, 0.25)
result = iks.solve_ik(tree, {'left_grip': left, 'right_grip': right})
print(f'two hands: {result.success}, torso at {result.q[:5]}')

# One hand where it shall be, and the other 40 cm to its right, by the pose of one in the frame of
# the other: a box held in both hands. The pair is a tip of its own.
pair = ('left_grip', 'right_grip')
holding = robot.tree('pelvis', ['left_grip', pair])
beside = np.eye(4)
beside[1, 3] = -0.4
result = iks.solve_ik(holding, {'left_grip': pose(0.3, 0.25, 0.3), pair: beside})
print(f'held box:  {result.success}, right hand at {tree.forward(result.q)["right_grip"][:3, 3]}')

# A tray: the left hand in a box of 30 × 40 × 4 cm, about level, turned as it likes about its x
# axis, the vertical. The right hand stays where it was.
level = iks.Task(
    left,
    region=iks.Box((0.04, 0.4, 0.3)),
    orientation_tolerances=(np.inf, np.radians(3), np.radians(3)),
)
result = iks.solve_ik(tree, {'left_grip': level, 'right_grip': right})
hand = tree.forward(result.q)['left_grip']
tilt = np.degrees(np.arccos(hand[2, 0]))
print(f'tray:      {result.success}, left hand at {hand[:3, 3]}, tilted by {tilt:.1f}°')
print(f'outside the tolerances by {level.violation(hand)}')

# A target out of reach: the errors are the largest of a hand.
result = iks.solve_ik(tree, {'left_grip': pose(0.35, 1.5, 0.3), 'right_grip': right})
print(result.reason)
