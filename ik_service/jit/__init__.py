"""Compilation of kernels with Numba, and their cache on disk."""
