"""Full postures, the positions of all movable joints as one array, and the measured one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
import threading

import numpy as np

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.model.joint import JointLimits
from ik_service.model.robot_model import RobotModel

FARTHEST = 1e6
"""Largest joint position [rad or m]; beyond, its pose would lose its precision."""

MOST_NAMES = 10_000
"""Joints that a message may name; a robot has far fewer."""


def check_lengths(names: Sequence[str], values: Sequence[float], what: str) -> None:
    """
    Check how many joints and positions a message holds, before anything else is done with it.

    :param names: the joints.
    :param values: their positions.
    :param what: the name of the message, for the error.
    :raises ArgumentError: there are more than :data:`MOST_NAMES`, or the lengths differ.
    """
    if len(names) > MOST_NAMES:
        raise ArgumentError(what, f'names {len(names)} joints, more than {MOST_NAMES}')
    if len(names) != len(values):
        raise ArgumentError(what, f'has {len(names)} names, but {len(values)} positions')


def check_near(names: Sequence[str], values: np.ndarray) -> None:
    """
    Check positions [rad] or [m].

    :param names: the joints.
    :param values: (n,) their positions.
    :raises ArgumentError: a joint is at NaN, infinity or beyond :data:`FARTHEST`; naming it.
    """
    for name, value in zip(names, values.tolist(), strict=True):
        if not abs(value) <= FARTHEST:
            fault = f'beyond ±{FARTHEST:g}' if math.isfinite(value) else 'which is not finite'
            raise ArgumentError('joint_state', f'joint {quote(name)} is at {value:g}, {fault}')


Mimic = tuple[int, int, float, float]
"""Indices of a mimic joint and of the joint that it follows, multiplier and offset."""


def independent_bounds(
    limits: Sequence[JointLimits], mimics: Sequence[Mimic], locked: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the bounds of the joints that move independently.

    They are narrowed so that their mimic joints stay inside too, where the limits of both have
    positions in common; mimic and locked joints have no bounds of their own.

    :param limits: limits of the m joints [rad] or [m].
    :param mimics: the mimic joints among them.
    :param locked: indices of the locked joints.
    :returns: (m,) lower and (m,) upper bounds; ±inf where there are none.
    """
    lower = np.array([limit.lower for limit in limits])
    upper = np.array([limit.upper for limit in limits])
    for i, source, multiplier, offset in mimics:
        if multiplier:
            with np.errstate(over='ignore'):
                bounds = (np.array([limits[i].lower, limits[i].upper]) - offset) / multiplier
            low, high = max(lower[source], bounds.min()), min(upper[source], bounds.max())
            if low <= high:
                lower[source], upper[source] = low, high
    for i in (*(i for i, *_ in mimics), *locked):
        lower[i], upper[i] = -np.inf, np.inf
    return lower, upper


_KEPT_NAME_LISTS = 64
_LONGEST_KEPT = 1000  # names; longer lists are looked up anew


