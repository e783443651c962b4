"""
A robot prepared for collision checks, without any world: rigid bodies, geometry and pairs.

An SRDF lists the pairs of links that are not checked with each other. Without one that does, they
are those that are next to each other, those that one joint alone moves against each other, and
those that collide nearly always, as MoveIt's setup assistant finds them. Unlike there, a collision
at home is no reason: a pair that collides there, but not nearly always, may do so in earnest, such
as a hand in the leg beside it. They are kept in the user's cache, where a damaged file counts as
absent; where none can be written they are found anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
import hashlib
from itertools import combinations
import json
import math
from pathlib import Path
import threading
from types import MappingProxyType

import numpy as np

from ik_service.collision.mesh_reader import MeshReader
from ik_service.collision.part import LINK, Part, Solid
from ik_service.collision.scene_arrays import BodyArrays, robot_arrays, RobotArrays, world_arrays
from ik_service.collision.shapes import Shape
from ik_service.collision.workspace import Workspace
from ik_service.common.quoting import named
from ik_service.common.transforms import inverse_transform, rigid_transform, rotation_from_z_to
from ik_service.exceptions import ChainError, CollisionGeometryError
from ik_service.jit.cached_files import cache_folder, read_checked, write_checked
from ik_service.jit.kernel_source import read_sources, source_digest
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.joint_space import sampling_bounds
from ik_service.kinematics.link_poses import links_below
from ik_service.kinematics.pose_error import frame_of
from ik_service.model.expanded_joints import is_inside_joint
from ik_service.model.geometry.link_geometry import (
    CollisionGeometry,
    MeshFile,
    read_collision_geometry,
)
from ik_service.model.geometry.mesh_files import MeshError
from ik_service.model.groups.srdf import Semantics
from ik_service.model.joint import JointType
from ik_service.model.robot_model import RobotModel
from ik_service.robot import Robot


class RigidBodies:
    """
    Rigid bodies of a robot.

    :param joint_names: names of all independent joints, in the order of the joint vectors.
    :ivar count: number of bodies.
    :ivar arrays: their constants.
    :ivar body_of: index of the body of each link.
    :ivar T_body_link: (4, 4) pose of each link in the frame of its body [m].
    """

    def __init__(self, robot: RobotModel, joint_names: tuple[str, ...]) -> None:
        variable = {name: index for index, name in enumerate(joint_names)}
        self.body_of = {robot.root_link: 0}
        self.T_body_link = {robot.root_link: np.eye(4)}
        rows: list[tuple[int, np.ndarray, int, tuple[float, float]]] = []
        pending = [robot.root_link]
        while pending:
            parent = pending.pop()
            for joint in robot.child_joints_of(parent):
                body, T = self.body_of[parent], self.T_body_link[parent] @ joint.T_parent_joint
                if joint.movable:
                    source, scale, offset = robot.resolve_mimic(joint.name)
                    T_align = rigid_transform(rotation_from_z_to(joint.axis))
                    turns = joint.type is not JointType.PRISMATIC
                    move = (scale, 0.0) if turns else (0.0, scale)
                    T_before = T @ joint_motion(joint, offset) @ T_align
                    rows.append((body, frame_of(T_before), variable[source], move))
                    body, T = len(rows), inverse_transform(T_align)
                self.body_of[joint.child], self.T_body_link[joint.child] = body, T
                pending.append(joint.child)
        self.count = len(rows) + 1
        self.arrays = BodyArrays(
            np.array([row[0] for row in rows], np.int64),
            np.array([row[1] for row in rows]).reshape(-1, 12),
            np.array([row[2] for row in rows], np.int64),
            np.array([row[3] for row in rows]).reshape(-1, 2),
        )
        for array in self.arrays:
            array.setflags(write=False)


def robot_parts(
    robot: Robot, bodies: RigidBodies, skip_faulty: bool
) -> tuple[tuple[Part, ...], Mapping[str, str], Mapping[str, tuple[Solid, ...]]]:
    """
    Return the collision geometry of a robot.

    :param bodies: its rigid bodies.
    :param skip_faulty: whether unusable parts are left out.
    :returns: the parts in document order; by link why something of it is left out or uncertain;
        and by link its shapes in its frame.
    :raises CollisionGeometryError: an element is faulty or a mesh cannot be read, and it must not
        be left out.
    """
    unchecked = robot.semantics.unchecked_links
    reader = MeshReader(robot.source, robot.package_dirs)
    parts: list[Part] = []
    left_out: dict[str, str] = {}
    solids: dict[str, tuple[Solid, ...]] = {}
    elements = read_collision_geometry(robot.description)
    if len(elements) != robot.description.shapes:
        raise CollisionGeometryError(
            robot.root_link,
            '',
            f'the description holds {robot.description.shapes} <collision> elements, of which '
            f'{len(elements)} can be read; without the others no posture can be called free',
        )
    unplaced = _links_of_faulty_joints(robot, placed=False)
    held = _links_of_faulty_joints(robot, placed=True)
    for element in (*elements, *_misplaced(robot)):
        if element.remark:
            continue
        try:
            if element.link not in bodies.body_of:
                raise CollisionGeometryError(element.link, '', 'it is no link of the robot')
            if element.link in unplaced:
                raise CollisionGeometryError(element.link, '', unplaced[element.link])
            shape = _shape(element, reader)
        except CollisionGeometryError as error:
            if not skip_faulty:
                raise
            left_out.setdefault(element.link, error.reason)
            continue
        if element.link in held:
            reason = f'{held[element.link]}; checked with that joint at zero alone'
            left_out.setdefault(element.link, reason)
        body = bodies.body_of[element.link]
        T_body_link = bodies.T_body_link[element.link]
        solid = Solid(((shape, element.T_link_geometry),))
        solids[element.link] = (*solids.get(element.link, ()), solid)
        checked = element.link not in unchecked
        parts += solid.parts(element.link, LINK, body, T_body_link, checked)
    return tuple(parts), MappingProxyType(left_out), MappingProxyType(solids)


def _misplaced(robot: Robot) -> Iterator[CollisionGeometry]:
    for link in robot.description.links_with_inner('collision'):
        fault = 'a <collision> stands inside of another element'
        yield CollisionGeometry(link, None, np.eye(4), fault)


def _links_of_faulty_joints(robot: Robot, *, placed: bool) -> dict[str, str]:
    """Return the links that faulty joints carry, and why; of those that are placed, or not."""
    found: dict[str, str] = {}
    for joint in robot.joints.values():
        if joint.fault and joint.placed is placed:
            for link in (joint.child, *links_below(robot, joint.child)):
                found.setdefault(link, f'{named("joint", joint.name)} {joint.fault}')
    return found


def _shape(element: CollisionGeometry, reader: MeshReader) -> Shape:
    geometry = element.geometry
    if geometry is None:
        raise CollisionGeometryError(element.link, '', element.fault)
    if isinstance(geometry, MeshFile):
        try:
            return reader.read(geometry)
        except MeshError as error:
            raise CollisionGeometryError(element.link, geometry.filename, str(error)) from error
    return geometry


class CheckedRobot:
    """
    Robot prepared for collision checks. Immutable.

    :param skip_faulty: whether geometry that cannot be used is left out.
    :raises CollisionGeometryError: geometry cannot be used, and must not be left out.
    :ivar chain_joints: names of the variables of the default chain; empty without one.
    :ivar joint_names: names of all independent joints, those first.
    :ivar movable_joints: names of all movable joints in document order.
    :ivar bodies: the rigid bodies.
    :ivar parts: the collision geometry.
    :ivar solids: by link its collision geometry, in its frame.
    :ivar unchecked_links: links that the SRDF checks with nothing.
    :ivar left_out: by link why something of it is left out.
    :ivar disabled_pairs: pairs of links that are not checked, with the reason.
    :ivar loose_links: pairs of links that have parts, on different rigid bodies.
    :ivar arrays: all of that for the kernels, with the pairs of parts that are checked.
    :ivar home_contacts: pairs of links that collide at home, where no SRDF disables any pairs.
    :ivar rest: (m,) the independent joints at 0, or at the limit next to 0.
    :ivar home: (m,) the joints of the default chain in the middle of their limits, the others at
        rest. At 0 many an arm is folded, or touches itself.
    """

    def __init__(self, robot: Robot, skip_faulty: bool) -> None:
        self.robot = robot
        self.chain_joints, middle = _chain_joints(robot)
        names = (*self.chain_joints, *robot.independent_joint_names)
        self.joint_names = tuple(dict.fromkeys(names))
        self.movable_joints = robot.movable_joint_names
        self.bodies = RigidBodies(robot, self.joint_names)
        self.parts, self.left_out, self.solids = robot_parts(robot, self.bodies, skip_faulty)
        of = {part.owner: part.body for part in self.parts}
        self.loose_links = [(a, b) for a, b in combinations(of, 2) if of[a] != of[b]]
        self.unchecked_links = frozenset(robot.semantics.unchecked_links)
        self.rest = _rest(robot, self.joint_names)
        self.home = np.concatenate([middle, self.rest[len(middle) :]])
        self._threads = threading.local()
        given = given_pairs(robot.semantics, robot.links)
        pairs = without_enabled(known_pairs(self), robot.semantics) if given is None else given
        self.disabled_pairs: Mapping[frozenset[str], str] = MappingProxyType(pairs)
        links = [pair for pair in self.loose_links if frozenset(pair) not in pairs]
        self.arrays = robot_arrays(self.bodies.arrays, self.parts, self.pairs_of(links))
        self.home_contacts = home_contacts(self) if given is None else ()

    @property
    def workspace(self) -> Workspace:
        """The memory of this thread."""
        threads = self._threads
        try:
            return threads.workspace
        except AttributeError:
            threads.workspace = Workspace(self.joint_names, self.bodies.count)
            return threads.workspace

    def pairs_of(self, links: Iterable[tuple[str, str]]) -> np.ndarray:
        """Return the pairs of parts of pairs of links as indices (k, 2)."""
        of: dict[str, list[int]] = {}
        for number, part in enumerate(self.parts):
            of.setdefault(part.owner, []).append(number)
        found = [np.stack(np.meshgrid(of[a], of[b], indexing='ij'), -1) for a, b in links]
        return np.concatenate([np.empty((0, 2), np.int64), *(p.reshape(-1, 2) for p in found)])


def _chain_joints(robot: Robot) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the variables of the default chain, and the middle of their limits."""
    try:
        chain = robot.chain()
    except ChainError:
        return (), np.empty(0)
    return chain.joint_names, chain.mid_range()


