"""A solver of your own in one file: the Jacobian's transpose with momentum."""

from typing import NamedTuple

import numpy as np

import ik_service as iks
from ik_service.common.resources import urdf_path


class Momentum(NamedTuple):
    """Parameters of the step: how much of the last one is kept."""

    keep: float


@iks.step_of(Momentum)
def momentum_step(method, chain, settings, work):
    """Write α Jᵀe + keep · (the last step) to ``work.step``."""
    J = work.rows  # (n, 6): transposed, a row for each joint
    moved = work.vector  # (6,) scratch: J Jᵀe
    moved[:] = 0.0
    for i in range(J.shape[0]):
        gradient = 0.0
        for j in range(6):
            gradient += J[i, j] * work.error[j]
        work.memory[1, i] = gradient
        for j in range(6):
            moved[j] += J[i, j] * gradient
    along = length = 0.0
    for j in range(6):
        along += work.error[j] * moved[j]
        length += moved[j] * moved[j]
    gain = along / length if length > 0.0 else 0.0
    for i in range(J.shape[0]):
        before = work.memory[0, i] if work.iteration[0] > 0 else 0.0
        work.step[i] = gain * work.memory[1, i] + method.keep * before
        work.memory[0, i] = work.step[i]


iks.register_solver(
    iks.SolverSpec(
        name='momentum',
        summary='transpose of the Jacobian with momentum',
        parameters=lambda chain, options: Momentum(0.5),
        memory_rows=lambda chain: 2,
        max_iterations=1000,
        patience=50,
    )
)

if __name__ == '__main__':
    chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
    postures = np.random.default_rng(1).uniform(chain.lower, chain.upper, (20, chain.n))
    targets = np.array([chain.forward(q) for q in postures])
    few = iks.IkOptions(max_searches=3)
    for name in ('transpose', 'momentum', 'levenberg_marquardt'):
        batch = iks.solve_ik_batch(chain, targets, solver=name, options=few)
        print(f'{name:20} {batch.success.mean():4.0%}, {np.median(batch.iterations):5.0f} steps')
