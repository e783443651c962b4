"""Steps of a search: goals, the iteration and the line search."""

from functools import lru_cache
import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, rotation, snake, targets, transform
from support.solver_checks import costs, first_step, mimicking, options_with, traces

import ik_service as iks
from ik_service.jit.compile import kernel
from ik_service.kinematics.kernels import last_frame
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.loop.iteration import errors, set_goal, weighted_rows
from ik_service.solvers.loop.problem import open_problem
from ik_service.solvers.loop.tree.problem import tree_views

TOLERANCES = {
    'exact': {},
    'free': {'orientation_tolerances': (math.inf,) * 3},
    'rotation vector': {'orientation_tolerances': (0.3, 0.0, 1.5)},
    'one axis free': {'orientation_tolerances': (0.0, 0.2, math.inf)},
    'euler': {'orientation_tolerances': (0.3, 0.0, 1.5), 'parameterization': 'euler_xyz'},
    'euler free': {'orientation_tolerances': (0.0, 0.2, 4.0), 'parameterization': 'euler_xyz'},
}
REGIONS = {
    'point': None,
    'box': iks.Box((0.3, 0.0, math.inf)),
    'sphere': iks.Sphere(0.2),
    'cylinder': iks.Cylinder(0.2, 0.4),
    'line': iks.Cylinder(0.0, math.inf),
}


@kernel
def evaluate(problem, target, q):
    chain, settings, work = open_problem(problem)
    set_goal(chain, target, work.goal)
    last_frame(chain, q, work.axes, work.frame)
    found = errors(settings, work)
    for i in range(q.shape[0]):
        work.q[i] = q[i]
    weighted_rows(chain, settings, work)
    return found


@lru_cache
def solver():
    """Of the arm; with tolerances of its own so fine that the loop aims no farther inside."""
    chain = arm_of('panda')
    options = iks.IkOptions(position_tolerance=1e-13, orientation_tolerance=1e-13)
    return iks.Solver(chain, options=options).with_tolerances


def evaluated(task, q):
    problem = solver().problem()
    position, orientation, cost = evaluate(problem, solver().packed_many([task])[0], q)
    _, _, work = tree_views(problem)
    return position, orientation, cost, work.error.copy(), work.rows.copy()


def random_task(rng, region, tolerances):
    R = rotation(rng.normal(size=3), rng.uniform(0, math.pi))
    pose = transform(rotation(rng.normal(size=3), 2.0), rng.uniform(-0.5, 0.5, 3))
    return iks.Task(
        transform(R, rng.uniform(-0.5, 0.5, 3)),
        region,
        None if region is None else pose,
        rng.uniform(-0.2, 0.2, 3),
        **tolerances,
    )


@pytest.mark.parametrize('tolerances', TOLERANCES.values(), ids=TOLERANCES)
@pytest.mark.parametrize('region', REGIONS.values(), ids=REGIONS)
def test_errors_and_derivatives(region, tolerances):
    rng = np.random.default_rng(5)
    chain, h = arm_of('panda'), 1e-6
    for q in rng.uniform(chain.lower, chain.upper, (10, 7)):
        task = random_task(rng, region, tolerances)
        position, orientation, cost, _, rows = evaluated(task, q)
        violation = task.violation(chain.forward(q))
        np.testing.assert_allclose((position, orientation), violation, atol=1e-9)
        assert cost == pytest.approx(0.5 * (violation[0] ** 2 + violation[1] ** 2), abs=1e-9)
        for i in range(7):
            before, after = (evaluated(task, q + s * h * np.eye(7)[i])[3] for s in (-1, 1))
            slope = (before - after) / (2 * h)
            np.testing.assert_allclose(rows[i, :3], slope[:3], atol=1e-6)
            if 'orientation_tolerances' in tolerances and orientation < 2.5 and steep(task, q):
                np.testing.assert_allclose(rows[i, 3:], slope[3:], atol=1e-5)


def steep(task, q):
    """Whether the Euler angles are far enough from gimbal lock for exact derivatives."""
    R = task.target[:3, :3].T @ arm_of('panda').forward(q)[:3, :3]
    return task.parameterization != 'euler_xyz' or math.hypot(R[0, 0], R[0, 1]) > 0.1


def test_components_within_their_tolerance_are_free():
    chain, q = arm_of('panda'), np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.5, 0.3])
    T = chain.forward(q)
    task = iks.Task(T, iks.Box((0.1, 0.1, 0.0)), orientation_tolerances=(0.1, 0.0, 9.0))
    _, _, cost, error, rows = evaluated(task, q)
    assert cost == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(error, 0.0, atol=1e-12)
    R = T[:3, :3]
    linear, angular = rows[:, :3] @ R, rows[:, 3:] @ R
    np.testing.assert_allclose(linear[:, :2], 0.0, atol=1e-12)
    np.testing.assert_allclose(angular[:, [0, 2]], 0.0, atol=1e-12)
    assert abs(linear[:, 2]).max() > 0.1
    assert abs(angular[:, 1]).max() > 0.1


POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_position_only_leaves_the_orientation_free(solver, arm):
    options = options_with(task_weights=POSITION_ONLY, position_tolerance=1e-3, max_searches=20)
    turned = 0
    for target in targets(arm, 20, seed=26):
        target[:3, :3] = np.eye(3)  # of no account
        result = iks.solve_ik(arm, target, None, solver, options)
        error = pose_error(arm.forward(result.q), target)
        assert result.success
        assert result.position_error == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12)
        assert result.position_error <= 1e-3
        assert result.orientation_error == 0.0
        turned += np.linalg.norm(error[3:]) > 0.1
    assert turned > 10


