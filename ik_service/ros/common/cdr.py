"""
Messages from the bytes that the middleware has received, with long lists as arrays.

rclpy makes a Python object of every element of a list, for a mesh of 100,000 triangles in half a
second in which no other thread runs. Here numbers, triangles and points in lists stay where they
are. The encoding is OMG's CDR, as DDS sends it: numbers are aligned to their size, counted from
the end of the four bytes of the header.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
import re
import struct
from types import SimpleNamespace
from typing import Any

import numpy as np
from rclpy.serialization import deserialize_message

from ik_service.exceptions import ArgumentError

MOST_ELEMENTS = 200_000  # elements of a message that become Python objects

_NUMBERS = {
    'boolean': '?', 'octet': 'B', 'int8': 'b', 'uint8': 'B', 'int16': 'h', 'uint16': 'H',
    'int32': 'i', 'uint32': 'I', 'int64': 'q', 'uint64': 'Q', 'float': 'f', 'double': 'd',
}  # fmt: skip
_TRIPLES = {
    'shape_msgs/MeshTriangle': 'uint32',
    'geometry_msgs/Point': 'double',
    'geometry_msgs/Point32': 'float',
}
_ENCODINGS = {b'\x00\x00': '>', b'\x00\x01': '<'}
_LIST = re.compile(r'sequence<(?P<element>[^,]+)(?:, \d+)?>|(?P<item>.+)\[(?P<count>\d+)\]')


def read_message(data: bytes, kind: type) -> Any:  # noqa: ANN401 - whatever the type says
    """
    Return a message.

    :param data: the bytes of a subscription with ``raw=True``.
    :returns: an object with the fields of the type, as have those in it. Lists of numbers are
        read-only arrays, (k,); of triangles and of points likewise, (k, 3).
    :raises ArgumentError: these are not the bytes of such a message, or it has more than
        :data:`MOST_ELEMENTS` other elements.
    """
    order = _ENCODINGS.get(bytes(data[:2]))
    if order is None:
        try:  # another encoding is left to the middleware
            return deserialize_message(data, kind)
        except Exception as error:  # rclpy names no type
            raise ArgumentError('message', f'cannot be read: {error}') from error
    try:
        return _Reader(data, order).message(kind)
    except (struct.error, ValueError) as error:
        raise ArgumentError('message', f'is damaged: {error}') from error


@cache
def _fields(kind: type) -> tuple[tuple[str, str], ...]:
    return tuple(kind.get_fields_and_field_types().items())  # type: ignore[attr-defined]


@cache
def _class_of(name: str) -> type:
    package, _, kind = name.partition('/')
    return getattr(import_module(f'{package}.msg'), kind)


class _Reader:
    """Reader of one message in a byte order of :mod:`struct`."""

    def __init__(self, data: bytes, order: str) -> None:
        self._data = memoryview(data)[4:]
        self._order = order
        self._at = 0
        self._left = MOST_ELEMENTS

    def message(self, kind: type) -> SimpleNamespace:
        return SimpleNamespace(**{name: self._value(field) for name, field in _fields(kind)})

    def _value(self, kind: str) -> Any:  # noqa: ANN401
        if kind in _NUMBERS:
            return self._array(kind, 1)[0].item()
        if kind == 'string':
            return self._string()
        found = _LIST.fullmatch(kind)
        if found is None:
            return self.message(_class_of(kind))
        if found['item']:
            return self._elements(found['item'], int(found['count']))
        return self._elements(found['element'], self._value('uint32'))

    def _elements(self, kind: str, count: int) -> Any:  # noqa: ANN401
        if kind in _NUMBERS:
            return self._array(kind, count)
        if kind in _TRIPLES:
            return self._array(_TRIPLES[kind], 3 * count).reshape(count, 3)
        self._left -= count
        if self._left < 0:
            raise ValueError(f'more than {MOST_ELEMENTS} elements')
        return [self._value(kind) for _ in range(count)]

    def _array(self, kind: str, count: int) -> np.ndarray:
        dtype = np.dtype(f'{self._order}{_NUMBERS[kind]}')
        if count:
            self._at += -self._at % dtype.itemsize
        values = np.frombuffer(self._data, dtype, count, self._at) if count else np.empty(0, dtype)
        self._at += values.nbytes
        return values

    def _string(self) -> str:
        length = self._value('uint32')
        text = bytes(self._data[self._at : self._at + length])
        if len(text) < length:
            raise ValueError('a text is cut off')
        self._at += length
        return text[:-1].decode('utf-8', 'replace')
