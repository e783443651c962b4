"""A robot prepared for collision checks, without any world: rigid bodies, geometry and pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
import re
import threading
from types import MappingProxyType
from typing import BinaryIO

import numpy as np

from ik_service.collision.pair_rules import given_pairs, home_contacts, known_pairs
from ik_service.collision.part import LINK, Part, Solid
from ik_service.collision.scene_arrays import BodyArrays, robot_arrays
from ik_service.collision.shapes import FARTHEST, load_coal, Mesh, MOST_TRIANGLES, Shape
from ik_service.collision.workspace import Workspace
from ik_service.common.quoting import named
from ik_service.common.regular_file import open_regular, read_regular
from ik_service.common.transforms import inverse_transform, rigid_transform, rotation_from_z_to
from ik_service.exceptions import ArgumentError, ChainError, CollisionGeometryError
from ik_service.kinematics.joint_path import joint_motion
from ik_service.kinematics.pose_error import frame_of
from ik_service.model.geometry.gltf import GltfPart, read_gltf
from ik_service.model.geometry.link_geometry import (
    CollisionGeometry,
    MeshFile,
    read_collision_geometry,
)
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles, read_beside
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


LARGEST_FILE = 100 * 2**20  # longest mesh file that is read [byte]
LARGEST_SUM = 500 * 2**20  # length of all mesh files of a robot together [byte]

_GLTF = ('.glb', '.gltf')
_FORMATS = ('.stl', '.obj', '.dae', '.ply', '.off', *_GLTF)


class MeshReader:
    """
    Reader of a robot's mesh files.

    :param urdf: the file of the URDF; None when it came as text.
    """

    def __init__(self, urdf: Path | None, package_dirs: Iterable[Path] = ()) -> None:
        self._files = MeshFiles(urdf, package_dirs)
        self._meshes: dict[MeshFile, Mesh] = {}
        self._sum = 0

    def read(self, mesh: MeshFile) -> Mesh:
        """Return the triangles of a file, scaled; raises MeshError for one that cannot be used."""
        if mesh not in self._meshes:
            path = self._files.find(mesh.filename)
            try:
                self._meshes[mesh] = self._read(path, mesh.scale)
            except ArgumentError as error:
                limit = f'at most {MOST_TRIANGLES} triangles within {FARTHEST:g} m are taken'
                raise MeshError(path, f'cannot be used: {error}; {limit}') from error
            except OSError as error:
                reason = error.strerror or error
                raise MeshError(path, f'cannot be read: {reason}') from error
            except MeshError:
                raise
            except Exception as error:  # errors of Coal and its reader, among others
                raise MeshError(path, f'cannot be read: {_told(error)}') from error
        return self._meshes[mesh]

    def _read(self, path: Path, scale: tuple[float, float, float]) -> Mesh:
        suffix = path.suffix.lower()
        if suffix not in _FORMATS:
            raise ValueError(f'it is none of {", ".join(_FORMATS)}')
        if suffix in _GLTF:
            parts = read_gltf(
                self._counted(path, read_regular(path, LARGEST_FILE)),
                lambda name: self._counted(path, read_beside(path, name, LARGEST_FILE)),
            )
            return _from_gltf(parts, scale)
        with open_regular(path, LARGEST_FILE) as file:  # before Coal opens it
            self._count(path, file.seek(0, 2))
            file.seek(0)
            unit = collada_unit(file) if suffix == '.dae' else 1.0  # which Coal passes over
            _check_text(file, suffix)
        return _by_coal(path, unit * np.array(scale))

    def _counted(self, path: Path, data: bytes) -> bytes:
        self._count(path, len(data))
        return data

    def _count(self, path: Path, length: int) -> None:
        self._sum += length
        if self._sum > LARGEST_SUM:
            raise MeshError(
                path,
                f'is not read: the meshes of this robot are longer than '
                f'{LARGEST_SUM // 2**20} MiB together',
            )


def _check_text(file: BinaryIO, suffix: str) -> None:
    """Refuse what Coal's reader takes in part, or never ends to read."""
    data = file.read() if suffix in ('.stl', '.off', '.dae') else b''
    missing = _named_elsewhere(data) if suffix == '.dae' else ''
    if missing:
        raise ValueError(f'it shows {missing}, which is not in the file')
    if suffix == '.off' and b'#' in data:
        raise ValueError('an OFF file with comments cannot be read')
    binary = len(data) == 84 + 50 * int.from_bytes(data[80:84], 'little')
    if suffix == '.stl' and not binary and b'endsolid' not in data[-1000:]:
        raise ValueError('it is cut off')


