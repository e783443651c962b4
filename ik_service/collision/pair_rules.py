"""
Pairs of links that are not checked with each other.

An SRDF tells them. Without one that does, they are found as MoveIt's setup assistant finds them:
links next to each other, those that collide at home, and those that collide nearly always.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
import math
from typing import TYPE_CHECKING

import numpy as np

from ik_service.collision.pair_cache import load_pairs, model_digest, save_pairs
from ik_service.collision.scene_arrays import robot_arrays, RobotArrays, world_arrays
from ik_service.kinematics.search_range import sampling_bounds
from ik_service.model.joint import JointType
from ik_service.model.semantics import Semantics

if TYPE_CHECKING:
    from ik_service.collision.checked_robot import CheckedRobot

POSTURES = 1000
"""Random postures that are looked at."""
NEARLY_ALWAYS = 0.95
"""Share of them in which a pair has to collide to be left out."""

_SEED = 1
_MOST_KEPT = 64  # robots whose pairs stay in memory
_kept: dict[str, Pairs] = {}
_NOTHING = world_arrays(())
_ENDLESS = {True: math.pi, False: 1.0}  # range of joints that turn or slide without end

Pairs = Mapping[frozenset[str], str]


def given_pairs(semantics: Semantics, links: tuple[str, ...]) -> Pairs | None:
    """
    Return the pairs that an SRDF disables; None where it disables nothing.

    :param semantics: the SRDF.
    :param links: all links of the robot.
    """
    pairs = dict(semantics.disabled_pairs)
    for link in semantics.unchecked_links:
        for other in (other for other in links if other != link):
            pairs.setdefault(frozenset((link, other)), 'unchecked link')
    for pair in semantics.enabled_pairs:
        pairs.pop(pair, None)
    return pairs or None


def known_pairs(model: CheckedRobot) -> Pairs:
    """
    Return the pairs of links that need no check, or that would always fail it.

    They are found once for a robot, and kept.

    :param model: the robot, with all but its pairs.
    :returns: by pair of links the reason: ``adjacent``, ``in collision at home`` or ``in collision
        in N % of random postures``.
    """
    digest = model_digest(model)
    pairs = _kept.get(digest)
    if pairs is None:
        pairs = load_pairs(digest)
    if pairs is None or not all(pair <= {*model.robot.links} for pair in pairs):
        pairs = _found_pairs(model)
        save_pairs(digest, pairs)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[digest] = pairs
    return pairs


def _found_pairs(model: CheckedRobot) -> Pairs:
    found = dict.fromkeys(_adjacent(model), 'adjacent')
    pairs = [
        (i, j)
        for i, j in model.loose_pairs()
        if frozenset((model.parts[i].owner, model.parts[j].owner)) not in found
    ]
    arrays = robot_arrays(model.bodies.arrays, model.parts, pairs)
    for pair in _colliding(model, arrays, model.home):
        found.setdefault(pair, 'in collision at home')
    counts: dict[frozenset[str], int] = {}
    for q in random_postures(model, POSTURES):
        for pair in _colliding(model, arrays, q):
            if pair not in found:
                counts[pair] = counts.get(pair, 0) + 1
    for pair, count in counts.items():
        if count >= NEARLY_ALWAYS * POSTURES:
            found[pair] = f'in collision in {100 * count / POSTURES:g} % of random postures'
    return found


def random_postures(model: CheckedRobot, count: int) -> np.ndarray:
    """
    Return random postures within the limits, the same ones each time.

    :param model: the robot.
    :param count: how many.
    :returns: (count, m) [rad] or [m].
    """
    joints = [model.robot.joints[name] for name in model.joint_names]
    lower, upper = sampling_bounds(
        [joint.limits.lower for joint in joints],
        [joint.limits.upper for joint in joints],
        [_ENDLESS[joint.type is not JointType.PRISMATIC] for joint in joints],
    )
    return np.random.default_rng(_SEED).uniform(lower, upper, (count, len(joints)))


def _adjacent(model: CheckedRobot) -> Iterator[frozenset[str]]:
    """
    Yield the pairs of links on one rigid body, or on two with one joint between them.

    Bodies without geometry, such as those between the parts of a planar joint, do not count.
    """
    solid = {part.body for part in model.parts}
    above = [-1, *model.bodies.arrays.parents.tolist()]
    neighbours = {(body, body) for body in solid}
    for body in solid:
        other = above[body]
        while other > 0 and other not in solid:
            other = above[other]
        neighbours |= {(body, other), (other, body)}
    links = dict.fromkeys(part.owner for part in model.parts)
    for a, b in combinations(links, 2):
        if (model.bodies.body_of[a], model.bodies.body_of[b]) in neighbours:
            yield frozenset((a, b))


def _colliding(
    model: CheckedRobot, arrays: RobotArrays, q: np.ndarray
) -> dict[frozenset[str], None]:
    """Return the pairs of links that collide, as the keys, in the order of their parts."""
    workspace = model.workspace
    found: dict[frozenset[str], None] = {}
    workspace.posture[:] = q
    for i, j in workspace.near_pairs(arrays, _NOTHING):
        a, b = model.parts[i], model.parts[j]
        pair = frozenset((a.owner, b.owner))
        if pair not in found and workspace.collides(a, workspace.place(i), b, workspace.place(j)):
            found[pair] = None
    return found
