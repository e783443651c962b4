"""Cell of several arms, and the checked sections of its file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math
from pathlib import Path

import numpy as np
from rclpy.expand_topic_name import expand_topic_name

from ik_service.common.quoting import quote, safe_repr, suggested
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.bringup import Connection, NODE_NAME

SIMULATED = ('joint_command', 'joint_trajectory')  # command interfaces that a simulated arm takes


class CellError(IkServiceError, ValueError):
    """Mistake of an arm, or the cell if empty, at a key such as ``base.xyz``, or all of it."""

    def __init__(self, file: Path, arm: str, key: str, reason: str) -> None:
        named = f'arm {quote(arm)}' if arm else ''
        super().__init__(': '.join(filter(None, [str(file), named, key, reason])))
        self.arm = arm
        self.key = key
        self.reason = reason


class CellSection:
    """
    Section of a cell file.

    :param arm: name of the arm; empty for the whole cell.
    :param key: key of the section within the arm; empty for the arm itself.
    :raises CellError: the values are no section.
    """

    def __init__(self, file: Path, arm: str, values: object, key: str = '') -> None:
        self._file = file
        self._arm = arm
        self._key = key
        if not isinstance(values, Mapping):
            raise self.error('', f'has to be a section of keys, not {safe_repr(values)}')
        wrong = next((key for key in values if not isinstance(key, str)), None)
        if wrong is not None:
            raise self.error('', f'has the key {safe_repr(wrong)}, which is no text; quote it')
        self._values: Mapping[str, object] = values

    @property
    def folder(self) -> Path:
        """Folder of the file, to which paths in it are relative."""
        return self._file.parent

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def error(self, key: str, reason: str) -> CellError:
        """Return an error about a key, or about the section."""
        path = '.'.join(filter(None, [self._key, key]))
        return CellError(self._file, self._arm, path, reason)

    def refuse_others(self, known: Iterable[str]) -> None:
        """Refuse keys that have no meaning, by a CellError."""
        known = list(known)
        for key in self._values:
            if key not in known:
                raise self.error(key, f'there is no such key; {suggested(key, known)}')

    def value(self, key: str) -> object:
        """Return the value of a key as it stands there, or the default."""
        return self._values.get(key)

    def text(self, key: str, default: str = '') -> str:
        """Return a text."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self.error(key, f'has to be text, not {safe_repr(value)}; quote it')
        return value.strip()

    def flag(self, key: str, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(key, f'has to be true or false, not {safe_repr(value)}')
        return value

    def number(self, key: str, default: float, low: float, high: float) -> float:
        """Return a number."""
        value = self._values.get(key)
        if value is None:
            return default
        if not _is_number(value) or not low <= float(value) <= high:  # type: ignore[arg-type]
            raise self.error(
                key, f'has to be a number from {low:g} to {high:g}, not {safe_repr(value)}'
            )
        return float(value)  # type: ignore[arg-type]

    def triple(self, key: str, unit: str) -> tuple[float, float, float]:
        """Return three numbers; zeros by default."""
        value = self._values.get(key)
        if value is None:
            return 0.0, 0.0, 0.0
        if not isinstance(value, list) or len(value) != 3 or not all(map(_is_number, value)):
            raise self.error(
                key, f'has to be three finite numbers [{unit}], not {safe_repr(value)}'
            )
        x, y, z = map(float, value)
        return x, y, z

    def section(self, key: str) -> CellSection:
        """Return a section of the section; an empty one by default."""
        inner = '.'.join(filter(None, [self._key, key]))
        values = self._values.get(key)
        return CellSection(self._file, self._arm, {} if values is None else values, inner)

    def items(self) -> Iterable[tuple[str, object]]:
        """Return all keys and values as they stand there."""
        return self._values.items()

    def numbers(self) -> dict[str, float]:
        """Return the values of all keys, which have to be finite numbers."""
        for key, value in self._values.items():
            if not _is_number(value):
                raise self.error(key, f'has to be a finite number, not {safe_repr(value)}')
        return {key: float(value) for key, value in self._values.items()}  # type: ignore[arg-type]

    def texts(self) -> dict[str, str]:
        """Return the values of all keys as texts, as the arguments of a xacro file are."""
        found = {}
        for key, value in self._values.items():
            if not isinstance(value, (str, bool, int, float)):
                raise self.error(key, f'has to be text or a number, not {safe_repr(value)}')
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)
        return found


def _is_number(value: object) -> bool:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        return plain and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number with hundreds of digits
        return False


@dataclass(frozen=True, eq=False)
class ArmEntry:
    """
    Arm of a cell, as its file describes it.

    :ivar namespace: absolute namespace of its nodes, such as ``/left``.
    :ivar prefix: prefix of the names of its links and joints, such as ``left_``.
    :ivar urdf: its URDF or xacro file.
    :ivar package_dirs: more folders in which the packages lie that meshes and xacro files name.
    :ivar srdf: its SRDF file; None without one.
    :ivar base_link: where its chain starts, without prefix; empty for the node's default.
    :ivar tip_link: where its chain ends, without prefix; empty for the node's default.
    :ivar T_world_root: (4, 4) pose of its root link [m]; None where the file gives none.
    :ivar simulate: whether it is a simulated one.
    :ivar initial_positions: where the simulated arm starts [rad] or [m], by joint without prefix.
    :ivar connection: how its node is connected with the arm.
    """

    name: str
    namespace: str
    prefix: str
    urdf: Path
    xacro_args: Mapping[str, str]
    package_dirs: tuple[Path, ...]
    srdf: Path | None
    base_link: str
    tip_link: str
    T_world_root: np.ndarray | None
    simulate: bool
    initial_positions: Mapping[str, float]
    connection: Connection
    parameters: Mapping[str, object]

    def resolved(self, name: str) -> str:
        """Absolute name of the node's topic or action; ValueError for an invalid one."""
        renamed = dict(self.connection.remappings).get(name, name)
        return expand_topic_name(renamed, NODE_NAME, self.namespace)

    @property
    def command_interface(self) -> str:
        """The command interface: the topic of its commands before it is remapped."""
        return str(self.connection.parameters.get('command_interface', SIMULATED[0]))


@dataclass(frozen=True)
class Cell:
    """Arms of a cell, over how many processes they spread, and rate of their frames [Hz]."""

    file: Path
    world: str
    processes: int
    frame_rate: float
    arms: tuple[ArmEntry, ...]

    def error(self, arm: str, key: str, reason: str) -> CellError:
        """Return an error about an arm of the file, or about the whole cell."""
        return CellError(self.file, arm, key, reason)
