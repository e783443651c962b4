"""Comparison of the answers in a store with those that it has to have."""

import numpy as np

import ik_service as iks

SUCCESS = iks.IkStatus.SUCCESS.number
ARRAYS = ('q', 'position_error', 'orientation_error', 'iterations', 'searches')


def assert_same_store(store, expected, rows=slice(None)):
    """Check that rows of a store are solved, and what a batch has answered."""
    for name in ARRAYS:
        np.testing.assert_array_equal(store.read(name)[rows], getattr(expected, name)[rows])
    assert (store.read('status')[rows] == SUCCESS).all()


def file_of(store, array, number):
    """Return the file of a chunk of an array."""
    return store / array / 'c' / (f'{number}/0' if array == 'q' else f'{number}')
