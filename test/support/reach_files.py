"""Files as ``ik_study reach`` leaves them."""

from __future__ import annotations

import numpy as np

POINTS = np.array([[0.0, 0.0, 1.0], [0.1, 0.0, 1.0], [0.2, 0.0, 1.0]])
CONTENT = {
    'points': POINTS,
    'reachable': np.array([0.0, 0.5, 1.0]),
    'on_shell': np.array([True, False, True]),
    'spacing': np.array([0.1, 0.1, 0.05]),
    'base_link': 'base',
    'tip_link': 'tip',
}


def write_reach(folder, **changes):
    """Write a file with some things changed, or (None) left out; return its path."""
    path = folder / 'reach.npz'
    content = {**CONTENT, **changes}
    np.savez_compressed(
        path, **{name: value for name, value in content.items() if value is not None}
    )
    return path
