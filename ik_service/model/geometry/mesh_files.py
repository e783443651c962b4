"""
Mesh files that a robot description names: their paths, and the unit of length of Collada files.

A description may come from anybody, and the content of a mesh is shown in the page. So a mesh has
to lie, once all links are followed, in one of these folders: an installed package, the package
that holds the URDF's file or stands beside it, or else the folder of that file, a folder around it
with the name of the package, or a folder that the user has named. A folder in that of the file, or
of its package, counts as a package of its name where there is no other. Where a package was
installed as links (``colcon build --symlink-install``), the folder of its own manifest counts too.
Packages are found by :mod:`~ik_service.model.package_folders`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
import errno
from io import BytesIO
import math
import os
from pathlib import Path
import re
from typing import BinaryIO
from urllib.parse import unquote
from xml.etree import ElementTree

from ik_service.common.arguments import to_number
from ik_service.common.files import read_regular
from ik_service.exceptions import IkServiceError
from ik_service.model.package_folders import enclosing_package, MANIFEST, PackageFolders

_PACKAGE = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')
_URL = re.compile(r'([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)', re.DOTALL)
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f]')
_LONGEST = 1024  # characters of a name
_SHOWN = 120  # characters of it that are repeated


class MeshError(IkServiceError):
    """
    Error about a mesh that cannot be used.

    :param fault: its fault, the end of a sentence that begins with its name.
    :ivar mesh: its name or path.
    """

    def __init__(self, mesh: str | Path, fault: str) -> None:
        super().__init__(f'the mesh {mesh} {fault}')
        self.mesh, self.fault = str(mesh), fault

    def __reduce__(self) -> tuple[type[MeshError], tuple[str, str]]:
        """Pickle by the arguments, which are not those of the base class."""
        return type(self), (self.mesh, self.fault)


@dataclass(frozen=True)
class _MeshFolder:
    """Folder that meshes are read from, and the real paths in which its files may lie."""

    path: Path
    roots: tuple[str, ...]

    def holds(self, file: str) -> bool:
        """Whether a real path is inside the folder."""
        return any(_is_below(file, root) for root in self.roots)


class MeshFiles:
    """
    Lookup of a description's mesh files.

    :param urdf: the file of the description; None when it came as text.
    :param package_dirs: more folders in which packages lie, or which are packages.
    """

    def __init__(self, urdf: Path | None, package_dirs: Iterable[Path] = ()) -> None:
        self._around = () if urdf is None else urdf.absolute().parents
        package = enclosing_package(self._around)
        self._own = _mesh_folder(package or self._around[0]) if self._around else None
        self._named = tuple(package_dirs)
        self._packages = PackageFolders(self._around, self._named)
        self._allowed: list[_MeshFolder] | None = None

    def find(self, filename: str) -> Path:
        """
        Return the file that a description names, with all links followed.

        :param filename: ``package://<package>/<path>``, ``file://<path>``, or a path, which
            is relative to the folder of the URDF.
        :raises MeshError: there is no such file, or it must not be shown.
        """
        if len(filename) > _LONGEST:
            raise _error(filename, f'is not found: the name is longer than {_LONGEST} characters')
        scheme, host, path = _split(filename)
        if _UNPRINTABLE.search(host + path):
            raise _error(filename, 'is not found: its name holds control characters')
        if scheme == 'package':
            return self._in_package(filename, host, path)
        if scheme == 'file' and host not in ('', 'localhost'):
            raise _error(filename, 'is not found: the path after file:// has to begin with /')
        if scheme not in ('', 'file'):
            raise _error(filename, 'is not found: it is named by package://, file:// or a path')
        if not path:
            raise _error(filename, 'is not found: the name is empty')
        if not os.path.isabs(path) and not self._around:
            raise _error(filename, 'is not found: there is no folder that its name is relative to')
        folder = self._around[0] if self._around else Path('/')
        return self._checked(filename, os.path.join(folder, path), self._folders())

    def _in_package(self, filename: str, package: str, path: str) -> Path:
        named = self._packages.named(package) if _PACKAGE.fullmatch(package) else ()
        folders = [_mesh_folder(folder) for folder in named]
        for folder in folders:
            place = os.path.join(folder.path, path.lstrip('/'))
            if folder is folders[-1] or os.path.lexists(place):
                return self._checked(filename, place, [folder])
        if self._own is not None and _PACKAGE.fullmatch(package):
            # package://meshes/link.stl, as files for simulators have it: a folder, no package.
            for parent in (self._around[0], self._own.path):
                place = os.path.join(parent, package, path.lstrip('/'))
                outside = not self._own.holds(os.path.realpath(os.path.normpath(place)))
                if outside or os.path.lexists(place):  # whether a file is outside is not told
                    return self._checked(filename, place, [self._own])
        raise _error(
            filename,
            'is not found: no such package is installed, or lies beside the URDF with a '
            'package.xml; package_dirs names more places',
        )

    def _checked(self, filename: str, place: str, folders: Iterable[_MeshFolder]) -> Path:
        """Return a file with links followed, if it is inside one of the folders."""
        real = os.path.realpath(os.path.normpath(place))
        if not any(folder.holds(real) for folder in folders):
            raise _error(
                filename,
                'is refused: it lies outside of the folders that meshes come from, which are '
                f'packages{self._and_own()}; package_dirs names more',
            )
        if not os.path.lexists(real):
            raise _error(filename, 'is not found')
        return Path(real)

    def _and_own(self) -> str:
        return '' if self._own is None else f' and {self._own.path}, where the URDF is'

    def _folders(self) -> Iterator[_MeshFolder]:
        """Yield the folders whose files may be named without a package."""
        if self._own is not None:
            yield self._own
        if self._allowed is None:
            places = (*self._named, *self._packages.installed.values())
            self._allowed = [_mesh_folder(folder) for folder in places]
        yield from self._allowed


def read_beside(mesh: Path, name: str, limit: int) -> bytes:
    """
    Return the content of a file that a mesh file names, such as the buffers of glTF.

    :param mesh: the mesh file.
    :param name: a path relative to its folder, in which the file has to lie, or below it.
    :param limit: the greatest length of the file [byte].
    :raises OSError: it lies elsewhere, is missing, no regular file, or too long.
    """
    folder = os.path.realpath(mesh.parent)
    real = os.path.realpath(os.path.join(folder, name))
    if not _is_below(real, folder):
        raise OSError(errno.EACCES, f'{name[:_SHOWN]} is not in the folder of the mesh')
    return read_regular(real, limit)


def _split(filename: str) -> tuple[str, str, str]:
    """Split a name into its scheme, host or package, and path; decoded once, as URLs are."""
    url = _URL.fullmatch(filename)
    if url is None:
        return '', '', filename
    return url[1].lower(), unquote(url[2] or ''), unquote(url[3])


def _mesh_folder(folder: Path) -> _MeshFolder:
    roots = [os.path.realpath(folder)]
    manifest = os.path.realpath(folder / MANIFEST)
    if os.path.basename(manifest) == MANIFEST and os.path.isfile(manifest):
        roots.append(os.path.dirname(manifest))  # the source, where this is a link to it
    return _MeshFolder(folder, tuple(dict.fromkeys(roots)))


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _error(filename: str, fault: str) -> MeshError:
    shown = filename if len(filename) <= _SHOWN else filename[:_SHOWN] + '…'
    shown = _UNPRINTABLE.sub('�', shown)
    return MeshError(shown, fault)


_HEAD = 2**20  # bytes from the start within which the <asset> of a file ends


def collada_unit(file: BinaryIO) -> float:
    """
    Return the metres of a unit of a Collada file.

    Of the ``<asset>`` of a document its own ``<unit>`` counts, and ``<up_axis>`` does not: a URDF
    says itself how a mesh is turned, and RViz turns none either.

    :param file: the file, open at its start; it is there again afterwards.
    :returns: 1 where the file states no unit.
    :raises ValueError: the unit is no length.
    """
    path: list[str] = []
    head, text = BytesIO(file.read(_HEAD)), '1'
    file.seek(0)
    with suppress(ElementTree.ParseError):  # told by whoever reads the whole file
        for event, element in ElementTree.iterparse(head, ('start', 'end')):
            if event == 'end':
                path.pop()
                continue
            path.append(element.tag.rpartition('}')[2])
            if path[1:] == ['asset', 'unit']:
                text = element.get('meter', '1').strip()
                break
    unit = to_number(text)
    if not 0.0 < unit < math.inf:
        raise ValueError(f'its <unit meter="{text[:40]}"> is no length')
    return unit
