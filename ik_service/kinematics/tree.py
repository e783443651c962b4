"""Kinematic tree: several tips over the union of the joints that move them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import frozen, JointSpace
from ik_service.model.robot_model import RobotModel


class TreeArrays(NamedTuple):
    """
    Constants of a tree as arrays: t tips, m joints on all their paths, moved by n variables.

    Each tip has the constants of a chain of its own, see
    :class:`~ik_service.kinematics.joint_path.ChainArrays`; joints that several tips share come
    once for each of them.

    :ivar base: (t, 12) the frame in which the first joint of each tip moves.
    :ivar joints: (m, 8) the joints of the first tip, then those of the second, and so on.
    :ivar variables: (m,) index of the variable that moves each joint.
    :ivar spans: (t + 1,) row of the first joint of each tip; then m.
    :ivar ends: (t, 6) of each tip the cosine and sine of the last rotation about z, then a point
        of its frame of reference and the distance from it that the tip cannot exceed [m].
    :ivar moves: (t, n) 1 where a variable moves a tip, else 0.
    :ivar lower: (n,) lower limits of the variables.
    :ivar upper: (n,) upper limits.
    :ivar turn: (n,) 2π for variables whose full turns do not change any pose, else 0.
    """

    base: np.ndarray
    joints: np.ndarray
    variables: np.ndarray
    spans: np.ndarray
    ends: np.ndarray
    moves: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    turn: np.ndarray


MOST_TIPS = 64  # tips of a tree, at most

Tip = str | tuple[str, str]
"""
Link whose pose is given in the base link's frame, or the names of two links: then the pose of the
second is given in the frame of the first, which may be a link of another arm.
"""


class KinematicTree(JointSpace):
    """
    Several tips, and the variables that move them: the union of those of one chain for each tip.

    Trees do not change; their arrays are read-only.

    :ivar robot: the robot it belongs to.
    :ivar base_link: link in whose frame the poses of tips are given that are a single link.
    :ivar tips: the tips, each a link or a pair of links (frame, tip).
    :ivar chains: the chain of each tip, from its frame to it.
    :ivar arrays: the tree as the kernels see it.
    """

    arrays: TreeArrays

    def __init__(
        self,
        robot: RobotModel,
        base_link: str,
        tips: Iterable[Tip],
        locked: Mapping[str, float] | None = None,
    ) -> None:
        """
        Build the tree.

        :param robot: the robot.
        :param base_link: link in whose frame the poses of tips are given.
        :param tips: links, or pairs of links (frame, tip); all different, at most 64.
        :param locked: positions of joints that shall not move [rad] or [m], by name.
        :raises ArgumentError: when there is no tip, too many, one comes twice or is none.
        :raises UnknownLinkError: when a link does not exist.
        :raises UnknownJointError: when a locked joint does not exist.
        :raises ChainError: when nothing moves a tip, or limits contradict each other.
        """
        found = _checked_tips(tips)
        ends = [(base_link, tip) if isinstance(tip, str) else tip for tip in found]
        chains = [KinematicChain(robot, frame, link, locked) for frame, link in ends]
        self._build(robot, base_link, found, chains)

    @classmethod
    def of_chain(cls, chain: KinematicChain) -> KinematicTree:
        """
        Return the tree of one tip that a chain is, with the chain's limits.

        :param chain: the chain.
        """
        tree = cls.__new__(cls)
        tree._build(chain.robot, chain.base_link, (chain.tip_link,), [chain])
        return tree

    def forward(self, q: ArrayLike) -> dict[Tip, np.ndarray]:
        """
        Return the poses of the tips.

        :param q: (n,) joint positions [rad] or [m], in the order of ``joint_names``.
        :returns: (4, 4) by tip: T_base_tip, or T_frame_tip of a pair.
        :raises ArgumentError: when q has another shape or is not finite.
        """
        q = self.check_q(q)
        return {
            tip: chain.forward(q[indices])
            for tip, chain, indices in zip(self.tips, self.chains, self._indices, strict=True)
        }

    def jacobian(self, q: ArrayLike) -> np.ndarray:
        """
        Return the geometric Jacobians of all tips, one below the other in the order of ``tips``.

        :param q: (n,) joint positions [rad] or [m].
        :returns: (6k, n) for k tips; for each, linear rows [m] before angular rows [rad], in the
            base frame, or in the frame of the first link of a pair.
        :raises ArgumentError: when q has another shape or is not finite.
        """
        q = self.check_q(q)
        matrix = np.zeros((6 * len(self.tips), self.n))
        for row, (chain, indices) in enumerate(zip(self.chains, self._indices, strict=True)):
            matrix[6 * row : 6 * row + 6, indices] = chain.jacobian(q[indices])
        return matrix

    def _build(
        self,
        robot: RobotModel,
        base_link: str,
        tips: tuple[Tip, ...],
        chains: list[KinematicChain],
    ) -> None:
        self.base_link = base_link
        self.tips = tips
        self.chains = tuple(chains)
        self.locked = dict(chains[0].locked)
        names = tuple(dict.fromkeys(name for chain in chains for name in chain.joint_names))
        places = {name: i for i, name in enumerate(names)}
        self._indices = [np.array([places[name] for name in c.joint_names]) for c in chains]
        lower, (upper, velocity) = np.full(len(names), -np.inf), np.full((2, len(names)), np.inf)
        for chain, indices in zip(chains, self._indices, strict=True):
            lower[indices] = np.maximum(lower[indices], chain.lower)
            upper[indices] = np.minimum(upper[indices], chain.upper)
            velocity[indices] = np.minimum(velocity[indices], chain.velocity)
        super().__init__(robot, names, lower, upper, velocity)
        self.arrays = self._arrays()

    def _arrays(self) -> TreeArrays:
        """Return the constants of all chains, put together."""
        parts = [chain.arrays for chain in self.chains]
        turn, moves = np.zeros(self.n), np.zeros((len(parts), self.n))
        for row, (part, indices) in enumerate(zip(parts, self._indices, strict=True)):
            turn[indices] = part.turn
            moves[row, indices] = 1.0
        variables = [
            indices[part.variables] for part, indices in zip(parts, self._indices, strict=True)
        ]
        return TreeArrays(
            base=frozen(np.array([part.base for part in parts])),
            joints=frozen(np.concatenate([part.joints for part in parts])),
            variables=frozen(np.concatenate(variables)),
            spans=frozen(np.cumsum([0, *(len(part.variables) for part in parts)])),
            ends=frozen(np.array([[*part.tip, *part.reach] for part in parts])),
            moves=frozen(moves),
            lower=self.lower,
            upper=self.upper,
            turn=frozen(turn),
        )

    def __repr__(self) -> str:
        tips = ', '.join(tip if isinstance(tip, str) else ' → '.join(tip) for tip in self.tips)
        return f'KinematicTree({self.base_link!r}, tips {tips}; {self.n} joints)'


def groups_of(moves: np.ndarray) -> np.ndarray:
    """
    Return of each tip (t,) the first tip of its group; groups have no variable in common.

    :param moves: (t, n) bool: which variables move each tip.
    """
    groups = np.arange(len(moves))
    for variable in moves.T:
        joined = np.isin(groups, groups[variable])
        groups[joined] = groups[joined].min(initial=len(moves))
    return groups


def _checked_tips(tips: Iterable[Tip]) -> tuple[Tip, ...]:
    """Return tips as a tuple of links and pairs of links."""
    if isinstance(tips, (str, bytes)) or not isinstance(tips, Iterable):
        raise ArgumentError(
            'tips', f'have to be several links or pairs of links, not {safe_repr(tips)}'
        )
    found = [_checked_tip(tip) for tip in islice(tips, MOST_TIPS + 1)]
    if not 1 <= len(found) <= MOST_TIPS:
        count = 'none' if not found else 'more'
        raise ArgumentError('tips', f'have to be 1 to {MOST_TIPS} links or pairs, not {count}')
    twice = [tip for i, tip in enumerate(found) if tip in found[:i]]
    if twice:
        raise ArgumentError('tips', f'{safe_repr(twice[0])} comes twice')
    return tuple(found)


def _checked_tip(tip: object) -> Tip:
    """Return a link, or a pair of links as a tuple."""
    if isinstance(tip, str):
        return tip
    if isinstance(tip, (tuple, list)) and len(tip) == 2:
        frame, link = tip
        if isinstance(frame, str) and isinstance(link, str):
            return frame, link
    raise ArgumentError('tips', f'are links or pairs of links (frame, tip), not {safe_repr(tip)}')
