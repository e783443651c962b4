"""Parts that a robot is drawn as: its visuals with the triangles of meshes, or a skeleton."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ik_service.common.files import open_regular, read_regular
from ik_service.common.quoting import named
from ik_service.common.resources import extra_module
from ik_service.common.transforms import rigid_transform, rotation_from_z_to
from ik_service.drawing.revolved_surface import capsule_surface
from ik_service.exceptions import MissingExtraError
from ik_service.model.description import RobotDescription
from ik_service.model.geometry.gltf import read_gltf
from ik_service.model.geometry.link_geometry import (
    Geometry,
    MeshFile,
    numbers,
    parsed_element,
    read_collision_geometry,
)
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles, read_beside
from ik_service.model.geometry.solids import Box, Capsule, Cylinder, Sphere
from ik_service.model.joint import JointType
from ik_service.robot import Robot

Color = tuple[float, float, float]


LARGEST_FILE = 100 * 2**20  # longest mesh file that is read [byte]
LARGEST_SUM = 500 * 2**20
"""Length of all mesh files of a robot together, above which further ones are not read [byte]."""

_MOST_COLORS = 32  # of a file; one with more is shown in a single colour
_GLTF = ('.glb', '.gltf')
_FORMATS = ('.stl', '.dae', '.obj', '.ply', '.off', *_GLTF)  # no archives


@dataclass(frozen=True)
class DrawnMesh:
    """Triangles of vertices (V, 3) [m] of one colour, 0 to 1, None where the file names none."""

    vertices: np.ndarray
    faces: np.ndarray
    color: Color | None = None


class MeshLoader:
    """
    Loader of a robot's meshes, which reports each file that cannot be shown once.

    :param urdf: the file of the URDF; None when it came as text.
    :param report: called with a sentence about a mesh that cannot be shown.
    :param size: of the arm, which what stands for its meshes is in proportion to [m].
    :ivar faults: names of the files that cannot be shown, by their fault.
    """

    def __init__(
        self,
        urdf: Path | None,
        report: Callable[[str], object],
        package_dirs: Iterable[Path] = (),
        size: float = 1.0,
    ) -> None:
        self.size = size
        self._files = MeshFiles(urdf, package_dirs)
        self._report = report
        self._meshes: dict[MeshFile, tuple[DrawnMesh, ...]] = {}
        self._bad: set[str] = set()
        self.faults: dict[str, list[str]] = {}
        self._sum = 0

    def get(self, mesh: MeshFile) -> tuple[DrawnMesh, ...]:
        """Return the meshes of a file; none, and a report, when it cannot be shown."""
        if mesh.filename in self._bad:
            return ()
        if mesh not in self._meshes:
            self._meshes[mesh] = self._read(mesh)
        return self._meshes[mesh]

    def _read(self, mesh: MeshFile) -> tuple[DrawnMesh, ...]:
        try:
            path = self._files.find(mesh.filename)
            self._count(path)
            return read_mesh(path, mesh.scale)
        except MeshError as error:
            self._bad.add(mesh.filename)
            self.faults.setdefault(error.fault, []).append(mesh.filename)
            self._report(f'{error}; it is drawn as a box')
            return ()

    def _count(self, path: Path) -> None:
        try:
            self._sum += path.stat().st_size
        except OSError as error:
            raise MeshError(path, f'cannot be read: {error.strerror}') from error
        if self._sum > LARGEST_SUM:
            raise MeshError(
                path,
                f'is not read: the meshes of this robot are longer than '
                f'{LARGEST_SUM // 2**20} MiB together',
            )


def read_mesh(path: Path, scale: tuple[float, float, float]) -> tuple[DrawnMesh, ...]:
    """Read a mesh file; MeshError if that cannot be, MissingExtraError without trimesh."""
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise MeshError(path, f'cannot be read: it is none of {", ".join(_FORMATS)}')
    try:
        read = _by_gltf if suffix in _GLTF else _by_trimesh
        meshes = _by_color([mesh for mesh in read(path, scale) if len(mesh.faces)])
    except (MissingExtraError, MeshError):
        raise
    except Exception as error:  # each format has a reader, and errors, of its own
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise MeshError(path, f'cannot be read: {reason}') from error
    if not meshes or not all(np.isfinite(mesh.vertices).all() for mesh in meshes):
        raise MeshError(path, 'holds no triangles')
    return meshes


def _by_gltf(path: Path, scale: tuple[float, float, float]) -> Iterator[DrawnMesh]:
    data = read_regular(path, LARGEST_FILE)
    for part in read_gltf(data, lambda name: read_beside(path, name, LARGEST_FILE)):
        yield _scaled(part.vertices, part.triangles, scale, part.color)


class _Beside(Mapping[str, bytes]):
    """Files that a mesh file names, such as its colours; trimesh itself would open any file."""

    def __init__(self, mesh: Path) -> None:
        self._mesh = mesh

    def __getitem__(self, name: str) -> bytes:
        try:
            return read_beside(self._mesh, name, LARGEST_FILE)
        except OSError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(())  # it lists no folders

    def __len__(self) -> int:
        return 0


def _by_trimesh(path: Path, scale: tuple[float, float, float]) -> Iterator[DrawnMesh]:
    trimesh: Any = extra_module('trimesh', 'viewer')
    suffix = path.suffix.lower()
    if suffix == '.dae' and find_spec('collada') is None:
        raise MeshError(path, f'cannot be read: {MissingExtraError("pycollada", "viewer")}')
    with open_regular(path, LARGEST_FILE) as file:
        unit = collada_unit(file) if suffix == '.dae' else 1.0
        scene = trimesh.load_scene(file, file_type=suffix.lstrip('.'), resolver=_Beside(path))
    factors = unit * scale[0], unit * scale[1], unit * scale[2]
    for body in scene.dump():
        if isinstance(body, trimesh.Trimesh):
            yield _scaled(body.vertices, body.faces, factors, _color(body))


def _scaled(
    vertices: np.ndarray, faces: np.ndarray, scale: tuple[float, float, float], color: Color | None
) -> DrawnMesh:
    faces = np.array(faces, np.uint32)
    # A mirrored mesh is inside out, unless its triangles are turned as well.
    faces = faces[:, ::-1] if np.prod(scale) < 0.0 else faces
    return DrawnMesh(np.array(vertices, np.float32) * np.array(scale, np.float32), faces, color)


def _color(body: Any) -> Color | None:  # noqa: ANN401 (Trimesh)
    """Return the colour of a part of a file; without its texture."""
    if not body.visual.defined:
        return None
    visual = body.visual if body.visual.kind != 'texture' else body.visual.material
    red, green, blue = (float(value) / 255.0 for value in visual.main_color[:3])
    return red, green, blue


def _by_color(meshes: Sequence[DrawnMesh]) -> tuple[DrawnMesh, ...]:
    """Join meshes of the same colour, or all of them when there are too many colours."""
    colors: list[Color | None] = [*dict.fromkeys(mesh.color for mesh in meshes)]
    if len(colors) > _MOST_COLORS:
        return (_joined(meshes, None),)
    return tuple(_joined([m for m in meshes if m.color == color], color) for color in colors)


def _joined(meshes: Sequence[DrawnMesh], color: Color | None) -> DrawnMesh:
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    faces = [mesh.faces + np.uint32(start) for mesh, start in zip(meshes, starts, strict=True)]
    return DrawnMesh(np.concatenate([m.vertices for m in meshes]), np.concatenate(faces), color)


@dataclass(frozen=True)
class Visual:
    """Shape of a link, at T_link_geometry (4, 4) [m]; no colour, 0 to 1, where none is named."""

    link: str
    geometry: Geometry
    T_link_geometry: np.ndarray
    color: Color | None


def read_visuals(description: RobotDescription) -> tuple[list[Visual], list[str]]:
    """Return the visible parts of a robot, and why others are not shown."""
    colors = dict(_colors(description.root))
    visuals: list[Visual] = []
    warnings: list[str] = []
    for link, element in description.elements_of_links('visual'):
        try:
            visuals.append(_visual(link, element, colors))
        except ValueError as error:
            warnings.append(f'{named("link", link)}: a visual is not shown: {error}')
    return visuals, warnings


def _visual(link: str, element: ElementTree.Element, colors: dict[str, Color]) -> Visual:
    geometry, T_link_geometry = parsed_element(element)
    color = None
    material = element.find('material')
    if material is not None:
        own = material.find('color')
        color = colors.get(material.get('name', '')) if own is None else _material_color(own)
    return Visual(link, geometry, T_link_geometry, color)


def _colors(root: ElementTree.Element) -> Iterator[tuple[str, Color]]:
    for material in root.findall('material'):
        color = material.find('color')
        if color is None:
            continue
        try:
            yield material.get('name', ''), _material_color(color)
        except ValueError:  # parts that refer to it are drawn in the colour for none
            continue


def _material_color(element: ElementTree.Element) -> Color:
    rgba = numbers(element, 'rgba')
    if len(rgba) not in (3, 4) or not all(map(math.isfinite, rgba)):
        raise ValueError(f'<color> rgba: {element.get("rgba")} is no colour')
    red, green, blue = (min(max(value, 0.0), 1.0) for value in rgba[:3])
    return red, green, blue


# Shares of the size of the arm: edges of the box for a mesh that cannot be shown, radii of a
# skeleton's links and joints, and its shortest link.
_PLACEHOLDER, _BONE, _KNUCKLE, _SHORTEST_BONE = 0.08, 0.02, 0.035, 1e-3
_BONE_COLOR, _KNUCKLE_COLOR = (0.75, 0.78, 0.82), (0.35, 0.40, 0.47)


@dataclass(frozen=True)
class DrawnPart:
    """Part to draw, at T_link_geometry (4, 4) [m]; colour and opacity 0 to 1, or None."""

    link: str
    geometry: Box | Cylinder | Sphere | DrawnMesh
    T_link_geometry: np.ndarray
    color: Color | None
    opacity: float | None = None


def robot_parts(
    robot: Robot, visuals: Sequence[Visual], loader: MeshLoader
) -> tuple[DrawnPart, ...]:
    """Parts of a robot by its visuals: boxes for unreadable meshes, a skeleton for none."""
    if not visuals:
        return skeleton(robot, loader.size)
    return tuple(part for visual in visuals for part in _parts(visual, loader))


def collision_parts(robot: Robot, loader: MeshLoader) -> tuple[DrawnPart, ...]:
    """Return the shapes that collisions are checked with; faulty ones are left out."""
    return tuple(
        part
        for shape in read_collision_geometry(robot.description)
        if shape.geometry is not None
        for part in _parts(Visual(shape.link, shape.geometry, shape.T_link_geometry, None), loader)
    )


def skeleton(robot: Robot, size: float = 1.0) -> tuple[DrawnPart, ...]:
    """Cylinders from links to the joints below them and along rails, balls at joints."""
    parts = []
    for joint in robot.joints.values():
        end, limits = joint.T_parent_joint[:3, 3], joint.limits
        bones = [(np.zeros(3), end)]
        if joint.type is JointType.PRISMATIC and math.isfinite(limits.upper - limits.lower):
            axis = joint.T_parent_joint[:3, :3] @ joint.axis
            bones.append((end + limits.lower * axis, end + limits.upper * axis))
        for start, stop in bones:
            length = float(np.linalg.norm(stop - start))
            if length > _SHORTEST_BONE * size:
                R = rotation_from_z_to((stop - start) / length)
                T = rigid_transform(R, (start + stop) / 2)
                bone = Cylinder(_BONE * size, length)
                parts.append(DrawnPart(joint.parent, bone, T, _BONE_COLOR))
        if joint.movable:
            T = rigid_transform(None, end)
            parts.append(DrawnPart(joint.parent, Sphere(_KNUCKLE * size), T, _KNUCKLE_COLOR))
    return tuple(parts)


def _parts(visual: Visual, loader: MeshLoader) -> Iterator[DrawnPart]:
    geometry, T = visual.geometry, visual.T_link_geometry
    if isinstance(geometry, Capsule):
        vertices, faces = capsule_surface(geometry.radius, geometry.length)
        surface = DrawnMesh(vertices.astype(np.float32), faces.astype(np.uint32))
        yield DrawnPart(visual.link, surface, T, visual.color)
        return
    if not isinstance(geometry, MeshFile):
        yield DrawnPart(visual.link, geometry, T, visual.color)
        return
    meshes = loader.get(geometry)
    for mesh in meshes:
        yield DrawnPart(visual.link, mesh, T, visual.color or mesh.color)
    if not meshes:
        box = Box((_PLACEHOLDER * loader.size,) * 3)
        yield DrawnPart(visual.link, box, T, visual.color)
