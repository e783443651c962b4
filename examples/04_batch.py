"""
Many targets at once, with a progress bar and a plot: where can the arm reach with the tool down?

    .venv/bin/pip install tqdm matplotlib
    .venv/bin/python examples/04_batch.py
"""

from pathlib import Path
import sys

import numpy as np

import ik_service as iks

try:
    import matplotlib
    from matplotlib import pyplot as plt
    from tqdm import tqdm
except ImportError as error:
    sys.exit(f"This example draws a plot ({error}): pip install 'ik_service[plot]'")

robot = iks.Robot.from_urdf(Path(__file__).parents[1] / 'urdf' / 'panda.urdf')
chain = robot.chain('panda_link0', 'panda_hand_tcp')

# 81 × 57 targets in the upright plane through the base, 2.5 cm apart.
x, z = np.meshgrid(np.linspace(-1.0, 1.0, 81), np.linspace(-0.4, 1.0, 57))
targets = np.zeros((x.size, 4, 4))
targets[:] = np.diag([1.0, -1.0, -1.0, 1.0])  # the tool points down
targets[:, 0, 3] = x.ravel()
targets[:, 2, 3] = z.ravel()

# What is out of reach is searched for longest; eight searches each are enough for a picture.
options = iks.IkOptions(max_searches=8)

# The batch runs on all cores; progress is called now and then with the number of targets done.
with tqdm(total=len(targets), unit=' poses') as bar:
    batch = iks.solve_ik_batch(
        chain, targets, options=options, progress=lambda done, total: bar.update(done - bar.n)
    )
print(f'{batch.success.sum()} of {len(targets)} reached in {batch.solve_time:.2f} s')

# How well conditioned is the arm there? The manipulability is √det(J Jᵀ) (Yoshikawa, 1985).
measure = np.full(len(targets), np.nan)
for row in np.flatnonzero(batch.success):
    J = chain.jacobian(batch.q[row])
    measure[row] = np.sqrt(max(0.0, np.linalg.det(J @ J.T)))
print(f'Manipulability: {np.nanmin(measure):.4f} to {np.nanmax(measure):.4f}')

figure, axes = plt.subplots(figsize=(7, 4.6), layout='constrained')
mesh = axes.pcolormesh(x, z, measure.reshape(x.shape))
figure.colorbar(mesh, label='manipulability', shrink=0.8)
axes.set(xlabel='x [m]', ylabel='z [m]', title='Where the Panda reaches with its tool down')
axes.set_aspect('equal')

if matplotlib.get_backend().lower() == 'agg':  # no display
    figure.savefig('04_batch.png', dpi=120)
    print('The plot is in 04_batch.png')
else:
    plt.show()
