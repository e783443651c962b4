"""Invalid values for the tests of argument checks."""

import datetime
import decimal
import fractions

import numpy as np


class NotAnArray:
    """Raises something of its own when NumPy asks for its numbers."""

    def __array__(self, *_, **__):
        raise RuntimeError('no array')

    def __repr__(self):
        raise RuntimeError('no text either')


def unending(depth=200):
    """A list in a list in a list."""
    nested = []
    for _ in range(depth):
        nested = [nested]
    return nested


VALUES = {
    'none': None,
    'true': True,
    'false': False,
    'zero': 0,
    'minus one': -1,
    'one half': 0.5,
    'long whole number': 10**400,
    'number too long for text': 10**6000,
    'minus long whole number': -(10**400),
    'beyond 64 bits': 2**64,
    'largest float': 1.7e308,
    'nan': float('nan'),
    'infinity': float('inf'),
    'complex': 1 + 2j,
    'complex of numpy': np.complex128(1 + 2j),
    'long double': np.longdouble('1e400'),
    'decimal': decimal.Decimal('0.1'),
    'fraction': fractions.Fraction(1, 3),
    'date': datetime.datetime(2026, 1, 1),
    'numpy date': np.datetime64('2026-01-01'),
    'text': 'text',
    'number as text': '1.0',
    'empty text': '',
    'nul': 'a\0b',
    'lone surrogate': '\udcff',
    'long text': 'x' * 100_000,
    'bytes': b'1',
    'object': object(),
    'function': len,
    'type': int,
    'set': {1.0, 2.0},
    'dict': {'a': 1.0},
    'dict of numbers': {1: 2},
    'empty list': [],
    'nested list': unending(),
    'ragged': [[1.0], [1.0, 2.0]],
    'texts': ['1', '2', '3', '4', '5', '6', '7'],
    'nones': [None] * 7,
    'long whole numbers': [10**400] * 7,
    'generator': (number for number in (1.0, 2.0)),
    'range': range(7),
    'not an array': NotAnArray(),
    'scalar array': np.float64(1.0),
    'array without size': np.zeros(()),
    'empty array': np.zeros(0),
    'complex vector': np.ones(7, complex),
    'truth values': np.ones(7, bool),
    'objects': np.array([object()] * 7),
    'texts in an array': np.array(['1'] * 7),
    'dates in an array': np.array(['2026-01-01'] * 7, 'datetime64[D]'),
    'structure': np.zeros(7, [('a', float)]),
    'long doubles': np.full(7, np.longdouble('1e400')),
    'seven dimensions': np.zeros((1,) * 7),
    'six numbers as text': ['1'] * 6,
    'six complex numbers': [1j] * 6,
    'six truth values': np.ones(6, bool),
    'six long whole numbers': [10**400] * 6,
    'complex matrix': np.eye(4, dtype=complex),
    'matrix of truth values': np.eye(4, dtype=bool),
    'matrix of texts': np.eye(4).astype(str),
    'matrix of objects': np.eye(4).astype(object) * 1j,
    'complex matrices': np.eye(4, dtype=complex)[None],
    'matrices of truth values': np.eye(4, dtype=bool)[None],
}

NO_REAL_NUMBERS = [
    'complex',
    'complex of numpy',
    'complex vector',
    'truth values',
    'texts',
    'texts in an array',
    'dates in an array',
    'six complex numbers',
    'six truth values',
    'six numbers as text',
    'complex matrix',
    'matrix of truth values',
    'matrix of texts',
    'matrix of objects',
    'complex matrices',
    'matrices of truth values',
]
"""Names of those that NumPy makes numbers of, though they are none."""
