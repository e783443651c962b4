"""
A capability map: where an arm gets, with how many orientations, and how well.

The answers are kept in a folder: after an interruption, the same call goes on there.

    .venv/bin/python examples/14_capability_map.py
"""

from pathlib import Path
import sys
import tempfile

import numpy as np

from ik_service.extras.reach import capability_map, CapabilityMap
from ik_service.extras.scale import ChainSpec

URDF = Path(__file__).parents[1] / 'urdf'
panda = ChainSpec.of(URDF / 'panda.urdf', 'panda_link0', 'panda_hand_tcp')
ur5e = ChainSpec.of(URDF / 'ur5e.urdf', 'base_link', 'tool0')

folder = tempfile.TemporaryDirectory()
store = Path(folder.name)

found = capability_map(panda, store / 'panda', spacing=0.2, orientations=12)
there = found.position_reached
print(f'The Panda reaches {there.sum()} of {len(there)} positions, about {found.volume:.2f} m³')
print(f'with {found.share[there].mean():.0%} of {len(found.rotations)} orientations on average')
missed = found.missed_poses
print(f'{missed.tried} of {missed.given_up} poses without a solution were searched for again: '
      f'about {missed.missed:.0f} of {found.reached.sum()} are missed')  # fmt: skip

best = int(np.nanargmax(found.manipulability))
at = ', '.join(f'{value:.1f}' for value in found.positions[best] + 0.0)
print(f'most manipulable ({found.manipulability[best]:.3f}) with the tool at ({at}) m,')
print(f'{found.limit_distance[best]:.0%} of the range away from the joint limits')

found.save(store / 'panda.zarr')
again = CapabilityMap.load(store / 'panda.zarr')
print(
    f'the map is the same after saving and loading: {np.array_equal(again.reached, found.reached)}'
)

other = capability_map(ur5e, store / 'ur5e', spacing=0.2, orientations=12)
both = found.compare(other)
print(f'Panda {both.volumes[0]:.2f} m³, UR5e {both.volumes[1]:.2f} m³, both {both.shared:.2f} m³')
one, two = both.shared_means
print(f'where both reach: {one.share:.0%} of orientations (Panda), {two.share:.0%} (UR5e)')
folder.cleanup()

try:
    from matplotlib import pyplot as plt
except ImportError as error:
    sys.exit(f"No picture ({error}): pip install 'ik_service[plot]'")
figure, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout='constrained', sharey=True)
for axes, name, survey in zip(panels, ('Panda', 'UR5e'), (found, other), strict=True):
    rows = survey.position_reached & (np.abs(survey.positions[:, 1]) < 0.1)  # the plane y = 0
    x, _, z = survey.positions[rows].T
    dots = axes.scatter(x, z, c=100.0 * survey.share[rows], s=400, marker='s', vmin=0, vmax=100)
    axes.set(title=name, xlabel='x [m]', aspect='equal')
panels[0].set_ylabel('z [m]')
figure.colorbar(dots, ax=panels, label='orientations reached [%]')
figure.savefig('14_capability_map.png', dpi=120)
print('The picture is in 14_capability_map.png')
