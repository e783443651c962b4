"""First step of a method, with the Jacobian and the error that it is computed from."""

from typing import NamedTuple

import numpy as np

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error


class FirstStep(NamedTuple):
    """The step, and the weighted Jacobian and error at its start."""

    step: np.ndarray
    J: np.ndarray
    e: np.ndarray


def first_step(chain, q, target, solver, weights=(1.0,) * 6, **options):
    """Take one unconstrained step from q towards the target."""
    options = iks.IkOptions(
        joint_limits='ignore', max_iterations=1, max_searches=1, record_trace=True,
        task_weights=weights, **options,
    )  # fmt: skip
    trace = iks.solve_ik(chain, target, q, solver, options).trace
    np.testing.assert_array_equal(trace.q[0], q)
    roots = np.sqrt(weights)
    e = roots * pose_error(chain.forward(q), target)
    return FirstStep(trace.step[1], roots[:, None] * chain.jacobian(q), e)