_INSTANCE = re.compile(
    rb'<(?:\w+:)?instance_(?:geometry|controller|node)\s[^>]*?\burl\s*=\s*["\']([^"\']*)'
)
_ID = re.compile(rb'\bid\s*=\s*["\']([^"\']*)')


def _named_elsewhere(collada: bytes) -> str:
    """Return a shape that a Collada file shows and does not hold; '' for none."""
    collada = re.sub(rb'<!--.*?-->', b'', collada, flags=re.DOTALL)
    ids = {b'#' + name for name in _ID.findall(collada)}
    missing = (url for url in _INSTANCE.findall(collada) if url not in ids)
    return next(missing, b'').decode(errors='replace')[:80]


def _from_gltf(parts: Sequence[GltfPart], scale: tuple[float, float, float]) -> Mesh:
    if not parts:
        raise ArgumentError('triangles', 'there are 0')
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [part.triangles + start for part, start in zip(parts, starts, strict=True)]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices * scale, np.concatenate(triangles))


def _by_coal(path: Path, scale: np.ndarray) -> Mesh:
    model = load_coal().MeshLoader().load(str(path), scale)
    if not 0 < model.num_tris <= MOST_TRIANGLES:
        raise ArgumentError('triangles', f'there are {model.num_tris}')
    triangles = [[t[0], t[1], t[2]] for t in map(model.tri_indices, range(model.num_tris))]
    return Mesh(np.array(model.vertices()).reshape(-1, 3), triangles)


def _told(error: Exception) -> str:
    """Return the message of Coal's reader, which follows its place in the source."""
    lines = str(error).partition('message: ')[2] or str(error)
    said = [line.strip() for line in lines.splitlines() if line.strip()]
    return ' '.join(line for line in said if not line.startswith('Hint'))


def robot_parts(
    robot: Robot, bodies: RigidBodies, skip_faulty: bool
) -> tuple[tuple[Part, ...], Mapping[str, str], Mapping[str, tuple[Solid, ...]]]:
    """
    Return the collision geometry of a robot.

    :param bodies: its rigid bodies.
    :param skip_faulty: whether unusable parts are left out.
    :returns: the parts in document order; by link why something of it is left out; and by link
        its shapes in its frame.
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
    unplaced = _unplaced_links(robot)
    for element in elements:
        if element.remark:
            continue
        try:
            if element.link not in bodies.body_of:
                raise CollisionGeometryError(element.link, '', 'it is no link of the robot')
            _check_place(element.link, unplaced)
            shape = _shape(element, reader)
        except CollisionGeometryError as error:
            if not skip_faulty:
                raise
            left_out.setdefault(element.link, error.reason)
            continue
        body = bodies.body_of[element.link]
        T_body_link = bodies.T_body_link[element.link]
        solid = Solid(((shape, element.T_link_geometry),))
        solids[element.link] = (*solids.get(element.link, ()), solid)
        checked = element.link not in unchecked
        parts += solid.parts(element.link, LINK, body, T_body_link, checked)
    return tuple(parts), MappingProxyType(left_out), MappingProxyType(solids)


def _unplaced_links(robot: Robot) -> dict[str, str]:
    """Return the links of which the description does not say where they are, and why."""
    found: dict[str, str] = {}
    for joint in robot.joints.values():
        if not joint.placed:
            pending = [joint.child]
            while pending:
                link = pending.pop()
                found.setdefault(link, f'{named("joint", joint.name)} {joint.fault}')
                pending += [below.child for below in robot.child_joints_of(link)]
    return found


def _check_place(link: str, unplaced: Mapping[str, str]) -> None:
    if link in unplaced:
        raise CollisionGeometryError(link, '', unplaced[link])


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
    :ivar pairs: indices of the parts that are checked with each other.
    :ivar arrays: all of that for the kernels.
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
        self.unchecked_links = frozenset(robot.semantics.unchecked_links)
        self.rest = _rest(robot, self.joint_names)
        self.home = np.concatenate([middle, self.rest[len(middle) :]])
        self._threads = threading.local()
        given = given_pairs(robot.semantics, robot.links)
        pairs = known_pairs(self) if given is None else given
        self.disabled_pairs: Mapping[frozenset[str], str] = MappingProxyType(dict(pairs))
        self.pairs = tuple(
            (i, j)
            for i, j in self.loose_pairs()
            if frozenset((self.parts[i].owner, self.parts[j].owner)) not in self.disabled_pairs
        )
        self.arrays = robot_arrays(self.bodies.arrays, self.parts, self.pairs)
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

    def loose_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of parts of different rigid bodies."""
        pairs = combinations(range(len(self.parts)), 2)
        return [(i, j) for i, j in pairs if self.parts[i].body != self.parts[j].body]


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
