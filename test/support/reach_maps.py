"""Maps of the reach of arms that no survey has made."""

from dataclasses import replace

import numpy as np

from ik_service.extras.reach import CapabilityMap
from ik_service.extras.reach.capability import MapCheck
from ik_service.extras.reach.grid import even_orientations, grid_positions
from ik_service.extras.scale import ChainSpec


def made_map(urdf, axes, free_counts, orientations=4, **changes):
    """
    Return a map of a grid.

    :param free_counts: with how many orientations each position is reached, −1 where it is not.
    """
    counts = np.asarray(free_counts).ravel()
    free = np.arange(orientations) < counts[:, None]
    seen = counts >= 0
    spec = ChainSpec.of(urdf)
    chain = spec.build().chain
    found = CapabilityMap(
        spec=spec,
        base_link=chain.base_link,
        tip_link=chain.tip_link,
        positions=grid_positions(axes),
        rotations=even_orientations(orientations),
        reached=free,
        free=free.copy(),
        position_reached=seen,
        position_free=seen.copy(),
        manipulability=np.where(seen, 0.1 * counts, np.nan),
        limit_distance=np.where(seen, 0.25, np.nan),
        missed_positions=MapCheck(3, 1, 9),
        missed_poses=MapCheck(0, 0, 0),
        searches=20,
    )
    return replace(found, **changes)


URDF = """<robot name="r"><link name="base"/><link name="tip"/>
  <joint name="j" type="revolute"><parent link="base"/><child link="tip"/>
    <origin xyz="0 0 {height}"/><axis xyz="0 0 1"/>
    <limit lower="{lower}" upper="1" velocity="1" effort="1"/></joint></robot>"""
"""An arm with a single joint."""


def one_joint_urdf(lower=-1.0, height=0.5):
    return URDF.format(lower=lower, height=height)


def grid(count=5, spacing=0.1, origin=-0.2):
    """Positions (count³, 3) of a grid [m]."""
    axis = origin + spacing * np.arange(count)
    return np.stack(np.meshgrid(axis, axis, axis, indexing='ij'), axis=-1).reshape(-1, 3)


def one_joint_map(urdf=None, positions=None, reached=None, spec=None, **changes):
    """
    Make a map of an arm: by default with two orientations, the first reached for x ≤ 0.

    Neither is reached for z > 0.15, but the position is.
    """
    positions = grid() if positions is None else positions
    if reached is None:
        reached = np.column_stack([positions[:, 0] < 0.05, np.ones(len(positions), dtype=bool)])
        reached &= positions[:, 2:] < 0.15
    spec = spec or ChainSpec.of(urdf or one_joint_urdf())
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
    other = made_map(one_joint_urdf(), axes, [0], orientations=reached.shape[1])
    return replace(other, **{**values, **changes})


def assert_same_map(found, expected):
    for name, values in vars(expected).items():
        if isinstance(values, np.ndarray):
            np.testing.assert_array_equal(getattr(found, name), values)
        elif name not in ('axes', 'share', 'free_share'):
            assert getattr(found, name) == values
