"""Objectives by name, and functions of the caller's own."""

from functools import partial

import numba
import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, snake

import ik_service as iks
from ik_service.exceptions import OptionError
from ik_service.solvers.choices import ObjectiveKind
from ik_service.solvers.secondary.objective_choice import choose_objective, task_rank

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


class Unhashable:
    __hash__ = None

    def __call__(self, q):
        return q[0]


def solved(objective):
    """A stretch of self-motion under an objective."""
    chain = planar(0.5, 0.4, 0.3)
    q = np.array([0.3, 0.8, -0.6])
    options = iks.IkOptions(objective=objective, task_weights=PLANE, max_searches=1)
    return q, iks.solve_ik(chain, chain.forward(q), q, 'pseudoinverse', options)


@pytest.mark.parametrize(
    'objective',
    [
        lean,
        numba.njit(lean),
        lambda q: (q[0] - 0.5) ** 2,
        lambda q: float(np.sum((q[:1] - 0.5) ** 2)),
        scaled,
        lambda q: -round(q[1]),
    ],
    ids=['function', 'jitted', 'lambda', 'numpy', 'default argument', 'integer'],
)
def test_any_function_that_numba_compiles_is_an_objective(objective):
    q, result = solved(objective)
    assert result.success
    assert objective(result.q) <= objective(q)


def test_plain_and_compiled_functions_give_the_same_result():
    answers = [solved(f)[1].q for f in (lean, numba.njit(lean), lambda q: (q[0] - 0.5) ** 2)]
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
    assert answers[0][0] == pytest.approx(0.5, abs=1e-3)


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


@pytest.mark.parametrize(
    'objective', ['', 'manipulation', 3, 1.5, True, ('joint_centers',), Unhashable()]
)
def test_unknown_objectives_are_refused_with_the_valid_ones(objective):
    with pytest.raises(
        OptionError, match='joint_centers, joint_limits, manipulability, prefer'
    ) as error:
        iks.IkOptions(objective=objective)
    assert 'or a function of q' in str(error.value)


def test_preferred_posture_comes_with_its_objective():
    chain = arm_of('panda')
    with pytest.raises(OptionError, match=r'^preferred_posture: has to come with objective'):
        iks.IkOptions(preferred_posture=(0.0,) * 7, objective='joint_centers')
    with pytest.raises(OptionError, match=r'^preferred_posture: has to be given'):
        iks.IkOptions(objective='preferred_posture')
    for count in (1, 6, 8):
        options = iks.IkOptions(objective='preferred_posture', preferred_posture=(0.0,) * count)
        wrong = f'has to be 7 numbers, one each for panda_joint1, .*, not {count}$'
        for name in ('pseudoinverse', 'extended_jacobian'):
            given = options
            if name == 'extended_jacobian':
                given = iks.IkOptions(
                    objective='preferred_posture', preferred_posture=(0.0,) * count,
                    extension='null_space_gradient',
                )  # fmt: skip
            with pytest.raises(OptionError, match=f'^preferred_posture: {wrong}') as error:
                iks.Solver(chain, name, given)
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
        ('planar_6r', (0, 0, 1, 0, 0, 0), 0),
        ('ur5e', (1e-6,) * 6, 6),
    ],
)
def test_rank_of_a_task(name, weights, rank):
    assert task_rank(arm_of(name), weights) == rank


def test_rank_of_a_chain_with_fewer_joints_than_the_task():
    assert task_rank(snake(4), (1.0,) * 6) == 4


def test_objective_of_default_options():
    objective = choose_objective(arm_of('panda'), iks.IkOptions())
    assert (objective.kind, objective.address) == (ObjectiveKind.NONE, 0)
    assert objective.posture.shape == (7,)
    assert objective.rank == 6
