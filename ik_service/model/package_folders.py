"""
Folders of the packages that ``package://``, and ``$(find package)`` of xacro, mean.

A package is known by the ``<name>`` in its ``package.xml``, as everywhere in ROS: a repository may
be unpacked under any name, such as ``arm_description-main``. It is sought among the installed
packages, in the folders that the user names, and around the file of the description. The folder's
own name counts last: where the manifest names nothing, or there is none and the user named the
place, or the description lies in it, as in a package of which only the robot was copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
import os
from pathlib import Path
import re

from ik_service.common.files import read_regular

MANIFEST = 'package.xml'  # name of the file that makes a folder a package

_LONGEST_MANIFEST = 2**18  # [byte]: a hundred times the usual length
_MOST_ENTRIES = 4096  # of a folder that is searched: enough for any workspace, quick for a mirror
_DEPTH = 4  # levels below a named folder: workspace, src, repository, stack of packages, package
_COMMENT = re.compile(rb'<!--.*?-->', re.DOTALL)
_NAME = re.compile(rb'<name>\s*([A-Za-z0-9_-]{1,200})\s*</name>')


class PackageFolders:
    """
    Search for packages by name.

    :param around: folders that hold the file of the description, the innermost first; a package
        is one of them, or lies directly in one.
    :param named: folders that the user names: packages, or folders up to four levels above them.
    """

    def __init__(self, around: Iterable[Path], named: Iterable[Path]) -> None:
        self._around = tuple(around)
        self._named = tuple(named)
        self._found: dict[str, tuple[Path, ...]] = {}

    def named(self, package: str) -> tuple[Path, ...]:
        """Return the folders of a package, the likeliest first."""
        if package not in self._found:
            self._found[package] = tuple(dict.fromkeys(self._candidates(package)))
        return self._found[package]

    @cached_property
    def installed(self) -> dict[str, Path]:
        """Share folders of the installed packages, by name; none without a ROS installation."""
        try:
            from ament_index_python.packages import get_packages_with_prefixes

            prefixes = get_packages_with_prefixes()
        except (ImportError, OSError, LookupError):
            return {}
        return {name: Path(prefix) / 'share' / name for name, prefix in prefixes.items()}

    def _candidates(self, package: str) -> Iterator[Path]:
        yield from (path for name, path in self._in_named.items() if name == package)
        if package in self.installed:
            yield self.installed[package]
        yield from (folder for name, folder in self._beside if name == package)
        # By the name of the folder, as before a manifest says otherwise.
        for parent in self._named:
            yield from (place for place in (parent / package,) if place.is_dir())
        for parent in self._around:
            for folder in (parent, parent / package):
                if folder.name == package and (folder in self._own or holds_manifest(folder)):
                    yield folder

    @cached_property
    def _own(self) -> tuple[Path, ...]:
        """Folders around a description that lies in no package; the home folder holds more."""
        if enclosing_package(self._around):
            return ()
        home = Path(os.path.expanduser('~'))
        return tuple(parent for parent in self._around if parent not in (home, *home.parents))

    @cached_property
    def _beside(self) -> list[tuple[str, Path]]:
        """Packages around the file of the description, the nearest first."""
        places = [folder for parent in self._around for folder in (parent, *_folders_in(parent))]
        return [(manifest_name(folder), folder) for folder in places]

    @cached_property
    def _in_named(self) -> dict[str, Path]:
        """Packages in the folders that the user names; of two with one name the first."""
        found: dict[str, Path] = {}
        for place in self._named:
            level = [place]
            for _ in range(_DEPTH + 1):
                names = {folder: manifest_name(folder) for folder in level}
                for folder, name in names.items():
                    if name:
                        found.setdefault(name, folder)
                # A package holds no others.
                level = [
                    inner
                    for folder, name in names.items()
                    if not name
                    for inner in _folders_in(folder)
                ][:_MOST_ENTRIES]
        return found


def parse_package_dirs(text: str) -> tuple[Path, ...]:
    """
    Return the folders that a parameter or option names.

    :param text: paths with ``:`` between them, as in ROS_PACKAGE_PATH; a leading ``~`` is the
        home folder.
    """
    places = (part.strip() for part in text.split(os.pathsep))
    return tuple(Path(os.path.expanduser(place)).absolute() for place in places if place)


def holds_manifest(folder: Path) -> bool:
    """Return whether a folder is a package."""
    try:
        return (folder / MANIFEST).is_file()
    except OSError:  # a name that is too long, or a folder that is closed to us
        return False


def own_package(file: Path, text: str) -> tuple[Path, ...]:
    """Return the folder of the package of a URDF's file, if its text names packages."""
    own = enclosing_package(file.absolute().parents)
    return () if own is None or 'package://' not in text else (own,)


def enclosing_package(folders: Iterable[Path]) -> Path | None:
    """Return the first of some folders that is a package; None for none."""
    return next((folder for folder in folders if holds_manifest(folder)), None)


def manifest_name(folder: Path) -> str:
    """Return the name of the package in a folder; empty where its manifest names none."""
    if not holds_manifest(folder):
        return ''
    try:
        text = read_regular(folder / MANIFEST, _LONGEST_MANIFEST)
    except OSError:
        return ''
    name = _NAME.search(_COMMENT.sub(b'', text))
    return name[1].decode('ascii') if name else ''


def _folders_in(parent: Path) -> list[Path]:
    """Return the folders in a folder, sorted; of one with very many entries none."""
    try:
        with os.scandir(parent) as entries:
            found = []
            for count, entry in enumerate(entries):
                if count >= _MOST_ENTRIES:
                    return []
                if not entry.name.startswith('.') and entry.is_dir():
                    found.append(parent / entry.name)
    except OSError:
        return []
    return sorted(found)


PACKAGE_DIRS_HELP = (
    'folders in which more packages lie, for meshes and xacro files, with ":" between them: '
    'packages, or workspaces of them'
)
"""Help of options that name such folders."""
