"""Settings of Zarr groups, ``zarr.json``: what is wrong with those that cannot be opened."""

from __future__ import annotations

from collections.abc import Mapping
import hashlib
import json
from pathlib import Path

SETTINGS = 'zarr.json'
"""Name of the file that a group, and each of its arrays, has."""

DIGESTS = 'digests'
"""Name of the attribute with digests of the others, by their names."""

_REMEDY = 'restore that file, or take another folder'


def opening_fault(folder: Path, kind: str, error: Exception) -> str:
    """
    Return why a folder cannot be opened as a group, as the rest of a sentence.

    :param folder: the folder.
    :param kind: what it should be, such as 'capability map'.
    :param error: what Zarr has raised.
    :raises OSError: a file cannot be read.
    """
    if not folder.exists():
        return f'is no {kind}: there is no such folder'
    if not folder.is_dir():
        return f'is no {kind} but a file: take another folder'
    if not (folder / SETTINGS).exists():
        return f'is no {kind}: it has no file {SETTINGS}; {_REMEDY}'
    if fault := settings_fault(folder):
        return fault
    if json.loads((folder / SETTINGS).read_text(encoding='utf-8')).get('node_type') == 'array':
        return f'is no {kind} but an array of Zarr: take another folder'
    return f'is damaged: {error}; restore its files {SETTINGS}, or take another folder'


def settings_fault(folder: Path) -> str:
    """
    Return which settings of a group or of its arrays are no settings; empty when all are.

    :param folder: the group.
    :raises OSError: a file cannot be read.
    """
    for file in (folder / SETTINGS, *sorted(folder.glob(f'*/{SETTINGS}'))):
        name = file.relative_to(folder)
        try:
            settings = json.loads(file.read_text(encoding='utf-8'))
        except ValueError as error:
            reason = str(error) if file.stat().st_size else 'it is empty'
            return f'is damaged: its file {name} cannot be read: {reason}; {_REMEDY}'
        if not isinstance(settings, dict) or 'node_type' not in settings:
            return f'is damaged: its file {name} holds no settings of Zarr; {_REMEDY}'
    return ''


def digests_of(attributes: Mapping[str, object]) -> dict[str, str]:
    """
    Return digests of attributes, to be noted beside them as :data:`DIGESTS`.

    :param attributes: the attributes, by their names.
    """
    return {name: _digest(value) for name, value in attributes.items()}


def changed_attribute(attributes: Mapping[str, object]) -> str:
    """
    Return the name of an attribute that is another one than was written; empty when none is.

    What somebody else has added is not looked at.

    :param attributes: of a group; without :data:`DIGESTS` nothing is known of the others.
    """
    digests = attributes.get(DIGESTS, {})
    if not isinstance(digests, Mapping):
        return DIGESTS
    for name, digest in digests.items():
        if name not in attributes or _digest(attributes[name]) != digest:
            return str(name)
    return ''


def settings_digest(folder: Path) -> str:
    """
    Return a digest of the settings of an array, without attributes that somebody has added.

    :param folder: the array.
    :raises OSError: its file cannot be read.
    :raises ValueError: it holds no settings.
    """
    settings = json.loads((folder / SETTINGS).read_text(encoding='utf-8'))
    attributes = settings.pop('attributes', {})
    return _digest([settings, attributes.get('unit')])


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
