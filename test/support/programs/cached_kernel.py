"""A small kernel with a disk cache, for the tests of the cache and for their processes."""

import numba
import numpy as np

from ik_service.jit.kernel_cache import KernelCache


def add_one(values):
    """Raise each of some numbers by one."""
    for i in range(values.shape[0]):
        values[i] += 1.0


def compiled_in(folder):
    """The function above, compiled anew as if in a new process."""
    compiled = numba.njit(add_one, nogil=True, _nrt=False)
    compiled._cache = KernelCache(add_one, folder)
    return compiled


def hits(folder):
    """Number of times that the cache was of use; the result has to be right either way."""
    compiled = compiled_in(folder)
    values = np.array([1.0, 2.0])
    compiled(values)
    assert values.tolist() == [2.0, 3.0]
    return sum(compiled.stats.cache_hits.values())
