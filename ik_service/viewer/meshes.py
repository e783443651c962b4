"""Meshes of a robot: where their files are, and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np

from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.viewer.visuals import MeshFile

LARGEST_FILE = 100 * 2**20
"""Longest mesh file that is read [byte]."""


class MeshError(IkServiceError):
    """A mesh cannot be shown."""


@dataclass(frozen=True)
class Mesh:
    """
    Triangles.

    :ivar vertices: (V, 3) [m].
    :ivar faces: (F, 3) indices of vertices.
    """

    vertices: np.ndarray
    faces: np.ndarray


class MeshLibrary:
    """
    Reads meshes, each file once, and reports each one that cannot be read once.

    :param folder: where the URDF lies; None when it came as text.
    :param report: called with a sentence about a mesh that cannot be shown.
    """

    def __init__(self, folder: Path | None, report: Callable[[str], object]) -> None:
        self._folder = folder
        self._report = report
        self._meshes: dict[MeshFile, Mesh | None] = {}

    def get(self, mesh: MeshFile) -> Mesh | None:
        """Return a mesh; None when it cannot be shown, which has been reported then."""
        if mesh not in self._meshes:
            self._meshes[mesh] = self._read(mesh)
        return self._meshes[mesh]

    def _read(self, mesh: MeshFile) -> Mesh | None:
        known_bad = any(
            other.filename == mesh.filename and read is None
            for other, read in self._meshes.items()
        )
        try:
            return read_mesh(find_mesh(mesh.filename, self._folder), mesh.scale)
        except MeshError as error:
            if not known_bad:
                self._report(f'{error}; it is drawn as a box')
            return None


def find_mesh(filename: str, folder: Path | None) -> Path:
    """
    Return the file that a URDF names.

    :param filename: ``package://<package>/<path>``, ``file://<path>``, or a path, which counts
        from the folder of the URDF.
    :param folder: the folder of the URDF; None when there is none.
    :raises MeshError: there is no such file.
    """
    for place in _places(filename, folder):
        if place.is_file():
            return place
    raise MeshError(f'the mesh {filename} is not found')


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
    if path.stat().st_size > LARGEST_FILE:
        raise MeshError(f'the mesh {path} is longer than {LARGEST_FILE // 2**20} MiB')
    try:
        # As an open file, so that nothing it names in turn is looked for.
        with path.open('rb') as file:
            loaded = trimesh.load_mesh(file, file_type=path.suffix.lstrip('.').lower())
        mesh = loaded.to_mesh() if isinstance(loaded, trimesh.Scene) else loaded
        vertices = np.array(mesh.vertices, dtype=np.float32) * np.float32(scale)
        faces = np.array(mesh.faces, dtype=np.uint32)
    except Exception as error:  # each format has a reader, and errors, of its own
        raise MeshError(f'the mesh {path} cannot be read: {error}') from error
    if not len(faces) or not np.isfinite(vertices).all():
        raise MeshError(f'the mesh {path} holds no triangles')
    # A mirrored mesh is inside out, unless its triangles are turned as well.
    return Mesh(vertices, faces[:, ::-1] if np.prod(scale) < 0.0 else faces)


def _places(filename: str, folder: Path | None) -> Iterator[Path]:
    url = urlparse(filename)
    if url.scheme == 'package':
        yield from _in_package(unquote(url.netloc), unquote(url.path).lstrip('/'), folder)
    elif url.scheme == 'file':
        yield Path(unquote(url.path))
    elif not url.scheme:
        yield Path(filename) if folder is None else folder / filename


def _in_package(package: str, path: str, folder: Path | None) -> Iterator[Path]:
    try:
        from ament_index_python.packages import get_package_share_directory

        yield Path(get_package_share_directory(package)) / path
    except (ImportError, LookupError, ValueError):  # no ROS installation, or not in it
        pass
    for parent in (folder, *folder.parents) if folder else ():  # a source tree
        if parent.name == package:
            yield parent / path
        yield parent / package / path
