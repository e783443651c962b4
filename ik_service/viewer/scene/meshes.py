"""Meshes of a robot: what is in their files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ik_service.common.regular_file import open_regular
from ik_service.exceptions import MissingExtraError
from ik_service.viewer.scene.mesh_files import MeshError, MeshFiles
from ik_service.viewer.scene.visuals import MeshFile

LARGEST_FILE = 100 * 2**20
"""Longest mesh file that is read [byte]."""
LARGEST_SUM = 500 * 2**20
"""Length of all mesh files of a robot together, above which further ones are not read [byte]."""

_FORMATS = ('.stl', '.dae', '.obj', '.ply', '.off', '.glb', '.gltf')  # no archives


@dataclass(frozen=True)
class Mesh:
    """
    Triangles.

    :ivar vertices: (V, 3) [m].
    :ivar faces: (F, 3) indices of vertices.
    """

    vertices: np.ndarray
    faces: np.ndarray


class MeshLoader:
    """
    Reads meshes, and reports each one that cannot be shown once.

    :param urdf: the file of the URDF; None when it came as text.
    :param report: called with a sentence about a mesh that cannot be shown.
    """

    def __init__(self, urdf: Path | None, report: Callable[[str], object]) -> None:
        self._files = MeshFiles(urdf)
        self._report = report
        self._meshes: dict[MeshFile, Mesh | None] = {}
        self._bad: set[str] = set()
        self._sum = 0

    def get(self, mesh: MeshFile) -> Mesh | None:
        """Return a mesh; None when it cannot be shown, which has been reported then."""
        if mesh.filename in self._bad:
            return None
        if mesh not in self._meshes:
            self._meshes[mesh] = self._read(mesh)
        return self._meshes[mesh]

    def _read(self, mesh: MeshFile) -> Mesh | None:
        try:
            path = self._files.find(mesh.filename)
            self._count(path)
            return read_mesh(path, mesh.scale)
        except MeshError as error:
            self._bad.add(mesh.filename)
            self._report(f'{error}; it is drawn as a box')
            return None

    def _count(self, path: Path) -> None:
        try:
            self._sum += path.stat().st_size
        except OSError as error:
            raise MeshError(f'the mesh {path} cannot be read: {error.strerror}') from error
        if self._sum > LARGEST_SUM:
            raise MeshError(
                f'the mesh {path} is not read: the meshes of this robot are longer than '
                f'{LARGEST_SUM // 2**20} MiB together'
            )


def read_mesh(path: Path, scale: tuple[float, float, float]) -> Mesh:
    """
    Read a mesh file.

    :param scale: factors along x, y and z.
    :raises MeshError: it cannot be read.
    :raises MissingExtraError: trimesh is not installed.
    """
    try:
        import trimesh
    except ImportError as error:
        raise MissingExtraError('trimesh', 'viewer') from error
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise MeshError(f'the mesh {path} cannot be read: it is none of {", ".join(_FORMATS)}')
    try:
        # As an open file, so that nothing it names in turn is looked for.
        with open_regular(path, LARGEST_FILE) as file:
            loaded = trimesh.load_mesh(file, file_type=suffix.lstrip('.'))
        mesh = loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded
        vertices = np.array(mesh.vertices, dtype=np.float32) * np.float32(scale)
        faces = np.array(mesh.faces, dtype=np.uint32)
    except OSError as error:
        reason = error.strerror or error
        raise MeshError(f'the mesh {path} cannot be read: {reason}') from error
    except Exception as error:  # each format has a reader, and errors, of its own
        raise MeshError(f'the mesh {path} cannot be read: {error}') from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise MeshError(f'the mesh {path} holds no triangles')
    # A mirrored mesh is inside out, unless its triangles are turned as well.
    return Mesh(vertices, faces[:, ::-1] if np.prod(scale) < 0.0 else faces)
