"""
Variables of a chain or a tree: the joints that move it, their limits and speeds.

Converters of robot descriptions write ±999999, ±1e16 or the largest number there is for a joint
without limits. Postures drawn from such a range start searches uselessly far away, its middle
means nothing, and the numbers in it are as coarse as the tolerance of a solution. Such a limit
counts as none wherever postures are drawn or a range is measured; whether a posture is within the
limits is judged by the limits as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError, UnknownJointError
from ik_service.model.joint import Joint, JointType
from ik_service.model.robot_model import RobotModel

FARTHEST_LIMIT = 200.0
"""
Limit beyond which there is none [rad] or [m]: no rail that carries an arm is longer, and nothing
is reached by 32 turns that one does not reach. An arm on a rail of this length needs 1.5 times the
searches that it needs on one of 3 m, and on one of ten times the length 2.5 times.
"""
SPREAD = np.pi  # distance from 0 to which postures of joints without limits are drawn [rad] or [m]
FAR = 1e6
"""Farther out [rad], an angle that is added to another loses more than 1e-10 rad by rounding."""


def search_limits(lower: ArrayLike, upper: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """
    Return limits as the ends of ranges.

    :param lower: (n,) lower limits [rad] or [m].
    :param upper: (n,) upper limits.
    :returns: (n,) lower and (n,) upper ends; −inf and inf where there is none.
    """
    low, high = np.asarray(lower, np.float64), np.asarray(upper, np.float64)
    return (
        np.where(low >= -FARTHEST_LIMIT, low, -np.inf),
        np.where(high <= FARTHEST_LIMIT, high, np.inf),
    )


def sampling_bounds(
    lower: ArrayLike, upper: ArrayLike, spread: ArrayLike = SPREAD
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return finite bounds from which postures can be drawn.

    :param lower: (n,) lower limits [rad] or [m].
    :param upper: (n,) upper limits.
    :param spread: distance of the bounds from 0 where there is no limit, or from the limit where 0
        lies beyond it; a number, or (n,).
    :returns: (n,) lower and (n,) upper bounds, within the limits.
    """
    low, high = search_limits(lower, upper)
    return (
        np.maximum(lower, np.where(np.isfinite(low), low, np.minimum(high, 0.0) - spread)),
        np.minimum(upper, np.where(np.isfinite(high), high, np.maximum(low, 0.0) + spread)),
    )


