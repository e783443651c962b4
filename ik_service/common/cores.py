"""Cores of the machine."""

from __future__ import annotations

import os


def core_count() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
