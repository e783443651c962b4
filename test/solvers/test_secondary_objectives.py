"""Objectives inside the kernels: their values, and their gradients by finite differences."""

from functools import partial
import math

import numba
import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, snake, targets, within_limits
from support.solver_checks import (
    assert_honest,
    central_gradient,
    first_step,
    gradient_of,
    null_projection,
    OBJECTIVES,
    options_with,
)

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.jit.compile import kernel
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.loop.problem import allocate, open_problem, views
from ik_service.solvers.secondary_objectives import (
    choose_objective,
    MEMORY_ROWS,
    objective_gradient,
    objective_value,
    task_rank,
)


@kernel
def _value(problem, objective, q):
    chain, settings, work = open_problem(problem)
    return objective_value(objective, chain, settings, work, q)


@kernel
def _gradient(problem, objective, q, gradient):
    chain, settings, work = open_problem(problem)
    objective_gradient(objective, chain, settings, work, q, gradient)


def half_limited():
    """Joints without limits, with one, with two and with no range."""
    chain = snake(7, prismatic=0.0)
    endless = ['continuous' if k in (0, 1, 2) else 'revolute' for k in range(7)]
    text = chain.robot.urdf_text
    for k, kind in enumerate(endless, start=1):
        text = text.replace(f'name="joint{k}" type="revolute"', f'name="joint{k}" type="{kind}"')
    free = iks.Robot.from_urdf(text).chain('link0', 'link7')
    lower, upper = free.lower.copy(), free.upper.copy()
    upper[1], lower[2] = 1.0, -1.0
    lower[5] = upper[5] = 0.3
    return free.with_limits(lower, upper)