def _rest(robot: Robot, names: tuple[str, ...]) -> np.ndarray:
    limits = [robot.joints[name].limits for name in names]
    rest = np.array([min(max(0.0, limit.lower), limit.upper) for limit in limits])
    rest.setflags(write=False)
    return rest


POSTURES = 1000  # random postures that are checked
NEARLY_ALWAYS = 0.95
"""
Share of them in which a pair has to collide to be left out, MoveIt's own: geometry that overlaps
does in all of them, and arms that fold onto themselves were found to do in up to two thirds.
"""

_SAME_ORIGIN = 1e-9  # distance of two joints' origins that counts as none [m]
_SEED = 1  # of the random postures, so that each run finds the same pairs
_CHUNK = 50  # postures between which the pairs that can be decided on are
_MOST_KEPT = 64  # robots whose pairs stay in memory
_kept: dict[str, Pairs] = {}
_NOTHING = world_arrays(())
_ENDLESS = {True: math.pi, False: 1.0}  # range of joints that turn or slide without end

Pairs = Mapping[frozenset[str], str]

read_sources(__file__)  # for the name of the file of pairs


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


def given_pairs(semantics: Semantics, links: tuple[str, ...]) -> Pairs | None:
    """Return the pairs of links that an SRDF disables; None where it disables nothing."""
    unchecked = {
        frozenset((link, other)): 'unchecked link'
        for link in semantics.unchecked_links
        for other in links
        if other != link
    }
    pairs = without_enabled(unchecked, semantics)
    return {**pairs, **semantics.disabled_pairs} or None  # which count last, as in MoveIt


def without_enabled(pairs: Pairs, semantics: Semantics) -> dict[frozenset[str], str]:
    """Return pairs without those that an SRDF enables."""
    enabled = semantics.enabled_pairs
    return {pair: reason for pair, reason in pairs.items() if pair not in enabled}


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
    undecided = [pair for pair in model.loose_links if frozenset(pair) not in found]
    counts: dict[frozenset[str], int] = {}
    postures = random_postures(model, POSTURES)
    for seen in range(0, POSTURES, _CHUNK):
        if not undecided:
            break
        arrays = robot_arrays(model.bodies.arrays, model.parts, model.pairs_of(undecided))
        for q in postures[seen : seen + _CHUNK]:
            for pair in _colliding(model, arrays, q):
                counts[pair] = counts.get(pair, 0) + 1
        least = NEARLY_ALWAYS * POSTURES - (POSTURES - seen - _CHUNK)
        undecided = [pair for pair in undecided if counts.get(frozenset(pair), 0) >= least]
    for pair in map(frozenset, undecided):
        found[pair] = f'in collision in {100 * counts[pair] / POSTURES:g} % of random postures'
    return found


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