@pytest.mark.parametrize('free', [*([axis] for axis in range(6)), [0, 1, 2]], ids=str)
def test_free_axes_of_the_base_have_no_error_however_far_away(panda, free):
    weights = np.ones(6)
    weights[free] = 0.0
    options, used = options_with(task_weights=weights, max_searches=50), 0
    for target in targets(panda, 10, seed=28):
        target[:3, 3] += 100.0 * (len(free) > 1)
        result = iks.solve_ik(panda, target, options=options)
        assert result.success
        error = pose_error(panda.forward(result.q), target)
        kept = weights * error
        assert np.linalg.norm(kept[:3]) == pytest.approx(result.position_error, abs=1e-12)
        assert np.linalg.norm(kept[3:]) == pytest.approx(result.orientation_error, abs=1e-9)
        used += np.abs(error[free]).max() > 1e-2
    assert used > 0


def test_tolerances_do_not_depend_on_the_weights(panda):
    for weights in (np.full(6, 1e-4), np.full(6, 1e4), (10, 10, 10, 0.1, 0.1, 0.1)):
        for target in targets(panda, 10, seed=29):
            options = options_with(task_weights=weights, max_searches=300)
            result = iks.solve_ik(panda, target, options=options)
            error = pose_error(panda.forward(result.q), target)
            assert result.position_error == pytest.approx(np.linalg.norm(error[:3]), abs=1e-12)
            assert result.success == bool(
                np.linalg.norm(error[:3]) <= 1e-5 and np.linalg.norm(error[3:]) <= 1e-5
            )


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'extended_jacobian'])
def test_large_weights_are_only_large_beside_others(panda, solver):
    options = options_with(task_weights=np.full(6, 1e12), max_searches=300)
    for target in targets(panda, 10, seed=30):
        result = iks.solve_ik(panda, target, solver=solver, options=options)
        assert result.success, result.reason


METHODS = [name for name in iks.solver_names() if name != 'ccd']
CHAINS = {
    'panda': lambda: arm_of('panda'),
    'sliding': lambda: snake(7, prismatic=0.5),
    'mimicking': mimicking,
}


@pytest.mark.parametrize('solver', METHODS)
@pytest.mark.parametrize('name', CHAINS)
def test_step_is_that_of_the_geometric_one_to_the_perturbation(solver, name):
    chain = CHAINS[name]()
    for q, way in zip(0.6 * postures(chain, 4), postures(chain, 4, seed=1), strict=True):
        target = chain.forward(q + 0.1 * way)
        exact = first_step(chain, q, target, solver)
        condition = np.linalg.cond(exact.J)
        distances = []
        for perturbation in (1e-6, 1e-4):
            values = {'jacobian': 'numerical', 'perturbation': perturbation}
            other = first_step(chain, q, target, solver, **values)
            distances.append(np.abs(other.step - exact.step).max())
            size = np.linalg.norm(exact.step) * condition
            assert distances[-1] <= 10.0 * perturbation * size
        assert distances[0] < 0.1 * distances[1]


def by_differences(chain, q, perturbation):
    columns = []
    for way in perturbation * np.eye(chain.n):
        columns.append(pose_error(chain.forward(q), chain.forward(q + way)) / perturbation)
    return np.array(columns).T


@pytest.mark.parametrize('perturbation', [0.3, 1e-2, 1e-5])
def test_perturbation_option_is_used(panda, perturbation):
    """Also one so large that it shows: forward differences, of one joint at a time."""
    for q, q_target in 0.5 * postures(panda, 6).reshape(3, 2, 7):
        first = first_step(
            panda, q, panda.forward(q_target), 'pseudoinverse', (2, 1, 1, 0.5, 1, 1),
            jacobian='numerical', perturbation=perturbation,
        )  # fmt: skip
        J = np.sqrt([2, 1, 1, 0.5, 1, 1])[:, None] * by_differences(panda, q, perturbation)
        np.testing.assert_allclose(first.step, np.linalg.pinv(J) @ first.e, rtol=1e-6, atol=1e-8)


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
def test_steps_that_are_far_too_long_are_shortened(panda, solver):
    """A gain of 1e6 costs trials, not the way down."""
    for target, result in traces(panda, solver, 'ignore', (1.0,) * 6, step_gain=1e6):
        rows = result.trace.search == 0
        cost = costs(panda, target, (1.0,) * 6, result.trace, 'ignore')[rows]
        assert np.all(np.diff(cost) <= 1e-13 * cost[:-1] + 1e-22)
        assert cost[-1] < 0.5 * cost[0]


@pytest.mark.parametrize('solver', MINIMISERS)
def test_steps_meet_the_armijo_condition(ur5e, solver):
    """Armijo's condition, along what was done: at least 1e-4 of what the slope promises."""
    for target, result in traces(ur5e, solver, 'ignore', (1.0,) * 6):
        trace = result.trace
        rows = np.flatnonzero(trace.search == 0)
        cost = costs(ur5e, target, (1.0,) * 6, trace, 'ignore')
        for k in rows[1:]:
            e = pose_error(ur5e.forward(trace.q[k - 1]), target)
            slope = -(ur5e.jacobian(trace.q[k - 1]).T @ e) @ trace.step[k]
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
