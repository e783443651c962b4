"""Start posture and targets of the demo, for any arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

import numpy as np

from ik_service.cli.formatting import number_text
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.joint import JointType
from ik_service.robot import Robot

Reaches = Callable[[np.ndarray], bool]

_BEND = 0.4  # of rotary joints [rad]
_SLIDE = 0.25  # of prismatic joints, in metres where rotary ones turn a radian
_SMALLEST_SHARE = 1 / 16  # of the motions that are tried first

_READY = 'ready'  # named state from which arms can move in all directions

# The UR's elbow-up with the tool down; its named states are stretched out.
_ELBOW_UP = {
    'shoulder_pan_joint': 0.0,
    'shoulder_lift_joint': -math.pi / 2,
    'elbow_joint': math.pi / 2,
    'wrist_1_joint': -math.pi / 2,
    'wrist_2_joint': -math.pi / 2,
    'wrist_3_joint': 0.0,
}


@dataclass(frozen=True)
class Stop:
    """Target with a name, and its pose (4, 4) T_base_tip."""

    name: str
    T_base_tip: np.ndarray


@dataclass(frozen=True)
class Obstacle:
    """
    Box between two poses.

    :ivar T_base_box: (4, 4) pose of its middle [m].
    :ivar size: along its axes [m].
    """

    T_base_box: np.ndarray
    size: tuple[float, float, float]

    def narrowed(self, share: float) -> Obstacle:
        """Return a box of the same height in the same place."""
        x, y, z = self.size
        return Obstacle(self.T_base_box, (share * x, share * y, z))

    def __str__(self) -> str:
        size = ' × '.join(f'{1e3 * length:.0f}' for length in self.size)
        x, y, z = (number_text(value, 3) for value in self.T_base_box[:3, 3])
        return f'{size} mm at x {x}  y {y}  z {z} m'


def box_between(first: np.ndarray, second: np.ndarray) -> Obstacle:
    """
    Return an upright box in the middle between two poses, which a tip has to go around.

    It stands on the ground of the base where the poses are above it.

    :param first: (4, 4) T_base_tip.
    :param second: (4, 4) T_base_tip, at another place.
    """
    between = second[:3, 3] - first[:3, 3]
    apart = float(np.linalg.norm(between))
    across = _unit(np.array([between[0], between[1], 0.0]), otherwise=(0.0, 1.0, 0.0))
    T = np.eye(4)
    T[:3, :3] = np.column_stack([(across[1], -across[0], 0.0), across, (0.0, 0.0, 1.0)])
    T[:3, 3] = 0.5 * (first[:3, 3] + second[:3, 3])
    top, bottom = T[2, 3] + 0.35 * apart, min(0.0, T[2, 3] - 0.35 * apart)
    T[2, 3] = 0.5 * (top + bottom)
    return Obstacle(T, (0.5 * apart, 0.2 * apart, top - bottom))


def start_posture(chain: KinematicChain) -> np.ndarray:
    """
    Return a posture from which an arm can move in all directions.

    :returns: (n,) [rad] or [m]: the state ``ready`` of a planning group or another known posture,
        or else the middle of the limits with all rotary joints bent a little, since many arms are
        stretched out in the middle.
    """
    bent = chain.mid_range() + np.where(_slides(chain), 0.0, _BEND)
    states = chain.robot.named_states(chain.joint_names) if isinstance(chain.robot, Robot) else {}
    known = states.get(_READY, {})
    if not known and all(name in _ELBOW_UP for name in chain.joint_names):
        known = _ELBOW_UP
    q = chain.joint_vector(known, default=bent)
    return np.clip(q, chain.lower, chain.upper)


def square(T_start: np.ndarray, reaches: Reaches) -> tuple[str, list[Stop]] | None:
    """
    Return the corners of a square around a pose, and that pose again.

    :param T_start: (4, 4) T_base_tip in the middle of the square.
    :returns: a description and the poses: in the upright plane across the arm's direction where
        that can be reached, else flat; as large as can be reached. None when none can.
    """
    across = _unit(np.array([-T_start[1, 3], T_start[0, 3], 0.0]), otherwise=(0.0, 1.0, 0.0))
    ahead = np.array([across[1], -across[0], 0.0])
    half = 0.3 * float(np.linalg.norm(T_start[:3, 3]))
    share = 1.0
    while share >= _SMALLEST_SHARE:
        for plane, second in (('upright', np.array([0.0, 0.0, 1.0])), ('flat', ahead)):
            stops = _corners(T_start, half * share * across, half * share * second)
            if all(reaches(stop.T_base_tip) for stop in stops):
                size = 2e3 * half * share
                return f'the corners of a square, {plane}, {size:.0f} mm wide', stops
        share /= 2
    return None


def postures(chain: KinematicChain, q_start: np.ndarray) -> tuple[str, list[Stop]]:
    """Return poses that any arm reaches: those of postures around q_start (n,)."""
    stops = []
    for number in range(4):
        bend = np.where(np.arange(chain.n) % 4 == number, _BEND, -_BEND / 4)
        bend = np.where(_slides(chain), bend * _SLIDE, bend)
        q = np.clip(q_start + bend, chain.lower, chain.upper)
        stops.append(Stop(f'posture {number + 1}', chain.forward(q)))
    stops.append(Stop('start', chain.forward(q_start)))
    return 'the poses of four postures', stops


def out_of_reach(chain: KinematicChain, T_start: np.ndarray) -> np.ndarray | None:
    """
    Return a pose in the direction of another, further away than the arm is long.

    :param T_start: (4, 4) the other pose, T_base_tip.
    :returns: (4, 4); None for an arm whose reach is infinite, such as on a rail without limits.
    """
    first_joint, length = chain.arrays.reach[:3], float(chain.arrays.reach[3])
    if not math.isfinite(length):
        return None
    T = T_start.copy()
    direction = _unit(T[:3, 3] - first_joint, otherwise=(1.0, 0.0, 0.0))
    T[:3, 3] = first_joint + 1.5 * length * direction
    return T


def _slides(chain: KinematicChain) -> np.ndarray:
    """Return which of the joints are prismatic, (n,)."""
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    return np.array([kind is JointType.PRISMATIC for kind in kinds])


def _corners(T_start: np.ndarray, across: np.ndarray, second: np.ndarray) -> list[Stop]:
    stops = []
    for number, (u, v) in enumerate(((1, -1), (1, 1), (-1, 1), (-1, -1)), start=1):
        T = T_start.copy()
        T[:3, 3] += u * across + v * second
        stops.append(Stop(f'corner {number}', T))
    stops.append(Stop('middle', T_start))
    return stops


def _unit(vector: np.ndarray, otherwise: tuple[float, float, float]) -> np.ndarray:
    length = float(np.linalg.norm(vector))
    return vector / length if length > 1e-6 else np.array(otherwise)
