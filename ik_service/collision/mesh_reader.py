"""Reading the mesh files of a robot for collision checks: what is not read whole is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np

from ik_service.collision.mesh_content import read_triangles
from ik_service.collision.shapes import FARTHEST, Mesh, MOST_TRIANGLES
from ik_service.common.regular_file import read_regular
from ik_service.exceptions import ArgumentError
from ik_service.model.geometry.gltf import GltfPart, read_gltf
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles, read_beside

LARGEST_FILE = 100 * 2**20  # longest mesh file that is read [byte]
LARGEST_SUM = 500 * 2**20  # length of all mesh files of a robot together [byte]

_LFS_POINTER = b'version https://git-lfs.github.com/spec/'  # start of one, by the specification

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
            except Exception as error:
                raise MeshError(path, f'cannot be read: {error}') from error
        return self._meshes[mesh]

    def _read(self, path: Path, scale: tuple[float, float, float]) -> Mesh:
        suffix = path.suffix.lower()
        if suffix not in _FORMATS:
            raise ValueError(f'it is none of {", ".join(_FORMATS)}')
        data = self._counted(path, read_regular(path, LARGEST_FILE))
        if suffix in _GLTF:
            parts = read_gltf(
                data, lambda name: self._counted(path, read_beside(path, name, LARGEST_FILE))
            )
            return _from_gltf(parts, scale)
        unit = collada_unit(BytesIO(data)) if suffix == '.dae' else 1.0
        scales = unit * np.array(scale)
        vertices, triangles = read_triangles(data, suffix)
        return Mesh(vertices * scales, triangles)

    def _counted(self, path: Path, data: bytes) -> bytes:
        if data.startswith(_LFS_POINTER):
            raise MeshError(
                path,
                'is not there: it, or a file that it names, is a pointer of Git LFS to the '
                'content; `git lfs pull` in its repository fetches that',
            )
        self._sum += len(data)
        if self._sum > LARGEST_SUM:
            raise MeshError(
                path,
                f'is not read: the meshes of this robot are longer than '
                f'{LARGEST_SUM // 2**20} MiB together',
            )
        return data


def _from_gltf(parts: Sequence[GltfPart], scale: tuple[float, float, float]) -> Mesh:
    if not parts:
        raise ArgumentError('triangles', 'there are 0')
    starts = np.cumsum([0, *(len(part.vertices) for part in parts[:-1])])
    triangles = [part.triangles + start for part, start in zip(parts, starts, strict=True)]
    vertices = np.concatenate([part.vertices for part in parts])
    return Mesh(vertices * scale, np.concatenate(triangles))
