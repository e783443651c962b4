"""The line search, seen from outside: steps of bounded length that win enough."""

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar
from support.solver_checks import costs, options_with, traces

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error

MINIMISERS = ('bfgs', 'conjugate_gradient')
# The longest motion of a joint that is tried [rad] or [m].
LONGEST = 1.0


@pytest.mark.parametrize('solver', MINIMISERS)
@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_no_joint_moves_far_in_a_step(solver, name):
    chain = arm_of(name)
    for gain in (None, 100.0):
        for _, result in traces(chain, solver, 'clamp', (1.0,) * 6, step_gain=gain):
            steps = result.trace.step[result.trace.search == 0]
            assert np.abs(steps).max() <= LONGEST + 1e-12


@pytest.mark.parametrize('solver', MINIMISERS)
def test_steps_that_are_far_too_long_are_shortened(solver):
    """A gain of 1e6 costs trials, not the way down."""
    chain = arm_of('panda')
    for target, result in traces(chain, solver, 'ignore', (1.0,) * 6, step_gain=1e6):
        rows = result.trace.search == 0
        cost = costs(chain, target, (1.0,) * 6, result.trace, 'ignore')[rows]
        assert np.all(np.diff(cost) <= 1e-13 * cost[:-1] + 1e-22)
        assert cost[-1] < 0.5 * cost[0]


@pytest.mark.parametrize('solver', MINIMISERS)
def test_steps_meet_the_armijo_condition(solver):
    """Armijo's condition, along what was done: at least 1e-4 of what the slope promises."""
    chain = arm_of('ur5e')
    for target, result in traces(chain, solver, 'ignore', (1.0,) * 6):
        trace = result.trace
        rows = np.flatnonzero(trace.search == 0)
        cost = costs(chain, target, (1.0,) * 6, trace, 'ignore')
        for k in rows[1:]:
            e = pose_error(chain.forward(trace.q[k - 1]), target)
            slope = -(chain.jacobian(trace.q[k - 1]).T @ e) @ trace.step[k]
            assert slope <= 0.0
            assert cost[k] <= cost[k - 1] + 1e-4 * slope + 1e-14 * cost[k - 1]


@pytest.mark.parametrize('solver', MINIMISERS)
def test_no_motion_where_no_direction_lowers_the_cost(solver):
    """Pushed against both its bounds, and stretched towards a target it cannot reach."""
    pushed = planar(1.0, 0.8).with_limits([-0.5, -0.5], [0.5, 0.5])
    target = pushed.forward([0.5, 0.5])
    target[:2, 3] = -0.5, 1.0
    stretched = planar(1.0, 0.8)
    beyond = stretched.forward(np.zeros(2))
    beyond[0, 3] = 1.7999  # on the line of the arm, nearer by less than it can fold at once
    for chain, goal, q in ((pushed, target, [0.5, 0.5]), (stretched, beyond, [0.0, 0.0])):
        options = options_with(
            task_weights=(1, 1, 0, 0, 0, 0), joint_limits='clamp', record_trace=True,
            max_searches=1,
        )  # fmt: skip
        trace = iks.solve_ik(chain, goal, q, solver, options).trace
        first = trace.q[trace.search == 0]
        np.testing.assert_array_equal(first, np.tile(q, (len(first), 1)))
