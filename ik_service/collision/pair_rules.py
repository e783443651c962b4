"""
Pairs of links that are not checked with each other.

An SRDF lists them. Without one that does, they are those that are next to each other, those that
one joint alone moves against each other, and those that collide nearly always, as MoveIt's setup
assistant finds them. Unlike there, a collision at home is no reason: a pair that collides there,
but not nearly always, may do so in earnest, such as a hand in the leg beside it.

A damaged or unreadable file counts as absent; where none can be written the rules are found anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
import hashlib
from itertools import combinations
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.collision.scene_arrays import BodyArrays, robot_arrays, RobotArrays, world_arrays
from ik_service.jit.cached_files import cache_folder, read_checked, write_checked
from ik_service.jit.kernel_source import read_sources, source_digest
from ik_service.kinematics.joint_space import sampling_bounds
from ik_service.model.expanded_joints import is_inside_joint
from ik_service.model.groups.srdf import Semantics
from ik_service.model.joint import JointType

if TYPE_CHECKING:
    from ik_service.collision.checked_robot import CheckedRobot


_SAME_ORIGIN = 1e-9  # [m]


def model_digest(model: CheckedRobot) -> str:
    """Return a digest of all that the pairs depend on: home, joints with limits, and geometry."""
    digest = hashlib.sha256()
    joints = [model.robot.joints[name] for name in model.joint_names]
    limits = [(j.type.value, j.limits.lower, j.limits.upper) for j in joints]
    digest.update(repr((limits, [(p.owner, p.body) for p in model.parts])).encode())
    for array in (model.home, *model.bodies.arrays):
        digest.update(array.tobytes())
    for part in model.parts:
        digest.update(part.frame.tobytes())
        digest.update(part.outline.tobytes())
        digest.update(part.shape_outline.surface)
    return digest.hexdigest()


def load_pairs(digest: str) -> dict[frozenset[str], str] | None:
    """Return the pairs, with reasons, kept under :func:`model_digest`; None for none."""
    path = _path(digest)
    with suppress(OSError, ValueError):
        data = None if path is None else read_checked(path)
        if data is not None:
            return {frozenset((a, b)): reason for a, b, reason in json.loads(data)}
    return None


def save_pairs(digest: str, pairs: Mapping[frozenset[str], str]) -> None:
    """Keep the pairs of a robot under its :func:`model_digest`, where possible."""
    path = _path(digest)
    if path is not None:
        data = json.dumps([[*sorted(pair), reason] for pair, reason in pairs.items()]).encode()
        with suppress(OSError):
            write_checked(path, data)


def _path(digest: str) -> Path | None:
    """Return the file for the pairs; None where nothing is kept."""
    folder, source = cache_folder(), source_digest(__file__)
    if folder is None or source is None:
        return None
    return folder / f'unchecked_pairs-{digest[:32]}-{source[:16]}.json'


read_sources(__file__)
POSTURES = 1000  # random postures that are checked
NEARLY_ALWAYS = 0.95
"""
Share of them in which a pair has to collide to be left out, MoveIt's own: geometry that overlaps
does in all of them, and arms that fold onto themselves were found to do in up to two thirds.
"""

_SEED = 1
_CHUNK = 50  # postures between which the pairs that can be decided on are
_MOST_KEPT = 64  # robots whose pairs stay in memory
_kept: dict[str, Pairs] = {}
_NOTHING = world_arrays(())
_ENDLESS = {True: math.pi, False: 1.0}  # range of joints that turn or slide without end

Pairs = Mapping[frozenset[str], str]


def given_pairs(semantics: Semantics, links: tuple[str, ...]) -> Pairs | None:
    """Return the pairs of links that an SRDF disables; None where it disables nothing."""
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

    :returns: by pair of links the reason: ``adjacent``, ``moved by one joint`` or ``in collision
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


def home_contacts(model: CheckedRobot) -> tuple[tuple[str, str], ...]:
    """Return the pairs of links that are checked and collide at home."""
    pairs = _colliding(model, model.arrays, model.home)
    links = {link: number for number, link in enumerate(model.robot.links)}
    ordered = (sorted(pair, key=links.__getitem__) for pair in pairs)
    return tuple((a, b) for a, b in ordered)


def _found_pairs(model: CheckedRobot) -> Pairs:
    found = dict.fromkeys(_adjacent(model), 'adjacent')
    for pair in _moved_by_one_joint(model):
        found.setdefault(pair, 'moved by one joint')
    undecided = [(i, j) for i, j in model.loose_pairs() if _owners(model, i, j) not in found]
    counts: dict[frozenset[str], int] = {}
    postures = random_postures(model, POSTURES)
    for seen in range(0, POSTURES, _CHUNK):
        if not undecided:
            break
        arrays = robot_arrays(model.bodies.arrays, model.parts, undecided)
        for q in postures[seen : seen + _CHUNK]:
            for pair in _colliding(model, arrays, q):
                counts[pair] = counts.get(pair, 0) + 1
        least = NEARLY_ALWAYS * POSTURES - (POSTURES - seen - _CHUNK)
        undecided = [(i, j) for i, j in undecided if counts.get(_owners(model, i, j), 0) >= least]
    for i, j in undecided:
        share = 100 * counts[_owners(model, i, j)] / POSTURES
        found[_owners(model, i, j)] = f'in collision in {share:g} % of random postures'
    return found


def _owners(model: CheckedRobot, i: int, j: int) -> frozenset[str]:
    """Return the links of two parts."""
    return frozenset((model.parts[i].owner, model.parts[j].owner))


def random_postures(model: CheckedRobot, count: int) -> np.ndarray:
    """Return random postures (count, m) within the limits, the same ones each time."""
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

    Joints that turn about one point, as those of a spherical wrist, count as one where the bodies
    between them have no geometry; so do the parts of a planar or floating joint.
    """
    solid = {part.body for part in model.parts}
    bodies, joints = model.bodies, model.robot.joints
    parents = bodies.arrays.parents
    inside = {body for link, body in bodies.body_of.items() if is_inside_joint(link, joints)}
    neighbours = {(body, body) for body in solid}
    for body in solid:
        child, other = body, int(parents[body - 1]) if body else 0
        while other > 0 and other not in solid:
            if other not in inside and not _about_one_point(bodies.arrays, child, other):
                break
            child, other = other, int(parents[other - 1])
        neighbours |= {(body, other), (other, body)}
    links = dict.fromkeys(part.owner for part in model.parts)
    for a, b in combinations(links, 2):
        if (bodies.body_of[a], bodies.body_of[b]) in neighbours:
            yield frozenset((a, b))


