"""
A capability map: where an arm gets, with how many orientations, and how well.

The answers are kept in a folder: after an interruption, the same call goes on there.

    .venv/bin/python examples/14_capability_map.py
"""

from pathlib import Path
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
print(f'{there.sum()} of {len(there)} positions are reached, about {found.volume:.2f} m³')
print(f'with {found.share[there].mean():.0%} of {len(found.rotations)} orientations on average')
missed = found.missed_poses
print(f'{missed.tried} of {missed.given_up} poses that were given up were searched for again: '
      f'about {missed.missed:.0f} of {found.reached.sum()} are missed')  # fmt: skip

best = int(np.nanargmax(found.manipulability))
print(f'most manipulable at {found.positions[best].round(2)} m: {found.manipulability[best]:.3f}')
print(f'{found.limit_distance[best]:.0%} of the range from the joint limits there')

found.save(store / 'panda.zarr')
again = CapabilityMap.load(store / 'panda.zarr')
print(f'read from its file: {np.array_equal(again.reached, found.reached)}')

other = capability_map(ur5e, store / 'ur5e', spacing=0.2, orientations=12)
both = found.compare(other)
print(f'Panda {both.volumes[0]:.2f} m³, UR5e {both.volumes[1]:.2f} m³, both {both.shared:.2f} m³')
print('orientations where both get: ' + ', '.join(f'{m.share:.0%}' for m in both.shared_means))
folder.cleanup()
