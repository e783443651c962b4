"""Steps of the extended Jacobian with basic elements, against least squares in NumPy."""

import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import joint_xml, limit_xml, planar, postures, robot_xml, snake, targets
from support.solver_checks import assert_honest, first_step, mean_distance, mimicking, options_with

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.methods.extended_jacobian.basic_elements import extended_matrix

PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
POSE = (1.0,) * 6
PAPER = (0.09, 0.06, 0.09, 0.15, 0.15, 0.09)
# Chain, task, and how many rows an element has.
PROBLEMS = {
    'planar_6r': (arm_of('planar_6r'), PLANE, 2),
    'paper': (planar(*PAPER), PLANE, 2),
    'planar, pose': (arm_of('planar_6r'), POSE, 6),
    'panda': (arm_of('panda'), POSE, 6),
    'panda, position': (arm_of('panda'), (1, 1, 1, 0, 0, 0), 6),
    'ur5e': (arm_of('ur5e'), (2.0, 1.0, 0.5, 0.0, 3.0, 0.0), 6),
    'sliding': (snake(6, prismatic=0.5), POSE, 6),
    'long': (snake(30), POSE, 6),
    'mimicking': (mimicking(), POSE, 6),
}


def right_side(chain, e, rows, weights, displacements, w):
    """What the elements shall do in units of the characteristic length, and the tip's error."""
    wanted = np.array(displacements).reshape(rows, -1)
    if rows == 6:
        wanted[:3] /= mean_distance(chain)
    return np.concatenate([w * wanted.ravel(), e[np.array(weights) > 0.0]])


def least_squares(A, b):
    return np.linalg.lstsq(A, b, rcond=None)[0]


@pytest.mark.parametrize('name', PROBLEMS)
@pytest.mark.parametrize('w', [None, 1.0, 0.1])
@pytest.mark.parametrize('moved', [False, True])
def test_step_is_that_of_least_squares(name, w, moved):
    chain, weights, rows = PROBLEMS[name]
    count = rows * (len(chain.arrays.variables) - 1)
    d = np.random.default_rng(3).normal(0.0, 0.1, count) if moved else np.zeros(count)
    values = {'element_weight': w, 'element_displacements': d if moved else None}
    for q, q_target in postures(chain, 6).reshape(3, 2, chain.n):
        target = chain.forward(q_target)
        first = first_step(chain, q, target, 'extended_jacobian', weights, **values)
        A = extended_matrix(chain, q, iks.IkOptions(task_weights=weights, element_weight=w))
        expected = least_squares(A, right_side(chain, first.e, rows, weights, d, w or 0.01))
        # Normal equations square the condition of the problem.
        bound = 1e-15 * np.linalg.cond(A) ** 2 * (np.linalg.norm(expected) + 1.0)
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
        assert bound < 1e-6


def test_gain_scales_the_step(panda):
    q, q_target = postures(panda, 2)
    whole, part = (
        first_step(panda, q, panda.forward(q_target), 'extended_jacobian', step_gain=gain).step
        for gain in (1.0, 0.3)
    )
    np.testing.assert_allclose(part, 0.3 * whole, rtol=1e-14)


def active_set_step(chain, A, b, q):
    """Least squares for the joints that do not cross a bound; the others go to the bound."""
    bounds = np.full(chain.n, np.nan)
    while True:
        free = np.isnan(bounds)
        step = np.where(free, 0.0, bounds - q)
        step[free] = least_squares(A[:, free], b - A @ step)
        crossing = free & ((q + step < chain.lower) | (q + step > chain.upper))
        if not crossing.any():
            return step
        bounds = np.where(crossing, np.where(step > 0.0, chain.upper, chain.lower), bounds)


