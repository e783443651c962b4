"""The frames of the basic elements."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import postures, snake
from support.elements import joint_frames, mimicking

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.solvers.methods.extended_jacobian.basic_elements import (
    choose_elements,
    element,
    next_frame,
    start_frame,
)

CHAINS = {
    'panda': lambda: arm_of('panda'),
    'ur5e': lambda: arm_of('ur5e'),
    'sliding': lambda: snake(6, prismatic=0.5),
    'from tip to base': lambda: snake(4).robot.chain('link4', 'link0'),
    'mimicking': mimicking,
}


@kernel
def _frames(chain, elements, q, axes, frame, state, first, second, out):
    last_frame(chain, q, axes, frame)
    start_frame(chain, state)
    for k in range(axes.shape[0] - 1):
        element(chain, elements, axes, frame, k, state, first, second)
        for i in range(6):
            out[k, i] = state[6 + i]
        next_frame(chain, q, axes, k, state)


@pytest.mark.parametrize('name', CHAINS)
def test_frames_are_those_in_which_the_joints_move(name):
    chain = CHAINS[name]()
    m = len(chain.arrays.variables)
    elements = choose_elements(chain, iks.IkOptions())
    for q in postures(chain, 5):
        out, axes = np.empty((m - 1, 6)), np.empty((m, 6))
        _frames(
            chain.arrays, elements, q, axes, np.empty(12), np.empty(12), np.empty(6), np.empty(6),
            out,
        )  # fmt: skip
        for k, T in enumerate(joint_frames(chain, q)[: m - 1]):
            np.testing.assert_allclose(out[k], T[:3, :2].T.ravel(), rtol=0, atol=1e-12)
