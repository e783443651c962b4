"""Reading the mesh files of a robot for collision checks: what is not read whole is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile

import numpy as np

from ik_service.collision.mesh_content import as_obj, content_for_coal, read_faces
from ik_service.collision.shapes import FARTHEST, load_coal, Mesh, MOST_TRIANGLES
from ik_service.common.regular_file import read_regular
from ik_service.exceptions import ArgumentError
from ik_service.model.geometry.gltf import GltfPart, read_gltf
from ik_service.model.geometry.link_geometry import MeshFile
from ik_service.model.geometry.mesh_files import collada_unit, MeshError, MeshFiles, read_beside

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
        data = self._counted(path, read_regular(path, LARGEST_FILE))
        if suffix in _GLTF:
            parts = read_gltf(
                data, lambda name: self._counted(path, read_beside(path, name, LARGEST_FILE))
            )
            return _from_gltf(parts, scale)
        unit = collada_unit(BytesIO(data)) if suffix == '.dae' else 1.0  # which Coal passes over
        scales = unit * np.array(scale)
        if suffix in ('.stl', '.obj'):
            content = content_for_coal(data, suffix)
        else:
            vertices, faces = read_faces(data, suffix)
            if all(len(face) == 3 for face in faces):
                return Mesh(vertices * scales, faces)
            content, suffix = as_obj(vertices, faces), '.obj'
        if content is data:
            return _by_coal(path, scales)
        with NamedTemporaryFile(suffix=suffix) as file:
            file.write(content)
            file.flush()
            return _by_coal(Path(file.name), scales)

    def _counted(self, path: Path, data: bytes) -> bytes:
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


def _by_coal(path: Path, scale: np.ndarray) -> Mesh:
    model = load_coal().MeshLoader().load(str(path), scale)
    if not 0 < model.num_tris <= MOST_TRIANGLES:
        raise ArgumentError('triangles', f'there are {model.num_tris}')
    rows = [[t[0], t[1], t[2]] for t in map(model.tri_indices, range(model.num_tris))]
    triangles = np.array(rows)
    vertices = np.array(model.vertices()).reshape(-1, 3)
    used = np.zeros(len(vertices), bool)
    used[triangles] = True
    if not used.all():  # some triangles have the corners of others
        raise ValueError('Coal does not read all of it')
    return Mesh(vertices, triangles)


def _told(error: Exception) -> str:
    """Return the message of Coal's reader, which follows its place in the source."""
    lines = str(error).partition('message: ')[2] or str(error)
    said = [line.strip() for line in lines.splitlines() if line.strip()]
    return ' '.join(line for line in said if not line.startswith(('Hint', 'Could not load')))[:300]
