"""Kernels of servoing, prepared for a chain."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.jit.entry import entry_point
from ik_service.kinematics.chain import KinematicChain
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.servo.commands import ServoSettings
from ik_service.motion.servo.redundancy_kernels import ROWS_OF_JOINTS
from ik_service.motion.servo.servo_kernels import bounded_joints, twist_motion
from ik_service.robot import Robot


class JointBounds(NamedTuple):
    """
    Bounds on the joints in one tick.

    :ivar lower: (n,) where each joint stops, with its margin [rad] or [m]; −inf for nowhere.
    :ivar upper: (n,) likewise; inf for nowhere.
    :ivar speed: (n,) highest speeds [rad/s] or [m/s].
    :ivar acceleration: (n,) how fast they can slow down [rad/s²] or [m/s²]; inf for at once.
    :ivar dt: length of the tick [s].
    """

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    acceleration: np.ndarray
    dt: float


class SingularZone(NamedTuple):
    """
    Bounds of the zone around singularities.

    :ivar lower: condition number of the Jacobian from which motions towards them slow down.
    :ivar upper: the one at which they have come to rest.
    :ivar rank: rank that the Jacobian has elsewhere, 6 for most arms.
    """

    lower: float
    upper: float
    rank: int


class ServoScratch(NamedTuple):
    """
    Memory of the kernels, for n joints of which m lie on the path.

    :ivar axes: (m, 6) joint axes.
    :ivar frame: (12,) frame behind the last joint.
    :ivar rows: (n, 6) transpose of the Jacobian.
    :ivar columns: (6, n) right singular vectors, times singular values.
    :ivar basis: (6, 6) left singular vectors, as columns.
    :ivar sizes: (6,) singular values; −1 for those that belong to no motion of the arm.
    :ivar place: (n,) posture at which the Jacobian is taken [rad] or [m].
    :ivar beside: (n,) a posture beside that.
    :ivar leaving: (n,) the part of a motion that leads away from a singularity [rad/s] or [m/s].
    :ivar free: (2, n) highest speeds downwards and upwards [rad/s] or [m/s].
    :ivar last: (n,) the last velocities [rad/s] or [m/s]; NaN where they do not matter.
    :ivar row_space: (6, n) orthonormal, of the joint motions without a part of a self-motion, in
        shares of the joints' highest speeds.
    :ivar joints: (7, n) memory of :mod:`~ik_service.motion.servo.redundancy_kernels`.
    :ivar table: (n, n + 1) likewise.
    """

    axes: np.ndarray
    frame: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    basis: np.ndarray
    sizes: np.ndarray
    place: np.ndarray
    beside: np.ndarray
    leaving: np.ndarray
    free: np.ndarray
    last: np.ndarray
    row_space: np.ndarray
    joints: np.ndarray
    table: np.ndarray


def scratch_for(chain: KinematicChain) -> ServoScratch:
    """Return memory for the kernels that are called for a chain."""
    n, m = chain.n, len(chain.arrays.variables)
    jacobian = (m, 6), (12,), (n, 6), (6, n), (6, 6), (6,)
    joints = (n,), (n,), (n,), (2, n), (n,), (6, n), (ROWS_OF_JOINTS, n)
    shapes = *jacobian, *joints, (n, n + 1)
    return ServoScratch(*(np.zeros(shape) for shape in shapes))


_POSTURES = 5
_RANK_TOLERANCE = 1e-6  # singular values below do not count


class VelocitySolver:
    """
    Velocities of a chain's joints, tick by tick. Not thread-safe.

    :ivar condition: condition number of the Jacobian at the last tick.
    :ivar flags: of the last twist, see :mod:`~ik_service.motion.servo.servo_kernels`.
    :ivar slowed_by: index of the joint that is close to its limit and slows the motion down;
        −1 for none.
    :raises OptionError: there are neither one nor n margins.
    """

    def __init__(self, chain: KinematicChain, settings: ServoSettings) -> None:
        self.condition, self.flags, self.slowed_by = 1.0, 0, -1
        self._chain = chain
        self._margins = settings.margins_of(chain)
        rank = _rank(chain)
        self._zone = SingularZone(settings.lower_threshold, settings.hard_stop, rank)
        self._scratch = scratch_for(chain)
        self._q, self._wanted, self._velocity = np.zeros((3, chain.n))
        self._twist = np.zeros(6)
        lower, upper, speed, acceleration = np.zeros((4, chain.n))
        self._bounds = JointBounds(lower, upper, speed, acceleration, 1.0)
        twist = chain.arrays, self._q, self._twist, self._zone
        joints = self._q, self._wanted
        memory = self._bounds, self._scratch, self._velocity
        self._twist_motion = entry_point(twist_motion, *twist, *memory)
        self._bounded_joints = entry_point(bounded_joints, *joints, *memory)

    def for_twist(
        self,
        twist: np.ndarray,
        q: np.ndarray,
        limits: MotionLimits,
        dt: float,
        last: np.ndarray | None = None,
    ) -> np.ndarray:
        """
        Return the joint velocities of this tick for a twist of the tip.

        :param twist: (6,) linear [m/s] before angular [rad/s], in the base frame.
        :param q: (n,) the last command [rad] or [m].
        :param last: (n,) the last velocities [rad/s] or [m/s], from which those of a redundant arm
            change within its accelerations; None for no bound on that.
        :returns: (n,) [rad/s] or [m/s].
        """
        bounds = self._take(q, limits, dt)
        self._twist[:] = twist
        self._scratch.last[:] = np.nan if last is None else last
        asked = self._chain.arrays, self._q, self._twist, self._zone
        memory = bounds, self._scratch, self._velocity
        self.condition, self.flags, worst = self._twist_motion(*asked, *memory)
        self._note_limit(worst)
        return self._velocity.copy()

    def for_joints(
        self, wanted: np.ndarray, q: np.ndarray, limits: MotionLimits, dt: float
    ) -> np.ndarray:
        """
        Return the joint velocities of this tick for wanted ones.

        :param wanted: (n,) [rad/s] or [m/s]; all else as for :meth:`for_twist`.
        """
        bounds = self._take(q, limits, dt)
        self._wanted[:] = wanted
        self.flags = 0
        memory = bounds, self._scratch, self._velocity
        worst = self._bounded_joints(self._q, self._wanted, *memory)
        self._note_limit(worst)
        return self._velocity.copy()

    def _take(self, q: np.ndarray, limits: MotionLimits, dt: float) -> JointBounds:
        """Copy the state of the tick to where the kernels read it; return the bounds."""
        self._q[:] = q
        bounds = self._bounds
        np.add(limits.lower, self._margins, out=bounds.lower)
        np.subtract(limits.upper, self._margins, out=bounds.upper)
        bounds.speed[:], bounds.acceleration[:] = limits.velocity_now, limits.acceleration_now
        return JointBounds(bounds.lower, bounds.upper, bounds.speed, bounds.acceleration, dt)

    def _note_limit(self, worst: int) -> None:
        """Note the joint that slows the motion down, unless only its speed does."""
        self.slowed_by = -1
        if worst >= 0:
            free, velocity = self._scratch.free.item, self._velocity.item(worst)
            most = min(free(0, worst), free(1, worst))
            if velocity:
                most = free(int(velocity > 0.0), worst)
            if most < 0.999 * self._bounds.speed.item(worst):
                self.slowed_by = worst


def warm_up() -> None:
    """Compile the kernels, or load them from the cache; they are the same for all chains."""
    chain = Robot.from_urdf(urdf_path('planar_6r')).chain('base_link', 'tool0')
    VelocitySolver(chain, ServoSettings())


@lru_cache(maxsize=16)
def _rank(chain: KinematicChain) -> int:
    """Return the rank that the Jacobian of a chain's moving joints has in almost all postures."""
    lower, upper = chain.sampling_bounds()
    postures = np.random.default_rng(0).uniform(lower, upper, (_POSTURES, chain.n))
    moving = [chain.jacobian(q)[:, chain.velocity > 0.0] for q in postures]
    ranks = [np.linalg.matrix_rank(J, tol=_RANK_TOLERANCE) for J in moving]
    return int(max(ranks))
