"""Checks of the settings of a store of answers: what would be misread, or written otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import sys
from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import StoreError
from ik_service.extras.scale.chain_spec import digest_of
from ik_service.extras.scale.new_store import ArrayLayout, CHECKSUM_LAYOUT, CODECS, layout
from ik_service.extras.scale.settings_files import changed_attribute, DIGESTS, settings_fault

if TYPE_CHECKING:
    from zarr import Array, Group

FORMAT = 3
"""Version of the layout."""

BEFORE = 2
"""Version that is read and gone on with as it is, without checksums of chunks and attributes."""

KIND = 'answers of ik_service.extras.scale'
"""What a group says that it holds."""

FAULTS = (
    ValueError, KeyError, TypeError, AttributeError, IndexError, RuntimeError, OverflowError,
)  # fmt: skip
"""What Zarr raises for files that are not what they shall be."""

_TEXTS = ('spec', 'targets', 'chain', 'id')
_DETAILS = (*_TEXTS, 'joint_names', 'chunk')
_REMEDY = 'restore its files zarr.json, or take another folder'


def check_attributes(path: Path, attributes: Mapping[str, object]) -> None:
    """
    Check that a group is a store of answers, and that its attributes can be used.

    :param path: its folder.
    :param attributes: of the group.
    :raises StoreError: it is something else, of another version, or damaged.
    """
    if attributes.get('kind') != KIND:
        fault = 'holds something else than answers: take another folder'
    elif attributes.get('format') not in (FORMAT, BEFORE):
        found = safe_repr(attributes.get('format'))
        fault = f'has layout {found}, which is not {FORMAT}: take another folder'
    elif missing := [name for name in _details(attributes) if name not in attributes]:
        fault = f'is damaged: it lacks the attributes {", ".join(missing)}; {_REMEDY}'
    elif wrong := [name for name in _DETAILS if not _is_possible(name, attributes[name])]:
        name = wrong[0]
        fault = f'is damaged: its attribute {name} is {safe_repr(attributes[name])}; {_REMEDY}'
    elif digest_of(str(attributes['chain'])) != attributes['spec']:
        fault = f'is damaged: its attribute chain is not that of its attribute spec; {_REMEDY}'
    elif name := changed_attribute(attributes):
        fault = f'is damaged: its attribute {name} is not what was written; {_REMEDY}'
    else:
        return
    raise StoreError(path, fault)


def _details(attributes: Mapping[str, object]) -> tuple[str, ...]:
    """Return the names of the attributes that a store of its version has."""
    return _DETAILS if attributes['format'] == BEFORE else (*_DETAILS, DIGESTS)


def _is_possible(name: str, value: object) -> bool:
    if name in _TEXTS:
        return isinstance(value, str)
    if name == 'chunk':
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, list) and all(isinstance(joint, str) for joint in value)


def checked_arrays(path: Path, group: Group, version: int, chunk: int, n: int) -> dict[str, Array]:
    """
    Return the arrays of a store, which are what they were made as but for the number of rows.

    :param path: its folder.
    :param group: the group.
    :param version: of its layout.
    :param chunk: rows of a chunk.
    :param n: number of joints.
    :raises StoreError: an array is missing or another one.
    """
    wanted = layout(n) if version == BEFORE else (*layout(n), CHECKSUM_LAYOUT)
    arrays: dict[str, Any] = {array.name: _opened(path, group, array.name) for array in wanted}
    missing = [name for name, array in arrays.items() if array is None]
    if missing:
        raise StoreError(path, f'is damaged: it lacks the arrays {", ".join(missing)}; {_REMEDY}')
    for expected in wanted:
        fault = _array_fault(arrays[expected.name], expected, chunk)
        if fault:
            raise StoreError(path, f'is damaged: the array {expected.name} {fault}; {_REMEDY}')
    return arrays


def _opened(path: Path, group: Group, name: str) -> object:
    try:
        return group.get(name)
    except FAULTS as error:
        fault = f'is damaged: the array {name} cannot be opened: {error}; {_REMEDY}'
        raise StoreError(path, settings_fault(path) or fault) from error


def _array_fault(array: Any, expected: ArrayLayout, chunk: int) -> str:  # noqa: ANN401 - or a group
    """Return in what an array differs; empty when in nothing."""
    if not hasattr(array, 'shape'):
        return 'is a group'
    rows = expected.rows(chunk)
    wanted = np.dtype(expected.type), expected.width, (rows, *expected.width)
    found = array.dtype, tuple(array.shape[1:]), tuple(array.chunks)
    for what, value, right in zip(('type', 'rows of shape', 'chunks of shape'), found, wanted,
                                  strict=True):  # fmt: skip
        if value != right:
            return f'has {what} {value}, not {right}'
    if repr(float(array.fill_value)) != repr(float(expected.fill)):  # also of NaN
        return f'has {array.fill_value} for what is missing, not {expected.fill}'
    if _codecs(array) != list(CODECS):
        return f'is coded by {", ".join(_codecs(array))}, not {", ".join(CODECS)}'
    return ''


def _codecs(array: Array) -> list[str]:
    """Return the names of the codecs; bytes in the other order have another one."""
    names = []
    for codec in getattr(array.metadata, 'codecs', ()):  # Zarr 2 has none
        described: dict[str, Any] = codec.to_dict()
        order = described.get('configuration', {}).get('endian', sys.byteorder)
        names.append(described['name'] + ('' if order == sys.byteorder else f' ({order} endian)'))
    return names