def _about_one_point(arrays: BodyArrays, child: int, parent: int) -> bool:
    """Return whether the joints above a body and above its parent turn about the same point."""
    apart = np.abs(arrays.before[child - 1, 9:]).max() >= _SAME_ORIGIN
    return not (apart or arrays.moves[[child - 1, parent - 1], 1].any())


def _moved_by_one_joint(model: CheckedRobot) -> Iterator[frozenset[str]]:
    """
    Yield the pairs of links between which one variable alone moves: a joint, and its mimics.

    The limits of that joint say how far they go, as for adjacent ones: the fingers of a gripper
    touch when it is closed, which is where many a description has it at 0.
    """
    parents, variables = model.bodies.arrays.parents, model.bodies.arrays.variables
    for variable in np.flatnonzero(np.bincount(variables) > 1) if len(variables) else ():
        group = np.arange(model.bodies.count)  # the topmost body that only this variable moves
        for body in np.flatnonzero(variables == variable) + 1:  # parents come first
            group[body] = group[parents[body - 1]]
        links = [part.owner for part in model.parts]
        for a, b in combinations(dict.fromkeys(links), 2):
            one, other = (model.bodies.body_of[link] for link in (a, b))
            if one != other and group[one] == group[other]:
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


if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker

_MOST = 100  # pairs of one reason that are named


def left_out_text(checker: CollisionChecker) -> str:
    """Return which pairs of links are not checked with each other, and why; '' for none."""
    reasons: dict[str, list[str]] = {}
    for pair, reason in checker.disabled_pairs.items():
        reasons.setdefault(reason or 'by the SRDF', []).append(' – '.join(sorted(pair)))
    description = checker.robot.description
    seen, solid = (
        dict.fromkeys(link for link, _ in description.elements_of_links(tag))
        for tag in ('visual', 'collision')
    )
    bare = [link for link in seen if link not in solid]
    if bare:
        reasons['visible, but without a collision shape'] = bare
    return '; '.join(f'{reason}: {_listed(links)}' for reason, links in reasons.items())


def home_text(checker: CollisionChecker) -> str:
    """Return which pairs of links collide at home, and how to allow it; '' for none."""
    pairs = checker.home_contacts
    if not pairs:
        return ''
    named = _listed([f'{a} with {b}' for a, b in pairs])
    lines = ' '.join(srdf_line(pair) for pair in pairs[:_MOST])
    return (
        'the robot collides in the middle of the limits of its joints (others at 0): '
        f'{named}. Where that is no true collision, an SRDF that disables pairs, those that are '
        f'not checked now among them, can allow it with {lines}'
    )


def srdf_line(pair: Sequence[str], reason: str = 'Default') -> str:
    """Return the line of an SRDF that disables the checks of a pair of links, with a reason."""
    from xml.sax.saxutils import quoteattr  # imports the network library

    a, b = (quoteattr(link) for link in pair)
    return f'<disable_collisions link1={a} link2={b} reason={quoteattr(reason)}/>'


def srdf_lines(pairs: Mapping[frozenset[str], str]) -> list[str]:
    """Return the lines of an SRDF for pairs that are not checked, by pair with their reasons."""
    return [srdf_line(sorted(pair), reason) for pair, reason in pairs.items()]


def _listed(words: Sequence[str]) -> str:
    more = f' and {len(words) - _MOST} more' if len(words) > _MOST else ''
    return ', '.join(words[:_MOST]) + more