PROBLEMS = {
    'panda': (arm_of('panda'), (1.0,) * 6),
    'weighted': (arm_of('panda'), (2.0, 1.0, 0.5, 0.1, 3.0, 1.0)),
    'planar_6r': (arm_of('planar_6r'), (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    'planar_6r, position': (arm_of('planar_6r'), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    'planar_6r, pose': (arm_of('planar_6r'), (1.0,) * 6),
    'sliding': (snake(8, prismatic=0.5), (1.0,) * 6),
    'half limited': (half_limited(), (1.0,) * 6),
}


class Kernels:
    """An objective of a chain, as the kernels evaluate it."""

    def __init__(self, chain, weights, values):
        options = iks.IkOptions(task_weights=weights, **values)
        self.problem = allocate(chain, MEMORY_ROWS)
        _, settings, self.work = views(self.problem)
        settings.weights[:] = np.sqrt(weights)
        self.work.fixed_at[:] = math.nan
        self.objective = choose_objective(chain, options)

    def value(self, q):
        return _value(self.problem, self.objective, np.ascontiguousarray(q))

    def gradient(self, q):
        gradient = np.empty(len(q))
        _gradient(self.problem, self.objective, np.ascontiguousarray(q), gradient)
        return gradient


def inner_postures(chain, count):
    return np.array([0.97 * q + 0.03 * chain.mid_range() for q in postures(chain, count)])


@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_value_and_gradient(name, objective):
    chain, weights = PROBLEMS[name]
    values, g = OBJECTIVES[objective](chain, weights)
    compiled = Kernels(chain, weights, values)
    for q in inner_postures(chain, 10):
        q[chain.lower == chain.upper] = chain.lower[chain.lower == chain.upper]
        assert compiled.value(q) == pytest.approx(g(q), rel=1e-10, abs=1e-14)
        expected = central_gradient(g, q, 1e-5)
        bound = 1e-6 * (1.0 + np.abs(expected).max())
        np.testing.assert_allclose(compiled.gradient(q), expected, rtol=1e-5, atol=bound)


def test_joints_without_a_range_of_their_own_take_no_part():
    chain = half_limited()
    for name in ('joint_centers', 'joint_limits'):
        compiled = Kernels(chain, (1.0,) * 6, {'objective': name})
        for q in inner_postures(chain, 3):
            unconcerned = ~(np.isfinite(chain.upper - chain.lower) & (chain.upper > chain.lower))
            assert unconcerned.sum() == 4
            gradient = compiled.gradient(q)
            assert not gradient[unconcerned].any()
            assert gradient[~unconcerned].all()


def test_joint_limits_objective_is_large_and_finite_at_the_limits(panda):
    compiled = Kernels(panda, (1.0,) * 6, {'objective': 'joint_limits'})
    middle = panda.mid_range()
    assert compiled.value(middle) == pytest.approx(7.0)
    for bound in (panda.upper, panda.lower, panda.upper + 1.0):
        assert 1e5 < compiled.value(bound) < 1e14
        assert np.isfinite(compiled.gradient(bound)).all()


def test_held_joints_have_no_slope(panda):
    for name, make in OBJECTIVES.items():
        compiled = Kernels(panda, (1.0,) * 6, make(panda, (1.0,) * 6)[0])
        q = inner_postures(panda, 1)[0]
        free = compiled.gradient(q)
        compiled.work.fixed_at[2] = panda.upper[2]
        held = compiled.gradient(q)
        assert held[2] == 0.0, name
        np.testing.assert_array_equal(np.delete(held, 2), np.delete(free, 2))


PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def lean(q):
    return (q[0] - 0.5) ** 2


def scaled(q, factor=2.0):
    return factor * q[0] ** 2


class Called:
    def __call__(self, q):
        return q[0]

    def method(self, q):
        return q[0]


def solved(objective):
    """A stretch of self-motion under an objective."""
    chain = planar(0.5, 0.4, 0.3)
    q = np.array([0.3, 0.8, -0.6])
    options = iks.IkOptions(objective=objective, task_weights=PLANE, max_searches=1)
    return q, iks.solve_ik(chain, chain.forward(q), q, 'pseudoinverse', options)


OWN = {
    'function': lean,
    'jitted': numba.njit(lean),
    'lambda': lambda q: (q[0] - 0.5) ** 2,
    'numpy': lambda q: float(np.sum((q[:1] - 0.5) ** 2)),
    'default argument': scaled,
    'integer': lambda q: -round(q[1]),
}


@pytest.mark.parametrize('kind', OWN)
def test_any_function_that_numba_compiles_is_an_objective(kind):
    q, result = solved(OWN[kind])
    assert result.success
    assert OWN[kind](result.q) <= OWN[kind](q)
    if kind in ('jitted', 'lambda'):
        np.testing.assert_array_equal(result.q, solved(lean)[1].q)
        assert result.q[0] == pytest.approx(0.5, abs=1e-3)


def test_functions_see_what_they_close_over():
    answers = {}
    for wanted in (0.4, 0.6):
        answers[wanted] = solved(lambda q, wanted=wanted: (q[0] - wanted) ** 2)[1].q[0]
    for wanted, answer in answers.items():
        assert answer == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize(
    ('objective', 'named', 'reason'),
    [
        (lambda q: 2 * q, "'<lambda>'", 'array'),
        (lambda q: 'far', "'<lambda>'", 'str'),
        (lambda q: None, "'<lambda>'", 'none'),
        (lambda q: 1j * q[0], "'<lambda>'", 'complex'),
        (lambda q: q.nothing(), "'<lambda>'", 'nothing'),
        (lambda q: open('file'), "'<lambda>'", 'open'),  # noqa: SIM115
        (lambda: 1.0, "'<lambda>'", 'bind'),
        (lambda q, p: 1.0, "'<lambda>'", 'bind'),
        (partial(scaled, factor=3.0), 'partial', 'not a function'),
        (Called(), 'Called', 'not a function'),
        (Called().method, 'method', 'not a function'),
        (max, "'max'", 'not a function'),
        (np.sum, "'sum'", 'not a function'),
    ],
)
def test_invalid_objective_functions_are_refused_by_name(objective, named, reason):
    with pytest.raises(OptionError) as error:
        solved(objective)
    assert error.value.option == 'objective'
    message = str(error.value)
    assert message.startswith('objective: has to be a function of q (n,) that returns a number')
    assert named in message
    assert reason in message
    assert '\n' not in message


@pytest.mark.parametrize('count', [1, 6, 8])
@pytest.mark.parametrize(
    ('name', 'more'),
    [('pseudoinverse', {}), ('extended_jacobian', {'extension': 'null_space_gradient'})],
)
def test_preferred_posture_has_a_number_for_each_joint(panda, name, more, count):
    options = iks.IkOptions(
        objective='preferred_posture', preferred_posture=(0.0,) * count, **more
    )
    wrong = f'has to be 7 numbers, one each for panda_joint1, .*, not {count}$'
    with pytest.raises(OptionError, match=f'^preferred_posture: {wrong}') as error:
        iks.Solver(panda, name, options)
    assert error.value.option == 'preferred_posture'


def test_gain_without_an_objective_is_refused():
    with pytest.raises(OptionError, match=r'^null_space_gain: has to come with an objective'):
        iks.Solver(arm_of('panda'), 'pseudoinverse', iks.IkOptions(null_space_gain=0.1))


@pytest.mark.parametrize(
    ('name', 'weights', 'rank'),
    [
        ('panda', (1,) * 6, 6),
        ('panda', (1, 1, 1, 0, 0, 0), 3),
        ('panda', (0, 0, 0, 0, 0, 2), 1),
        ('planar_6r', (1,) * 6, 3),
        ('planar_6r', PLANE, 2),
        ('planar_6r', (1, 1, 1, 0, 0, 0), 2),
        ('planar_6r', (0, 0, 1, 0, 0, 0), 0),
        ('ur5e', (1e-6,) * 6, 6),
    ],
)
def test_rank_of_a_task(name, weights, rank):
    assert task_rank(arm_of(name), weights) == rank
    assert task_rank(snake(4), (1.0,) * 6) == 4, 'fewer joints than the task has axes'


MOTION_PROBLEMS = {
    'panda': (arm_of('panda'), (1.0,) * 6),
    'panda, position': (arm_of('panda'), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    'planar_6r': (arm_of('planar_6r'), (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)),
    'planar_6r, pose': (arm_of('planar_6r'), (1.0,) * 6),
    'sliding': (snake(9, prismatic=0.4), (1.0,) * 6),
}


def weighted(chain, weights, q):
    return np.sqrt(weights)[:, None] * chain.jacobian(q)


def self_slope(chain, weights, gradient, q):
    """(I − J⁺J) ∇g."""
    J = weighted(chain, weights, q)
    return null_projection(J, np.linalg.matrix_rank(J, tol=1e-10)) @ gradient(q)


def start(chain, seed):
    return 0.6 * postures(chain, 1, seed)[0] + 0.4 * chain.mid_range()


@pytest.mark.parametrize('name', MOTION_PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_step_has_the_term_of_liegeois(name, objective):
    chain, weights = MOTION_PROBLEMS[name]
    values, gradient = gradient_of(objective, chain, weights)
    for seed in range(3):
        q, q_target = start(chain, seed), start(chain, seed + 10)
        slope = self_slope(chain, weights, gradient, q)
        if np.abs(slope).max() < 1e-3:
            continue
        gain = 1e-3 / np.abs(slope).max()  # short enough to lower g, so nothing is shortened
        first = first_step(
            chain, q, chain.forward(q_target), 'pseudoinverse', weights,
            null_space_gain=gain, **values,
        )  # fmt: skip
        expected = np.linalg.pinv(first.J, rcond=1e-10) @ first.e - gain * slope
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=1e-7)
        np.testing.assert_allclose(
            first.J @ first.step, first.J @ np.linalg.pinv(first.J) @ first.e, atol=1e-10
        )


@pytest.mark.parametrize('name', MOTION_PROBLEMS)
@pytest.mark.parametrize('objective', OBJECTIVES)
def test_objective_falls_while_the_tip_stays(name, objective):
    chain, weights = MOTION_PROBLEMS[name]
    values, g = OBJECTIVES[objective](chain, weights)
    gradient = gradient_of(objective, chain, weights)[1]
    fallen = 0
    for seed in range(3):
        q = start(chain, seed)
        target = chain.forward(q)
        steepest = np.abs(self_slope(chain, weights, gradient, q)).max()
        options = options_with(
            task_weights=weights, null_space_gain=4e-4 / max(steepest, 1e-3), record_trace=True,
            max_iterations=300, max_searches=1, position_tolerance=1e-6,
            orientation_tolerance=1e-6, **values,
        )  # fmt: skip
        result = iks.solve_ik(chain, target, q, 'pseudoinverse', options)
        assert result.success
        path, used = result.trace.q, np.array(weights) > 0.0
        for row in path[:: max(1, len(path) // 20)]:
            error = used * pose_error(chain.forward(row), target)
            assert np.linalg.norm(error[:3]) < 1e-6
            assert np.linalg.norm(error[3:]) < 1e-6
        course = np.array([g(row) for row in path])
        assert np.all(np.diff(course) <= 1e-9 * np.abs(course[:-1]))
        np.testing.assert_array_equal(result.q, path[-1])
        fallen += course[-1] < course[0] - 1e-6 * abs(course[0])
    assert fallen >= 2


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_full_gain_reaches_the_minimum_of_the_objective(objective):
    """With the default gain: a success, and where it ends no self-motion lowers g any more."""
    chain, weights = arm_of('panda'), (1.0,) * 6
    values, g = OBJECTIVES[objective](chain, weights)
    gradient = gradient_of(objective, chain, weights)[1]
    rested = lowered = 0
    for seed in range(8):
        q = start(chain, seed)
        target = chain.forward(q)
        options = options_with(max_iterations=2000, **values)
        result = iks.solve_ik(chain, target, q, 'pseudoinverse', options)
        assert_honest(chain, target, options, result)
        assert result.success
        slope = np.abs(self_slope(chain, weights, gradient, result.q)).max()
        free = np.all((result.q > chain.lower) & (result.q < chain.upper))
        rested += slope < 1e-3 or not free or result.iterations >= 2000
        lowered += g(result.q) < g(q)
    assert rested >= 7
    assert lowered >= 7


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform'])
def test_limits_are_kept_while_the_objective_falls(panda, strategy):
    """A preferred posture beyond the limits draws joints to them, and not over."""
    beyond = tuple(panda.upper + 1.0)
    at_bounds = nearer = 0
    for seed in range(5):
        q = start(panda, seed)
        options = options_with(
            joint_limits=strategy, objective='preferred_posture', preferred_posture=beyond,
            null_space_gain=0.1, record_trace=True, max_iterations=500, max_searches=1,
            task_weights=(1, 1, 1, 0, 0, 0),
        )  # fmt: skip
        result = iks.solve_ik(panda, panda.forward(q), q, 'pseudoinverse', options)
        assert result.success
        assert all(within_limits(panda, row) for row in result.trace.q)
        before, after = (np.linalg.norm(np.array(beyond) - p) for p in (q, result.q))
        assert after <= before
        nearer += after < before - 0.1
        at_bounds += np.any(panda.upper - result.q < 1e-3)
    # Clamped, a step at a bound moves the tip, and the search ends where the tip was there last.
    assert (nearer >= 4 and at_bounds >= 3) or strategy == 'clamp'


@pytest.mark.parametrize('objective', OBJECTIVES)
def test_arm_without_redundancy_is_left_alone(ur5e, objective):
    values, _ = OBJECTIVES[objective](ur5e, (1.0,) * 6)
    for target, seed in zip(targets(ur5e, 5), postures(ur5e, 5, seed=1), strict=True):
        plain = iks.solve_ik(ur5e, target, seed, 'pseudoinverse', options_with())
        other = iks.solve_ik(ur5e, target, seed, 'pseudoinverse', options_with(**values))
        if plain.success and other.searches == plain.searches:
            np.testing.assert_allclose(other.q, plain.q, rtol=0, atol=1e-8)
            assert other.iterations == plain.iterations


def test_gain_of_zero_changes_nothing(panda):
    for target in targets(panda, 5):
        plain = iks.solve_ik(panda, target, None, 'pseudoinverse', options_with())
        options = options_with(objective='joint_centers', null_space_gain=0.0)
        other = iks.solve_ik(panda, target, None, 'pseudoinverse', options)
        assert other.q.tobytes() == plain.q.tobytes()


def nowhere(q):
    return np.nan * q[0]


def test_objective_that_is_not_a_number_does_no_harm(panda):
    for target in targets(panda, 3):
        options = options_with(objective=nowhere)
        result = iks.solve_ik(panda, target, None, 'pseudoinverse', options)
        assert_honest(panda, target, options, result)
        plain = iks.solve_ik(panda, target, None, 'pseudoinverse', options_with())
        np.testing.assert_array_equal(result.q, plain.q)