class PostureSpace:
    """
    Order and bounds of the movable joints of a robot. Safe to share between threads.

    :ivar names: the m movable joints in document order, mimic joints among them.
    :param robot: the robot.
    :param locked: joints that do not move, and where [rad] or [m].
    :raises UnknownJointError: there is no such joint to lock.
    """

    def __init__(self, robot: RobotModel, locked: Mapping[str, float]) -> None:
        self.names = robot.movable_joint_names
        self._index = {name: i for i, name in enumerate(self.names)}
        self._known: dict[tuple[str, ...], np.ndarray] = {}
        self._locked = [(int(self.indices((name,))[0]), locked[name]) for name in locked]
        self._mimics: list[Mimic] = [
            (i, self._index[source], multiplier, offset)
            for i, name in enumerate(self.names)
            for source, multiplier, offset in [robot.resolve_mimic(name)]
            if source != name
        ]
        limits = [robot.joints[name].limits for name in self.names]
        self._near_zero = np.array([min(max(0.0, b.lower), b.upper) for b in limits])
        fixed = [i for i, _ in self._locked]
        self._lower, self._upper = independent_bounds(limits, self._mimics, fixed)

    @property
    def dependent(self) -> tuple[int, ...]:
        """Indices of the joints that :meth:`complete` places: locked ones and mimic joints."""
        return (*(i for i, _ in self._locked), *(mimic[0] for mimic in self._mimics))

    def indices(self, names: Sequence[str]) -> np.ndarray:
        """
        Return the indices of joints in ``names`` of this class.

        :param names: the joints.
        :raises UnknownJointError: the robot has no such movable joint.
        :raises ArgumentError: a joint is named twice.
        """
        key = tuple(names)  # clients send the same names again and again
        indices = self._known.get(key)
        if indices is None:
            indices = self._look_up(key)
            if len(self._known) >= _KEPT_NAME_LISTS:
                self._known = {}
            self._known[key] = indices
        return indices

    def overlay(
        self, positions: np.ndarray, names: Sequence[str], values: Sequence[float]
    ) -> np.ndarray:
        """
        Write some joints' values into a full posture.

        :param positions: (m,) full posture [rad] or [m], changed in place.
        :param names: the joints.
        :param values: their positions.
        :returns: the indices that were written.
        :raises UnknownJointError: the robot has no such movable joint.
        :raises ArgumentError: a joint is named twice, the lengths differ or exceed
            :data:`~ik_service.arm.joint_state.MOST_NAMES`, or a value is not finite or farther
            than :data:`~ik_service.arm.joint_state.FARTHEST`.
        """
        check_lengths(names, values, 'joint_state')
        indices = self.indices(names)
        numbers = np.array(values, dtype=np.float64)
        if not (np.abs(numbers) <= FARTHEST).all():
            check_near(names, numbers)
        positions[indices] = numbers
        return indices

    def complete(self, positions: np.ndarray) -> np.ndarray:
        """
        Put locked and mimic joints of a full posture where they have to be, in place.

        :param positions: (m,) [rad] or [m], or (m, N) of many postures.
        :returns: the same array.
        """
        for i, value in self._locked:
            positions[i] = value
        for i, source, multiplier, offset in self._mimics:
            positions[i] = multiplier * positions[source] + offset
        return positions

    def bring_inside(
        self,
        positions: np.ndarray,
        solved: np.ndarray,
        among: np.ndarray | None = None,
        told: bool = False,
    ) -> list[str]:
        """
        Bring joints that are outside their limits to the nearest bound, in place; mimics follow.

        Joints that are locked stay where they are.

        :param positions: (m,) full posture [rad] or [m].
        :param solved: indices of joints that stay, because they are solved for.
        :param among: indices of the only joints that are looked at; None for all.
        :param told: whether joints that stay are told all the same.
        :returns: the joints that were outside, with where they were.
        """
        inside = np.minimum(np.maximum(positions, self._lower), self._upper)
        if inside.tobytes() == positions.tobytes():
            return []
        outside = inside != positions
        if among is not None:
            asked = np.zeros_like(outside)
            asked[among] = True
            outside &= asked
        found = np.flatnonzero(outside)
        outside[solved] = False
        moved = np.flatnonzero(outside)
        was = [
            f'{self.names[i]} at {positions[i]:.6g}' for i in (found if told else moved).tolist()
        ]
        positions[moved] = inside[moved]
        self.complete(positions)
        return was

    def near_zero(self) -> np.ndarray:
        """Return the posture (m,) with every joint at 0, or at its limit nearest to 0."""
        return self._near_zero.copy()

    def by_name(self, positions: np.ndarray) -> dict[str, float]:
        """
        Return a full posture by joint name.

        :param positions: (m,) full posture [rad] or [m].
        """
        return dict(zip(self.names, positions.tolist(), strict=True))

    def _look_up(self, names: tuple[str, ...]) -> np.ndarray:
        for name in names:
            if name not in self._index:
                raise UnknownJointError(name, self.names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError('joint_state', f'names joint {quote(twice)} twice')
        return np.array([self._index[name] for name in names], dtype=np.intp)


class JointStateBuffer:
    """
    Latest measured position of every joint of a robot. Safe to share between threads.

    Several publishers may each send a part of the joints, such as an arm and its gripper; joints
    that the robot does not have are left out.

    :param postures: the full postures of the robot.
    :param rest: (m,) full posture [rad] or [m], where joints stand that were never measured.
    :param chain_joints: the joints of the chain.
    :param previous: earlier measurements; those of joints by the same name are kept.
    """

    def __init__(
        self,
        postures: PostureSpace,
        rest: np.ndarray,
        chain_joints: Sequence[str],
        previous: JointStateBuffer | None = None,
    ) -> None:
        self._postures = postures
        self._chain_joints = frozenset(chain_joints)
        self._chain = postures.indices(chain_joints)
        self._lock = threading.Lock()
        self._positions = rest.copy()
        self._arrivals = np.full(len(self._positions), -math.inf)
        self._velocities = np.full(len(self._positions), math.nan)
        self._known: dict[tuple[str, ...], list[int]] = {}
        if previous is not None:
            self._keep(previous)

    def update(
        self,
        names: Sequence[str],
        values: Sequence[float],
        now: float,
        velocities: Sequence[float] = (),
    ) -> None:
        """
        Take the positions of a ``joint_states`` message.

        :param names: the joints.
        :param values: their positions [rad] or [m]; none is fine: other quantities are not used.
        :param now: arrival of the message on the monotonic clock [s].
        :param velocities: their velocities [rad/s] or [m/s]; as good as none where their number
            is not that of the names.
        :raises ArgumentError: the lengths differ or a joint is named twice, and nothing of the
            message is taken; or joints of the chain are not finite or farther than
            :data:`~ik_service.arm.joint_state.FARTHEST`, and the others are taken. Such a
            position of a joint outside the chain is left out, as drivers send NaN for what they
            do not measure.
        """
        if not len(values):
            return
        check_lengths(names, values, 'joint_states')
        names = tuple(names)
        moving = len(velocities) == len(names)
        chosen = self._chosen(names)
        if len(chosen) != len(names):
            names = tuple(names[i] for i in chosen)
            values = [values[i] for i in chosen]
            velocities = [velocities[i] for i in chosen] if moving else ()
        numbers = np.array(values, dtype=np.float64)
        near = np.abs(numbers) <= FARTHEST
        if near.all():
            indices = self._postures.indices(names)
            with self._lock:
                self._positions[indices] = numbers
                self._velocities[indices] = velocities if moving else math.nan
                self._arrivals[indices] = now
            return
        with self._lock:
            far = self._take_usable(names, values, near, now)
        check_near([name for name, _ in far], np.array([value for _, value in far]))

    def _take_usable(
        self, names: Sequence[str], values: Sequence[float], near: np.ndarray, now: float
    ) -> list[tuple[str, float]]:
        """Take the positions that can be used; return those of the chain that cannot."""
        self._postures.indices(names)  # refuses a joint that is named twice
        usable = np.flatnonzero(near).tolist()
        taken, positions = [names[i] for i in usable], [values[i] for i in usable]
        indices = self._postures.overlay(self._positions, taken, positions)
        self._velocities[indices] = math.nan
        self._arrivals[indices] = now
        far = [(names[i], values[i]) for i in np.flatnonzero(~near).tolist()]
        return [(name, value) for name, value in far if name in self._chain_joints]

    def posture(self) -> np.ndarray:
        """Return a copy of the full posture (m,) [rad] or [m]; unmeasured joints are at rest."""
        with self._lock:
            return self._positions.copy()

    def joints(self, indices: np.ndarray | None = None) -> tuple[np.ndarray, float] | None:
        """
        Return positions of joints and when they were measured.

        :param indices: (n,) indices in the full posture; None for the joints of the chain.
        :returns: (n,) positions [rad] or [m], and when the oldest of them arrived on the
            monotonic clock [s]; None when some were never measured.
        """
        indices = self._chain if indices is None else indices
        with self._lock:
            oldest = float(self._arrivals[indices].min())
            positions = self._positions[indices]
        return (positions, oldest) if oldest > -math.inf else None

    def velocities(self, indices: np.ndarray) -> np.ndarray:
        """
        Return measured velocities (n,) [rad/s] or [m/s]; NaN where the last state gave none.

        :param indices: (n,) indices of the joints in the full posture.
        """
        with self._lock:
            return self._velocities[indices]

    def unmeasured(self, indices: np.ndarray) -> np.ndarray:
        """
        Return those of some joints that were never measured.

        :param indices: indices of the joints in the full posture.
        """
        return indices[self._arrivals[indices] == -math.inf]

    def left_out(self, indices: np.ndarray, age: float) -> np.ndarray:
        """
        Return those of some joints that were measured once, but not any more.

        :param indices: indices of the joints in the full posture.
        :param age: by how much longer ago than that of any joint [s].
        """
        arrivals = self._arrivals[indices]
        return indices[(arrivals > -math.inf) & (arrivals < self._arrivals.max() - age)]

    def _chosen(self, names: tuple[str, ...]) -> list[int]:
        """Return which of a message's joints belong to the robot."""
        chosen = self._known.get(names)
        if chosen is None:
            own = set(self._postures.names)
            chosen = [i for i, name in enumerate(names) if name in own]
            if len(self._known) >= _KEPT_NAME_LISTS:
                self._known.clear()
            if len(names) <= _LONGEST_KEPT:
                self._known[names] = chosen
        return chosen

    def _keep(self, previous: JointStateBuffer) -> None:
        with previous._lock:
            for i, name in enumerate(previous._postures.names):
                if previous._arrivals[i] > -math.inf and name in self._postures.names:
                    j = self._postures.names.index(name)
                    self._positions[j] = previous._positions[i]
                    self._arrivals[j] = previous._arrivals[i]


def known_positions(
    postures: PostureSpace,
    names: Sequence[str],
    values: Sequence[float],
    used: np.ndarray | None,
) -> tuple[Sequence[str], Sequence[float]]:
    """
    Return a joint state without the joints at NaN that do not matter.

    :param postures: the full postures of the robot.
    :param names: the joints.
    :param values: their positions [rad] or [m].
    :param used: indices of the joints that matter, in the full posture; None for all.
    :returns: the joints and positions that are left; all of them where NaN matters.
    :raises ArgumentError: the lengths differ, or a joint is named twice.
    :raises UnknownJointError: the robot has no such movable joint.
    """
    if used is None:
        return names, values
    check_lengths(names, values, 'joint_state')
    matter = set(used.tolist())
    indices = postures.indices(names).tolist()
    kept = [k for k, i in enumerate(indices) if i in matter or not np.isnan(values[k])]
    return [names[k] for k in kept], [values[k] for k in kept]
