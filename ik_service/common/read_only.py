"""Read-only mappings, and immutable values with such mappings that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, cast, TypeVar

Value = TypeVar('Value')


def read_only(value: Value) -> Value:
    """Return a read-only copy of a mapping, and of those in it; anything else as it is."""
    if not isinstance(value, Mapping):
        return value
    return cast(Value, MappingProxyType({key: read_only(item) for key, item in value.items()}))


def _plain(value: object) -> object:
    if not isinstance(value, Mapping):
        return value
    return {key: _plain(item) for key, item in value.items()}


class PicklableValue:
    """Base of frozen dataclasses with read-only mappings, which pickle does not take."""

    def __reduce__(self) -> tuple[object, ...]:
        given = (field.name for field in fields(cast(Any, self)) if field.init)
        return type(self), tuple(_plain(getattr(self, name)) for name in given)