class JointSpace:
    """
    Variables that move a chain or a tree.

    :ivar n: number of variables.
    :ivar joint_names: their names, base to tip.
    :ivar lower: (n,) lower limits [rad] or [m]; −inf where unlimited.
    :ivar upper: (n,) upper limits; inf where unlimited.
    :ivar middle: (n,) as :meth:`mid_range` returns it.
    :ivar velocity: (n,) largest speeds [rad/s] or [m/s]; inf where unlimited.
    :ivar locked: positions of the joints that were locked [rad] or [m].
    """

    _compiled: frozenset[str] = frozenset()
    robot: RobotModel
    n: int
    joint_names: tuple[str, ...]
    lower: np.ndarray
    upper: np.ndarray
    middle: np.ndarray
    velocity: np.ndarray
    arrays: Any
    locked: dict[str, float]

    def __init__(
        self,
        robot: RobotModel,
        joint_names: Sequence[str],
        lower: np.ndarray,
        upper: np.ndarray,
        velocity: np.ndarray,
    ) -> None:
        """
        Take joints of a robot as variables.

        :param lower: (n,) lower limits [rad] or [m].
        :param upper: (n,) upper limits.
        :param velocity: (n,) largest speeds [rad/s] or [m/s].
        :raises ChainError: naming the joint to which no position is left.
        """
        self.robot, self.joint_names = robot, tuple(joint_names)
        self.n = len(self.joint_names)
        self._set_limits(lower, upper)
        self.velocity = frozen(velocity)

    @property
    def joints(self) -> list[Joint]:
        """The joints that the variables are the positions of, in their order."""
        return [self.robot.joints[name] for name in self.joint_names]

    def mid_range(self) -> np.ndarray:
        """
        Return the posture in the middle of the limits.

        :returns: (n,) [rad] or [m]; joints whose limits are beyond
            :data:`FARTHEST_LIMIT` are at 0, or at the limit they do have if 0 lies beyond it.
        """
        return self.middle.copy()

    def search_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return the limits as the ends of ranges.

        :returns: (n,) lower and (n,) upper ends [rad] or [m]; −inf and inf also where a limit is
            so far away that it means that there is none.
        """
        return search_limits(self.lower, self.upper)

    def sampling_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """
        Return finite bounds within the limits, from which postures can be drawn.

        :returns: (n,) lower and (n,) upper bounds; ±π [rad] or [m] where there are no limits.
        """
        return sampling_bounds(self.lower, self.upper)

    def random_postures(self, count: int, random_seed: int = 0) -> np.ndarray:
        """
        Return random postures, uniform within :meth:`sampling_bounds`.

        :param count: how many.
        :param random_seed: the same one gives the same postures.
        :returns: (count, n) [rad] or [m].
        """
        lower, upper = self.sampling_bounds()
        return np.random.default_rng(random_seed).uniform(lower, upper, (count, self.n))

    def with_limits(self, lower: ArrayLike, upper: ArrayLike) -> Self:
        """
        Return a copy with narrower limits.

        :param lower: (n,) [rad] or [m]; raised to the present ones where it is below.
        :param upper: (n,) [rad] or [m]; lowered to the present ones where it is above.
        :raises ArgumentError: when one of them has another shape or holds NaN.
        :raises ChainError: naming the joint to which no position is left.
        """
        lower, upper = self._bounds(lower, 'lower'), self._bounds(upper, 'upper')
        narrower = copy.copy(self)
        narrower._set_limits(np.maximum(self.lower, lower), np.minimum(self.upper, upper))
        narrower.arrays = self.arrays._replace(lower=narrower.lower, upper=narrower.upper)
        return narrower

    def check_q(self, q: ArrayLike, argument: str = 'q') -> np.ndarray:
        """
        Return a joint vector as a contiguous array of floats, a copy.

        :param q: (n,) joint positions [rad] or [m].
        :param argument: its name in the error.
        :raises ArgumentError: when it has another shape or is not finite; names the joint.
        """
        values = real_array(q, argument)
        if values.shape != (self.n,):
            raise ArgumentError(
                argument,
                f'has shape {values.shape}, has to be ({self.n},): one value each for '
                + ', '.join(self.joint_names),
            )
        if not np.isfinite(values).all():
            worst = int(np.argmin(np.isfinite(values)))
            raise ArgumentError(argument, f'{self.joint_names[worst]} is {values[worst]}')
        return values

    def joint_vector(
        self, positions: Mapping[str, float], default: ArrayLike | None = None
    ) -> np.ndarray:
        """
        Return the joint vector of positions by name, such as a named state or a joint state.

        Positions may lie outside the limits, as those of a seed.

        :param positions: positions [rad] or [m] by name; those of other joints of the robot, which
            do not move this chain or follow one that does, are passed over.
        :param default: (n,) positions of the joints that are not named; :meth:`mid_range` by
            default.
        :returns: (n,).
        :raises ArgumentError: this is no such mapping, or a position is not finite.
        :raises UnknownJointError: the robot has no joint of a name; lists those of this chain.
        """
        if not isinstance(positions, Mapping):
            raise ArgumentError(
                'positions', f'have to be positions by name of joint, not {safe_repr(positions)}'
            )
        for name in positions:
            if name not in self.robot.joints:
                raise UnknownJointError(name, self.joint_names)
        base = self.middle if default is None else self.check_q(default, 'default')
        values = [
            positions.get(name, value)
            for name, value in zip(self.joint_names, base.tolist(), strict=True)
        ]
        # As objects, so that truth values among them are found.
        return self.check_q(np.array(values, dtype=object), 'positions')

    def _bounds(self, bounds: ArrayLike, argument: str) -> np.ndarray:
        """Return limits as an array; infinity stands for none."""
        values = real_array(bounds, argument)
        if values.shape != (self.n,) or np.isnan(values).any():
            raise ArgumentError(argument, f'has to be {self.n} numbers, not {safe_repr(bounds)}')
        return values

    def __getstate__(self) -> dict:
        """Return the state to pickle: all but the compiled code."""
        return {name: self.__dict__[name] for name in self.__dict__.keys() - self._compiled}

    def __setstate__(self, state: dict) -> None:
        """Freeze the arrays again, which pickle does not."""
        self.__dict__.update(state)
        for array in (self.lower, self.upper, self.middle, self.velocity, *self.arrays):
            array.setflags(write=False)

    def _set_limits(self, lower: np.ndarray, upper: np.ndarray) -> None:
        for name, low, high in zip(self.joint_names, lower, upper, strict=True):
            if not low <= high:
                raise ChainError(
                    f'joint {name!r} has no position left: its limits, with those of the joints '
                    f'that follow it, are {low:g} … {high:g}'
                )
        lower, upper = lower + 0.0, upper + 0.0  # no -0.0: random numbers up to it are refused
        self.lower, self.upper = frozen(lower), frozen(upper)
        self.middle = frozen(_middle(lower, upper))


def own_bounds(robot: RobotModel, names: Sequence[str]) -> np.ndarray:
    """Return (3, n) lower limits, upper limits and largest speeds of joints, each by itself."""
    limits = [robot.joints[name].limits for name in names]
    return np.array([(each.lower, each.upper, each.velocity) for each in limits]).T


def _middle(lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the middle of the limits; without limits 0, or the limit next to it."""
    low, high = search_limits(lower, upper)
    with np.errstate(invalid='ignore'):
        middle = lower / 2 + upper / 2
    return np.where(np.isfinite(high - low), middle, np.clip(0.0, lower, upper))


