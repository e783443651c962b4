"""Parts of a tree whose paths do not depend on each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ik_service.common.transforms import inverse_transform
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import groups_of, KinematicTree, Tip
from ik_service.paths.search.problem import PathProblem
from ik_service.solvers.task import BLOCK_ROWS

_POSE_ROWS = 8  # of the block of a tip: those of its target and of the pose of its region


class Part(NamedTuple):
    """
    Some tips, without a joint in common with the others.

    :ivar tree: the tree of these tips, with m variables.
    :ivar targets: (N, …) as the kernels take them.
    :ivar variables: (m,) numbers of the variables in the whole tree.
    """

    tree: KinematicTree
    targets: np.ndarray
    variables: np.ndarray


def independent_parts(problem: PathProblem) -> list[Part]:
    """
    Return the parts of a tree that do not depend on each other.

    A tip that is carried by another one, whose whole pose is given, counts in the frame of that
    one: only the joints between them matter to it, as to the hands beside the pose of a torso.
    """
    whole = problem.chain
    if not isinstance(whole, KinematicTree) or not len(problem.targets):
        return []
    count, tips = len(problem.targets), list(whole.tips)
    moves, moved = whole.arrays.moves != 0.0, whole.arrays.moves != 0.0
    given = problem.targets.reshape(count, len(tips), BLOCK_ROWS, 4)
    blocks = given.copy()
    # Whether the whole pose of a tip is given: there is no region, point or tolerance.
    exact = np.logical_not(given[:, :, _POSE_ROWS:].any(axis=(0, 2, 3)))
    exact &= all(problem.solver.options.task_weights)
    for tip in range(len(tips)):
        carrier = _carrier(whole, moves, exact, tip)
        if carrier is not None:
            tips[tip] = whole.chains[carrier].tip_link, whole.chains[tip].tip_link
            moved[tip] &= ~moves[carrier]
            inverse = np.array([inverse_transform(T) for T in given[:, carrier, :4]])
            poses = given[:, tip, :_POSE_ROWS].reshape(count, 2, 4, 4)
            blocks[:, tip, :_POSE_ROWS] = (inverse[:, None] @ poses).reshape(count, _POSE_ROWS, 4)
    groups = groups_of(moved)
    return [
        _part(whole, tips, blocks, np.flatnonzero(groups == number))
        for number in np.unique(groups)
    ]


def _carrier(tree: KinematicTree, moves: np.ndarray, exact: np.ndarray, tip: int) -> int | None:
    """Return the exact tip that carries another one by the fewest joints; None where none does."""
    own = tree.chains[tip]
    # Those that are moved by some of its joints only, the most first.
    candidates = exact & (moves <= moves[tip]).all(axis=1) & (moves != moves[tip]).any(axis=1)
    for other in sorted(np.flatnonzero(candidates), key=lambda other: -moves[other].sum()):
        chain = tree.chains[other]
        if chain.base_link == own.base_link and (chain.tip_link, own.tip_link) not in tree.tips:
            between = KinematicChain(tree.robot, chain.tip_link, own.tip_link, tree.locked)
            if set(between.joint_names).isdisjoint(chain.joint_names):
                return int(other)
    return None


def _part(whole: KinematicTree, tips: list[Tip], blocks: np.ndarray, numbers: np.ndarray) -> Part:
    """Return the part of some tips, by their numbers."""
    tree = KinematicTree(whole.robot, whole.base_link, [tips[i] for i in numbers], whole.locked)
    variables = np.array([whole.joint_names.index(name) for name in tree.joint_names])
    limits = whole.lower[variables], whole.upper[variables]
    targets = np.ascontiguousarray(blocks[:, numbers].reshape(len(blocks), -1, 4))
    return Part(tree.with_limits(*limits), targets, variables)