@pytest.mark.parametrize('name', ['planar_6r', 'panda', 'sliding'])
@pytest.mark.parametrize('moved', [False, True])
def test_held_joints_leave_the_least_squares_problem(name, moved):
    whole, weights, rows = PROBLEMS[name]
    count = rows * (len(whole.arrays.variables) - 1)
    d = np.random.default_rng(3).normal(0.0, 0.05, count) if moved else np.zeros(count)
    held = 0
    for q, q_target in postures(whole, 20, seed=4).reshape(10, 2, whole.n):
        chain = whole.with_limits(q - 0.05, q + 0.05)
        options = iks.IkOptions(
            task_weights=weights, element_weight=1.0, element_displacements=d if moved else None,
            joint_limits='active_set', max_iterations=1, max_searches=1, record_trace=True,
        )  # fmt: skip
        q = np.clip(q, chain.lower, chain.upper)
        target = chain.forward(q + 0.2 * (q_target - q))
        step = iks.solve_ik(chain, target, q, 'extended_jacobian', options).trace.step[1]
        e = np.sqrt(weights) * pose_error(chain.forward(q), target)
        A = extended_matrix(chain, q, iks.IkOptions(task_weights=weights, element_weight=1.0))
        expected = active_set_step(chain, A, right_side(chain, e, rows, weights, d, 1.0), q)
        np.testing.assert_allclose(step, expected, rtol=0, atol=1e-9)
        held += np.count_nonzero((q + step == chain.lower) | (q + step == chain.upper))
    assert held > 10


@pytest.mark.parametrize('extension', ['basic_elements', 'null_space_gradient'])
@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform', 'penalty'])
def test_joint_without_a_range_does_not_stop_the_others(panda, extension, strategy):
    lower, upper = panda.lower.copy(), panda.upper.copy()
    lower[2] = upper[2] = 0.4
    fixed = panda.with_limits(lower, upper)
    options = options_with(joint_limits=strategy, extension=extension, position_tolerance=1e-3)
    moved = 0
    for q in postures(fixed, 5):
        start = np.clip(q + 0.02, lower, upper)
        result = iks.solve_ik(fixed, fixed.forward(q), start, 'extended_jacobian', options)
        assert_honest(fixed, fixed.forward(q), options, result)
        moved += result.success
    assert moved >= 3


def test_variable_that_moves_nothing_does_not_stop_the_others():
    """The third joint follows a fourth, off the path, by a multiplier of 0."""
    follows = limit_xml(-2.0, 2.0) + '<mimic joint="off" multiplier="0.0" offset="0.2"/>'
    joints = [
        joint_xml('first', 'continuous', 'a', 'b', (0, 0, 0.1)),
        joint_xml('second', 'continuous', 'b', 'c', (0.3, 0, 0), axis=(0, 1, 0)),
        joint_xml('third', 'revolute', 'c', 'd', (0.3, 0, 0), axis=(0, 1, 0), inner=follows),
        joint_xml('off', 'continuous', 'a', 'e'),
    ]
    chain = iks.Robot.from_urdf(robot_xml('abcde', joints)).chain('a', 'd')
    assert chain.n == 3
    for name in ('extended_jacobian', 'ccd'):
        result = iks.solve_ik(chain, chain.forward([0.3, 0.4, 0.5]), [0.1, 0.2, 0.7], name)
        assert result.success
        assert result.q[2] == 0.7


@pytest.mark.parametrize(
    ('extension', 'option', 'value'),
    [
        ('null_space_gradient', 'element_weight', 0.1),
        ('null_space_gradient', 'element_displacements', (0.0,) * 36),
        ('null_space_gradient', 'characteristic_length', 1.0),
        ('basic_elements', 'objective', 'joint_centers'),
        ('basic_elements', 'null_space_gain', 0.1),
        (None, 'objective', 'manipulability'),
    ],
)
def test_options_of_the_other_extension_are_refused(extension, option, value):
    options = iks.IkOptions(extension=extension, **{option: value})
    with pytest.raises(OptionError, match=f'^{option}: is not used by the extension') as error:
        iks.Solver(arm_of('panda'), 'extended_jacobian', options)
    assert error.value.option == option


@pytest.mark.parametrize(
    ('name', 'weights', 'length'),
    [('panda', POSE, 36), ('panda', PLANE, 36), ('planar_6r', PLANE, 10), ('planar_6r', POSE, 30)],
)
def test_displacements_of_another_length_are_refused_with_the_right_one(name, weights, length):
    for count in (1, length - 1, length + 1):
        options = iks.IkOptions(task_weights=weights, element_displacements=(0.0,) * count)
        with pytest.raises(OptionError, match=f'has to be {length} numbers, .*not {count}$'):
            iks.Solver(arm_of(name), 'extended_jacobian', options)
    right = iks.IkOptions(task_weights=weights, element_displacements=(0.0,) * length)
    iks.Solver(arm_of(name), 'extended_jacobian', right)


