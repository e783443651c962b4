"""Data files of the package, modules of extras, and ROS 2: where they are, and whether."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
import os
from pathlib import Path
import sys
from types import ModuleType

from ik_service.exceptions import IkServiceError, MissingExtraError, UnknownArmError

_PACKAGE = 'ik_service'


class MissingResourceError(IkServiceError, FileNotFoundError):
    """Files that come with the package are not where they should be."""


def share_folder(name: str) -> Path:
    """
    Return a folder of the package's data.

    It is searched for in the source tree that this module belongs to (editable installs), in the
    prefixes of AMENT_PREFIX_PATH (colcon), and in Python's own prefix (pip).

    :param name: name of the folder, such as ``urdf`` or ``config``.
    :raises MissingResourceError: there is no such folder.
    """
    places = [*_places(name)]
    for place in places:
        if place.is_dir():
            return place
    tried = ', '.join(str(place) for place in places)
    raise MissingResourceError(f'the folder {name!r} of {_PACKAGE} is missing; looked in {tried}')


def urdf_path(arm: str) -> Path:
    """Return the URDF file of an arm that comes with the package; raises UnknownArmError."""
    folder = share_folder('urdf')
    path = folder / f'{arm}.urdf'
    if not path.is_file():
        raise UnknownArmError(arm, sorted(file.stem for file in folder.glob('*.urdf')))
    return path


def _places(name: str) -> Iterator[Path]:
    source_tree = Path(__file__).parents[2]
    if (source_tree / 'package.xml').is_file():
        yield source_tree / name
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        if prefix:
            yield Path(prefix) / 'share' / _PACKAGE / name
    yield Path(sys.prefix) / 'share' / _PACKAGE / name


def extra_module(name: str, extra: str, package: str = '') -> ModuleType:
    """Import a module of an extra; MissingExtraError names its package, if named otherwise."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(package or name, extra) from error


class NoRosError(IkServiceError):
    """ROS 2 is not installed."""


def require_ros() -> None:
    """Make sure that ROS 2 can be imported; raises NoRosError if not."""
    try:
        import moveit_msgs.srv  # noqa: F401
        import rclpy  # noqa: F401
    except ImportError as error:
        raise NoRosError(
            f'ROS 2 is needed, but cannot be imported ({error}). Either source a ROS 2 '
            'installation that has moveit_msgs, or run "make demo", which needs none'
        ) from error
