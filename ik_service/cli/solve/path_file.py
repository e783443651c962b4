"""Poses of a path, read from a file of the user's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
import csv
from dataclasses import dataclass
import io
from itertools import islice
import json
import math
from pathlib import Path

import numpy as np

from ik_service.cli.solve.options import UsageError
from ik_service.common.arguments import to_number
from ik_service.common.files import file_fault, read_regular
from ik_service.common.quaternions import rotation_from_quaternion_xyzw, UNIT_TOLERANCE
from ik_service.common.quoting import quote
from ik_service.common.transforms import rotation_from_rpy
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import check_transforms

MOST_POSES = 1_000_000  # poses of a file, at most: 0.9 GB of memory
_LARGEST_FILE = 512 * 2**20  # [byte]
_LARGEST = 1e9  # of any number, as on the command line
_TIME, _POSITION = 't', ('x', 'y', 'z')
_QUATERNION, _ANGLES = ('qx', 'qy', 'qz', 'qw'), ('roll', 'pitch', 'yaw')
_COLUMNS = (_TIME, *_POSITION, *_QUATERNION, *_ANGLES)
_MATRICES = ('.json', '.npy')


@dataclass(frozen=True)
class PathPoses:
    """
    Poses of a path.

    :ivar poses: (N, 4, 4) T_base_target.
    :ivar times: (N,) of its column t [s]; None where it has none.
    """

    poses: np.ndarray
    turned: bool
    times: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def read_poses(path: Path, option: str = '--path') -> PathPoses:
    """
    Read the poses of a path.

    :param path: a CSV file whose first line names the columns: x, y, z [m], then qx, qy, qz, qw
        or roll, pitch, yaw [°] or neither for any orientation, and t [s] if there are times; or
        matrices (N, 4, 4) as ``.json`` or ``.npy``.
    :raises UsageError: the file cannot be read, or a value cannot be, naming line and column; or
        it holds no pose.
    """
    place = f'{option}: {path}'
    read = _read(place, path)
    if not len(read.poses):
        raise UsageError(f'{place} holds no pose')
    if len(read.poses) > MOST_POSES:
        raise UsageError(f'{place} has more than {MOST_POSES:,} poses: solve it in parts')
    return read


def _read(place: str, path: Path) -> PathPoses:
    try:
        data = read_regular(path, _LARGEST_FILE)
    except OSError as error:
        raise UsageError(f'{place} cannot be read: {error.strerror}') from error
    if path.suffix.lower() in _MATRICES:
        return _from_matrices(place, path.suffix.lower(), data)
    try:
        text = data.decode('utf-8-sig')
    except UnicodeDecodeError as error:
        raise UsageError(f'{place} is {file_fault(error)}') from error
    return _from_table(place, text)


def _from_matrices(place: str, suffix: str, data: bytes) -> PathPoses:
    try:
        if suffix == '.npy':
            read = np.load(io.BytesIO(data), allow_pickle=False)
        else:
            read = np.array(json.loads(data), dtype=float)
        poses = check_transforms(read, 'poses')
    except ArgumentError as error:
        raise UsageError(f'{place}: {error}') from error
    except json.JSONDecodeError as error:
        raise UsageError(f'{place} is no JSON: {error}') from error
    except Exception as error:  # of NumPy or tokenize
        wanted = 'lists of rows of numbers'
        if suffix == '.npy':
            wanted = 'an array of numbers, as numpy.save writes it'
        reason = f'holds no matrices (N, 4, 4): it has to hold {wanted}'
        raise UsageError(f'{place} {reason}') from error
    return PathPoses(poses, turned=True)


def _from_table(place: str, text: str) -> PathPoses:
    table = _Table(place, text)
    values = table.values
    turned = _QUATERNION[0] in values or _ANGLES[0] in values
    poses = np.tile(np.eye(4), (len(table.lines), 1, 1))
    poses[:, :3, 3] = np.transpose([values[name] for name in _POSITION])
    notes = list(table.notes)
    if _QUATERNION[0] in values:
        poses[:, :3, :3] = _rotations(table, notes)
    elif turned:
        angles = np.transpose([values[name] for name in _ANGLES])
        if 0.0 < np.abs(angles).max(initial=0.0) <= 2.0 * math.pi:
            notes.append('roll, pitch and yaw are read as degrees; none is larger than 2π')
        for pose, row in zip(poses, np.radians(angles), strict=True):
            pose[:3, :3] = rotation_from_rpy(*row)
    times = values.get(_TIME)
    if times is not None:
        wrong = np.flatnonzero(np.diff(times) <= 0.0)
        if len(wrong):
            raise table.error(int(wrong[0]) + 1, _TIME, 'is no later than the line before')
    return PathPoses(poses, turned, times, tuple(notes))


def _rotations(table: _Table, notes: list[str]) -> np.ndarray:
    """Return the rotations (N, 3, 3) of the quaternions, at unit length."""
    quaternions = np.transpose([table.values[name] for name in _QUATERNION])
    largest = np.abs(quaternions).max(axis=1, initial=0.0)
    if not largest.all():
        row = int(np.argmin(largest))
        raise table.error(row, ', '.join(_QUATERNION), 'is the zero quaternion: no rotation')
    scaled = quaternions / largest[:, None]
    norms = np.linalg.norm(scaled, axis=1)
    off = np.flatnonzero(np.abs(largest * norms - 1.0) > UNIT_TOLERANCE)
    if len(off):
        norm = largest[off[0]] * norms[off[0]]
        notes.append(
            f'quaternions of another length than 1 are normalised, {len(off)} of {len(norms)}: '
            f'line {table.lines[off[0]]} has {norm:.4g}'
        )
    return rotation_from_quaternion_xyzw(*(scaled / norms[:, None]).T)


class _Table:
    """
    Numbers of a CSV file, by column.

    :ivar values: (N,) by name of the column.
    :ivar lines: (N,) numbers of their lines in the file.
    """

    def __init__(self, place: str, text: str) -> None:
        self._place = place
        rows = _rows(place, text)
        try:
            line, header = next(rows)
        except StopIteration:
            raise UsageError(f'{place} is empty: its first line names the columns') from None
        names = [name.strip().lower() for name in header]
        self._check(line, names)
        used = [k for k, name in enumerate(names) if name in _COLUMNS]
        unused = [header[k].strip() for k in range(len(names)) if k not in used]
        self.notes = (f'columns that are not used: {", ".join(unused)}',) if unused else ()
        self.lines, numbers = self._numbers(rows, names, used)
        self.values = {names[k]: numbers[:, i] for i, k in enumerate(used)}

    def error(self, row: int, column: str, what: str) -> UsageError:
        """Return an error that names line and column."""
        return UsageError(f'{self._place}, line {self.lines[row]}, column {column}: {what}')

    def _check(self, line: int, names: list[str]) -> None:
        where = f'{self._place}, line {line}'
        valid = 'x, y, z, then qx, qy, qz, qw or roll, pitch, yaw or neither, and t if need be'
        twice = next((name for name in _COLUMNS if names.count(name) > 1), None)
        if twice:
            raise UsageError(f'{where}: column {twice} stands twice')
        for group, needed in ((_POSITION, True), (_QUATERNION, False), (_ANGLES, False)):
            missing = [name for name in group if name not in names]
            if missing and (needed or len(missing) < len(group)):
                raise UsageError(
                    f'{where} has no column {missing[0]}: it has to name the columns {valid}, '
                    f'and has {quote(", ".join(names))}'
                )
        if _QUATERNION[0] in names and _ANGLES[0] in names:
            raise UsageError(f'{where}: qx, qy, qz, qw and roll, pitch, yaw exclude each other')

    def _numbers(
        self, rows: Iterable[tuple[int, list[str]]], names: list[str], used: list[int]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the lines (N,), and the values of the columns used (N, k)."""
        lines: list[int] = []
        numbers: list[float] = []
        for line, cells in islice(rows, MOST_POSES + 1):  # one too many shows that there are more
            if len(cells) != len(names):
                raise UsageError(
                    f'{self._place}, line {line} has {len(cells)} cells, and the first '
                    f'one names {len(names)} columns'
                )
            try:
                numbers += [float(cells[k]) for k in used]
            except ValueError:
                numbers += [to_number(cells[k]) for k in used]
            lines.append(line)
        self.lines = np.array(lines, np.int64)
        values = np.array(numbers).reshape(len(lines), len(used))
        wrong = np.argwhere(~(np.abs(values) <= _LARGEST))
        if len(wrong):
            row, column = wrong[0]
            name, text = names[used[column]], f'a number up to {_LARGEST:g} is needed'
            raise self.error(row, name, text)
        return self.lines, values


def _rows(place: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield number and cells of every line that is neither empty nor a comment."""
    first = next((line for line in text.splitlines() if line.strip()[:1] not in ('', '#')), '')
    separator = max(',;\t', key=first.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith('#'):
                yield reader.line_num, cells
    except csv.Error as error:
        raise UsageError(f'{place}, line {reader.line_num}: {error}') from error