def test_basic_elements_are_the_default_and_have_no_remark(panda):
    target = targets(panda, 1)[0]
    default = iks.Solver(panda, 'extended_jacobian')
    named = iks.Solver(panda, 'extended_jacobian', iks.IkOptions(extension='basic_elements'))
    assert default.remark == named.remark == ''
    np.testing.assert_array_equal(default.solve(target).q, named.solve(target).q)


# Segments, which of their angles are straight (0) or folded (π). Folded about segments of one
# length, the first joint of an element does not move its end: the pivot is 0 in the middle.
FOLDS = {
    'stretched': ((1.0, 2.0, 1.5, 0.5), (0, 0, 0)),
    'first folded': ((1.0, 1.0, 2.0, 1.5), (1, 0, 0)),
    'middle folded': ((2.0, 1.0, 1.0, 1.5), (0, 1, 0)),
    'two folded': ((1.5, 1.0, 1.0, 1.0, 2.0), (0, 1, 1, 0)),
    'all folded': ((1.0, 1.0, 1.0, 1.0, 2.5, 1.0), (1, 1, 1, 0, 0)),
}


def expected_step(chain, first, q, weights, w):
    A = extended_matrix(chain, q, iks.IkOptions(task_weights=weights, element_weight=w))
    b = np.zeros(len(A))
    used = np.array(weights) > 0.0
    b[len(A) - used.sum() :] = first.e[used]
    return np.linalg.lstsq(A, b, rcond=None)[0], A


@pytest.mark.parametrize('name', FOLDS)
@pytest.mark.parametrize('w', [1.0, 0.03])
@pytest.mark.parametrize('off', [0.0, 1e-10, 1e-7, 1e-4, 1e-2])
def test_joints_not_determined_by_the_elements_go_to_the_border(name, w, off):
    lengths, folds = FOLDS[name]
    chain = planar(*lengths)
    q = np.array([0.3, *(math.pi * (1.0 - off) * fold + off for fold in folds)])
    target = chain.forward(q + np.linspace(-0.1, 0.2, chain.n))
    first = first_step(chain, q, target, 'extended_jacobian', PLANE, element_weight=w)
    expected, A = expected_step(chain, first, q, PLANE, w)
    assert np.linalg.matrix_rank(A) == chain.n
    bound = 1e-14 * np.linalg.cond(A) ** 2 * (np.linalg.norm(expected) + 1.0)
    np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
    assert bound < 1e-5


@pytest.mark.parametrize('w', [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize('make', [mimicking, lambda: snake(3), lambda: snake(5, prismatic=0.5)])
def test_step_towards_an_unreachable_target_is_accurate(make, w):
    chain = make()
    for q in postures(chain, 5, seed=2):
        target = chain.forward(q + 0.1)
        target[:3, 3] += (0.3, -0.2, 0.25)
        first = first_step(chain, q, target, 'extended_jacobian', element_weight=w)
        expected, A = expected_step(chain, first, q, POSE, w)
        bound = 1e-14 * np.linalg.cond(A) ** 2 * (np.linalg.norm(expected) + 1.0)
        np.testing.assert_allclose(first.step, expected, rtol=0, atol=bound)
        assert bound < 1e-9  # there is no division by w²


@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_small_weights_tend_to_a_limit(name):
    """Normal equations would have lost all digits: w² is 1e-18 of what it is added to."""
    chain = arm_of(name)
    for q in postures(chain, 5, seed=3):
        target = chain.forward(q + 0.05)
        near, nearer = (
            first_step(chain, q, target, 'extended_jacobian', element_weight=w).step
            for w in (1e-7, 1e-9)
        )
        np.testing.assert_allclose(nearer, near, rtol=0, atol=1e-7)


def test_singular_system_gives_no_step_and_the_solve_goes_on():
    """All segments of one length, folded, and a target along them: nothing determines the step."""
    chain = planar(1.0, 1.0)
    first = first_step(chain, [0.0, 0.0], chain.forward([0.0, 0.3]), 'extended_jacobian', PLANE)
    assert not first.step.any()
    options = iks.IkOptions(task_weights=PLANE)
    target = chain.forward([0.4, 0.8])
    assert iks.solve_ik(chain, target, [0.0, 0.0], 'extended_jacobian', options).success
