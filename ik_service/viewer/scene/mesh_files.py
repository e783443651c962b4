"""
Where the files are that a robot description names as meshes.

A description may come from anybody, and what a mesh holds is shown in the page. So a mesh comes
from below a home, and from nowhere else once all links are followed: an installed package, the
package that holds the URDF's file or stands beside it, or else the folder of that file. Where a
package was installed as links (``colcon build --symlink-install``), the folder that its own
manifest leads to belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
import os
from pathlib import Path
import re
from urllib.parse import unquote

from ik_service.exceptions import IkServiceError

_MANIFEST = 'package.xml'
_PACKAGE = re.compile(r'[A-Za-z][A-Za-z0-9_-]*')
_URL = re.compile(r'([A-Za-z][A-Za-z0-9+.-]*):(?://([^/]*))?(.*)', re.DOTALL)
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f]')
_LONGEST = 1024  # characters of a name
_SHOWN = 120  # characters of it that are repeated


class MeshError(IkServiceError):
    """A mesh cannot be shown."""


@dataclass(frozen=True)
class _Home:
    """
    A folder that meshes come from.

    :ivar folder: as it is named.
    :ivar roots: what it may lead to when links are followed; real paths.
    """

    folder: Path
    roots: tuple[str, ...]

    def holds(self, path: str) -> bool:
        """Whether a real path is below it."""
        return any(_is_below(path, root) for root in self.roots)


class MeshFiles:
    """
    Finds the files of a description's meshes.

    :param urdf: the file of the description; None when it came as text.
    """

    def __init__(self, urdf: Path | None) -> None:
        self._around = () if urdf is None else urdf.absolute().parents
        self._own = _own_home(self._around)
        self._installed: list[_Home] | None = None

    def find(self, filename: str) -> Path:
        """
        Return the file that a description names, with all links followed.

        :param filename: ``package://<package>/<path>``, ``file://<path>``, or a path, which
            counts from the folder of the URDF.
        :raises MeshError: there is no such file, or it is none that may be shown.
        """
        if len(filename) > _LONGEST:
            raise _error(filename, f'is not found: the name is longer than {_LONGEST} characters')
        scheme, host, path = _split(filename)
        if _UNPRINTABLE.search(host + path):
            raise _error(filename, 'is not found: its name holds characters that no file has')
        if scheme == 'package':
            return self._in_package(filename, host, path)
        if scheme not in ('', 'file') or (scheme and host not in ('', 'localhost')):
            raise _error(filename, 'is not found: it is named by package://, file:// or a path')
        if not os.path.isabs(path) and (not path or not self._around):
            raise _error(filename, 'is not found: there is no folder that its name counts from')
        folder = self._around[0] if self._around else Path('/')
        return self._checked(filename, os.path.join(folder, path), self._homes())

    def _in_package(self, filename: str, package: str, path: str) -> Path:
        homes = self._packages(package) if _PACKAGE.fullmatch(package) else []
        for home in homes:
            place = os.path.join(home.folder, path.lstrip('/'))
            if home is homes[-1] or os.path.lexists(place):
                return self._checked(filename, place, [home])
        raise _error(
            filename,
            'is not found: no such package is installed, or lies beside the URDF with a '
            'package.xml',
        )

    def _checked(self, filename: str, place: str, homes: Iterable[_Home]) -> Path:
        """Return a file with links followed, if it is below one of the homes."""
        real = os.path.realpath(os.path.normpath(place))
        if not any(home.holds(real) for home in homes):
            raise _error(
                filename,
                'is refused: it lies outside of the folders that meshes come from, which are '
                f'packages{self._and_own()}',
            )
        if not os.path.lexists(real):
            raise _error(filename, 'is not found')
        return Path(real)

    def _and_own(self) -> str:
        return '' if self._own is None else f' and {self._own.folder}, where the URDF is'

    def _packages(self, name: str) -> list[_Home]:
        """The homes of a package: as it is installed, and around the URDF's file."""
        found = [home for home in self._installed_homes() if home.folder.name == name]
        for parent in self._around:
            for folder in (parent, parent / name):
                if folder.name == name and (folder / _MANIFEST).is_file():
                    found.append(_home(folder))
        return found

    def _homes(self) -> Iterator[_Home]:
        if self._own is not None:
            yield self._own
        yield from self._installed_homes()

    def _installed_homes(self) -> list[_Home]:
        if self._installed is None:
            self._installed = [_home(folder) for folder in _share_folders()]
        return self._installed


def _split(filename: str) -> tuple[str, str, str]:
    """Split a name into its scheme, host or package, and path; decoded once, as URLs are."""
    url = _URL.fullmatch(filename)
    if url is None:
        return '', '', filename
    return url[1].lower(), unquote(url[2] or ''), unquote(url[3])


def _own_home(around: Iterable[Path]) -> _Home | None:
    """The package that a file is in, or else its folder."""
    around = list(around)
    holder = next((folder for folder in around if (folder / _MANIFEST).is_file()), None)
    return _home(holder or around[0]) if around else None


def _home(folder: Path) -> _Home:
    roots = [os.path.realpath(folder)]
    manifest = os.path.realpath(folder / _MANIFEST)
    if os.path.basename(manifest) == _MANIFEST and os.path.isfile(manifest):
        roots.append(os.path.dirname(manifest))  # the source, where this is a link to it
    return _Home(folder, tuple(dict.fromkeys(roots)))


def _share_folders() -> list[Path]:
    try:
        from ament_index_python.packages import get_packages_with_prefixes

        prefixes = get_packages_with_prefixes()
    except (ImportError, OSError, LookupError):  # no ROS installation
        return []
    return [Path(prefix) / 'share' / name for name, prefix in prefixes.items()]


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _error(filename: str, fault: str) -> MeshError:
    shown = filename if len(filename) <= _SHOWN else filename[:_SHOWN] + '…'
    shown = _UNPRINTABLE.sub('�', shown)
    return MeshError(f'the mesh {shown} {fault}')
