"""Maps of the reach of an arm with a single joint, and files of ``ik_study reach``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ik_service.extras.scale.chain_spec import ChainSpec
from support import made_maps

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


URDF = """<robot name="r"><link name="base"/><link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="tip"/>
    <origin xyz="0 0 {height}"/><axis xyz="0 0 1"/>
    <limit lower="{lower}" upper="1" velocity="1" effort="1"/></joint></robot>"""
"""An arm with a single joint."""


def arm(lower=-1.0, height=0.5):
    return URDF.format(lower=lower, height=height)


def grid(count=5, spacing=0.1, origin=-0.2):
    """Positions (count³, 3) of a grid [m]."""
    axis = origin + spacing * np.arange(count)
    return np.stack(np.meshgrid(axis, axis, axis, indexing='ij'), axis=-1).reshape(-1, 3)


def made_map(urdf=None, positions=None, reached=None, spec=None, **changes):
    """
    Make a map of an arm: by default with two orientations, the first reached for x ≤ 0.

    Neither is reached for z > 0.15, but the position is.
    """
    positions = grid() if positions is None else positions
    if reached is None:
        reached = np.column_stack([positions[:, 0] < 0.05, np.ones(len(positions), dtype=bool)])
        reached &= positions[:, 2:] < 0.15
    spec = spec or ChainSpec.of(urdf or arm())
    chain = spec.build().chain
    everywhere = np.ones(len(positions), dtype=bool)
    values = {
        'spec': spec,
        'base_link': chain.base_link,
        'tip_link': chain.tip_link,
        'positions': positions,
        'reached': reached,
        'free': reached,
        'position_reached': everywhere,
        'position_free': everywhere,
        'manipulability': np.abs(positions[:, 0]),
        'limit_distance': np.full(len(positions), 0.25),
    }
    axes = (np.zeros(1),) * 3
    other = made_maps.made_map(arm(), axes, [0], orientations=reached.shape[1])
    return replace(other, **{**values, **changes})
