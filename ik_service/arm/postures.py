"""
Full postures: the positions of all movable joints of a robot as one array, mimic joints among
them, in document order; checks of those given, and the poses of links in one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math

import numpy as np

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.link_poses import attached_links
from ik_service.model.joint import Joint
from ik_service.model.robot_model import RobotModel

FARTHEST = 1e6  # largest joint position [rad or m]; beyond, its pose would lose its precision
MOST_NAMES = 10_000  # joints that a message may name; a robot has far fewer


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


_KEPT_NAME_LISTS = 64  # lists of joint names whose indices are in memory, at most


class PostureSpace:
    """
    Order and bounds of the movable joints of a robot. Safe to share between threads.

    :ivar names: the m movable joints.
    :ivar followers: indices of the mimic joints by name.
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
        self.followers = {self.names[mimic[0]]: mimic[0] for mimic in self._mimics}
        limits = [robot.joints[name].limits for name in self.names]
        self._near_zero = np.array([min(max(0.0, b.lower), b.upper) for b in limits])
        self._lower = np.array([limit.lower for limit in limits])
        self._upper = np.array([limit.upper for limit in limits])
        # Narrowed already so that mimic joints stay inside; those and locked ones have none.
        self._lower[[*self.dependent]], self._upper[[*self.dependent]] = -np.inf, np.inf

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
            :data:`MOST_NAMES`, or a value is not finite or farther than :data:`FARTHEST`.
        """
        check_lengths(names, values, 'joint_state')
        indices = self.indices(names)
        numbers = np.array(values, dtype=np.float64)
        if not (np.abs(numbers) <= FARTHEST).all():
            check_near(names, numbers)
        positions[indices] = numbers
        return indices

    def complete(self, positions: np.ndarray) -> np.ndarray:
        """Put locked and mimic joints of postures (m,) or (m, N) in place, and return these."""
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
        :param among: indices of the only joints that are checked; None for all.
        :param told: whether joints that stay are reported all the same.
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
        """Return a full posture (m,) [rad] or [m] by joint name."""
        return dict(zip(self.names, positions.tolist(), strict=True))

    def _look_up(self, names: tuple[str, ...]) -> np.ndarray:
        for name in names:
            if name not in self._index:
                raise UnknownJointError(name, self.names)
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ArgumentError('joint_state', f'names joint {quote(twice)} twice')
        return np.array([self._index[name] for name in names], dtype=np.intp)


_Step = tuple[Joint, int]  # a joint, and where it stands in a full posture; −1 for a fixed one


class LinkFrames:
    """
    Poses of single links, and the joints that they depend on. Safe to share between threads.

    :param locked: names of the joints that do not move.
    """

    def __init__(self, robot: RobotModel, locked: Iterable[str]) -> None:
        self._robot = robot
        self._index = {name: i for i, name in enumerate(robot.movable_joint_names)}
        self._locked = frozenset(locked)
        self._beside: dict[str, Mapping[str, np.ndarray]] = {}
        self._steps: dict[str, tuple[_Step, ...]] = {}
        self._moving: dict[str, np.ndarray] = {}

    def beside(self, link: str) -> Mapping[str, np.ndarray]:
        """
        Return the links that are rigidly attached to a link, itself among them.

        :returns: (4, 4) T_link_other [m] of each by its name.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._beside.get(link)
        if found is None:
            found = self._beside[link] = attached_links(self._robot, link)
        return found

    def moving(self, link: str) -> np.ndarray:
        """
        Return which joints the pose of a link in the frame of the root link depends on.

        :returns: indices, in the full posture, of joints that are neither mimics nor locked.
        :raises UnknownLinkError: there is no such link.
        """
        found = self._moving.get(link)
        if found is None:
            joints = (joint for joint, _ in self._robot.path(self._robot.root_link, link))
            names = {self._robot.resolve_mimic(joint.name)[0] for joint in joints if joint.movable}
            indices = sorted(self._index[name] for name in names - self._locked)
            found = self._moving[link] = np.array(indices, dtype=np.intp)
        return found

    def stands_still(self, link: str) -> bool:
        """Return whether no joint moves a link in the frame of the root link."""
        return not len(self.moving(link))

    def root_from_link(self, link: str, posture: np.ndarray) -> np.ndarray:
        """
        Return the pose of a link in the frame of the root link.

        :param posture: (m,) full posture [rad] or [m], with its mimic joints where they belong.
        :returns: (4, 4) T_root_link [m].
        :raises UnknownLinkError: there is no such link.
        """
        T = np.eye(4)
        for joint, i in self._path_to(link):
            T = T @ joint.T_parent_joint
            if i >= 0:
                T = T @ joint_motion(joint, float(posture[i]))
        return T

    def _path_to(self, link: str) -> tuple[_Step, ...]:
        steps = self._steps.get(link)
        if steps is None:
            path = self._robot.path(self._robot.root_link, link)
            steps = tuple((joint, self._index.get(joint.name, -1)) for joint, _ in path)
            self._steps[link] = steps
        return steps