def frozen(array: np.ndarray) -> np.ndarray:
    """Return a contiguous read-only copy."""
    array = np.array(array, order='C')
    array.setflags(write=False)
    return array


def sampled_range(space: JointSpace) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the bounds of the postures that are sampled.

    These are the joint limits, but no more than one turn about the middle for joints whose full
    turns change no pose: positions beyond reach no new pose and are closer to the limits.

    :param space: a chain, or a tree.
    :returns: (n,) lower and (n,) upper bounds [rad] or [m].
    """
    middle = space.mid_range()
    low, high = space.search_limits()
    narrow = (space.arrays.turn > 0.0) | ~np.isfinite(high - low)
    lower = np.where(narrow, np.maximum(space.lower, middle - SPREAD), space.lower)
    upper = np.where(narrow, np.minimum(space.upper, middle + SPREAD), space.upper)
    return lower, upper


FALLBACK_SPEED = 1.0  # speed of a rotary joint for which the URDF names no velocity limit [rad/s]

FALLBACK_LINEAR_SPEED = 0.1
"""Speed of a prismatic joint for which the URDF names no velocity limit [m/s]."""


def joint_speeds(chain: JointSpace) -> np.ndarray:
    """
    Return the largest speeds of a chain's joints, all of them finite.

    :param chain: the chain.
    :returns: (n,) the velocity limits [rad/s] or [m/s], and where there is none
        :data:`FALLBACK_SPEED` or :data:`FALLBACK_LINEAR_SPEED`.
    """
    slides = [joint.type is JointType.PRISMATIC for joint in chain.joints]
    fallback = np.where(slides, FALLBACK_LINEAR_SPEED, FALLBACK_SPEED)
    return np.where(np.isfinite(chain.velocity), chain.velocity, fallback)
