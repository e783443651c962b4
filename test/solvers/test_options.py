"""Options of a solve, and its result: a status and a reason in a sentence."""

from array import array
from dataclasses import FrozenInstanceError, replace
import itertools
import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, transform

import ik_service as iks
from ik_service import IkOptions
from ik_service.exceptions import OptionError
from ik_service.solvers.loop.problem import views
from ik_service.solvers.registry import solver_spec
from ik_service.solvers.result import few_joints_hint

ONES = (1.0,) * 6
NO_POSITIVE_NUMBER = [0.0, -1.0, math.nan, math.inf, -math.inf, '1', None, True, [1.0], 1j,
                      np.array([1.0, 2.0]), 1e300, 10**400]  # fmt: skip
NO_COUNT = [0, -1, 1.0, 1.5, math.nan, '1', True, [1], 2**63, 2**70, np.float64(3.0)]

ABOVE_ZERO = ('position_tolerance', 'orientation_tolerance', 'timeout')
OPTIONAL = (
    'step_gain', 'penalty_weight', 'perturbation', 'element_weight', 'characteristic_length',
    'max_joint_motion',
)  # fmt: skip
ZERO_TOO = ('damping', 'null_space_gain')
NUMBERS = [value for value in NO_POSITIVE_NUMBER if value is not None]

OTHER = {
    'damping': [False],
    'random_seed': [-1, 0.0, '0', None, True, 2**63],
    'jacobian': ['', 'analytic', None, 1],
    'extension': ['', 'elements', 1, ['basic_elements']],
    'objective': ['', 'joint_centres', 1, ['manipulability']],
    'seed_source': ['', 'learned', None, 1],
    'preferred_posture': ['', '12', 1.0, (), (math.nan, 1.0), ('a',)],
    'element_displacements': ['', 1.0, (), (math.inf, 1.0)],
    'seed_file': ['', 1, True],
    'joint_limits': ['', 'Clamp', None, 1, ['clamp'], True],
    'prefer': ['', 'last', None, 0, {}],
    'variant': ['', 'fast', 'Classical', 0, True, ['classical']],
    'record_trace': [1, 0, 'yes', None],
    'task_weights': [
        1.0, None, '111111', ONES[:5], (*ONES, 1.0), (0.0,) * 6, np.ones((6, 1, 2)),
        *((first, *ONES[1:]) for first in (-1.0, math.nan, math.inf, 'x')),
    ],
}  # fmt: skip
BAD = [
    *itertools.product(ABOVE_ZERO, NO_POSITIVE_NUMBER),
    *itertools.product(OPTIONAL, NUMBERS),
    *itertools.product(ZERO_TOO, NUMBERS[1:]),
    *itertools.product(('max_iterations', 'max_searches'), NO_COUNT),
    *((option, value) for option, values in OTHER.items() for value in values),
]


@pytest.mark.parametrize(('option', 'value'), BAD)
def test_invalid_values_are_refused(option, value):
    with pytest.raises(OptionError, match=f'^{option}: has to be') as error:
        IkOptions(**{option: value})
    assert error.value.option == option


def test_an_array_as_of_a_ros_parameter_is_shown_as_a_list():
    with pytest.raises(OptionError, match=r'not \[1\.0, 2\.0\]$'):
        IkOptions(task_weights=array('d', [1.0, 2.0]))


VALID = {
    'position_tolerance': [1e-15, 1],
    'orientation_tolerance': [np.float32(0.5)],
    'timeout': [np.int64(2), 1e-9],
    'max_iterations': [np.int32(7), None],
    'max_searches': [1],
    'random_seed': [2**62 - 1, np.uint8(3)],
    'damping': [0.0, 0],
    'step_gain': [0.5],
    'prefer': ['nearest'],
    'record_trace': [True],
}


@pytest.mark.parametrize(
    ('option', 'value'), [(option, value) for option in VALID for value in VALID[option]]
)
def test_valid_values_are_accepted(option, value):
    assert getattr(IkOptions(**{option: value}), option) == value


@pytest.mark.parametrize(
    ('options', 'companion'),
    [
        ({'penalty_weight': 1.0}, "joint_limits='penalty'"),
        ({'perturbation': 1e-4}, "jacobian='numerical'"),
        ({'preferred_posture': (0.0,)}, "objective='preferred_posture'"),
        ({'preferred_posture': (0.0,), 'objective': 'joint_centers'}, 'preferred_posture'),
        ({'objective': 'preferred_posture'}, 'has to be given'),
        ({'seed_file': 'arm.npz'}, "seed_source='table'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, companion):
    with pytest.raises(OptionError, match=companion):
        IkOptions(**options)


def test_vectors_become_tuples_of_floats():
    options = IkOptions(objective='preferred_posture', preferred_posture=np.arange(3))
    assert options.preferred_posture == (0.0, 1.0, 2.0)
    assert hash(options) == hash(replace(options))
    for weights in ([1, 1, 1, 0, 0, 0], np.array([1, 1, 1, 0, 0, 0])):
        assert IkOptions(task_weights=weights).task_weights == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_options_do_not_change_and_can_be_compared():
    options = IkOptions()
    with pytest.raises(FrozenInstanceError):
        options.timeout = 2.0
    assert replace(options, timeout=2.0) == IkOptions(timeout=2.0)
    assert hash(options) == hash(IkOptions())


# A value of each option that only some methods use, other than its default, and what it needs.
VALUES = {
    'step_gain': {'step_gain': 0.5},
    'damping': {'damping': 0.5},
    'jacobian': {'jacobian': 'numerical'},
    'extension': {'extension': 'null_space_gradient'},
    'element_weight': {'element_weight': 0.5},
    'element_displacements': {'element_displacements': (0.0,) * 36},
    'characteristic_length': {'characteristic_length': 0.5},
    'objective': {'objective': 'joint_centers'},
    'null_space_gain': {'null_space_gain': 0.5, 'objective': 'joint_centers'},
    'preferred_posture': {'preferred_posture': (0.0,) * 7, 'objective': 'preferred_posture'},
    'variant': {'variant': 'classical'},
}
# What else has to be asked for, so that a method uses the option.
WITH = {
    ('extended_jacobian', option): {'extension': 'null_space_gradient'}
    for option in ('objective', 'null_space_gain', 'preferred_posture')
}
USES = {
    'levenberg_marquardt': {'damping', 'jacobian'},
    'pseudoinverse': {
        'step_gain', 'damping', 'jacobian', 'objective', 'null_space_gain', 'preferred_posture',
    },
    'transpose': {'step_gain', 'jacobian', 'characteristic_length', 'variant'},
    'extended_jacobian': set(VALUES) - {'damping', 'variant'},
    'ccd': {'step_gain', 'characteristic_length', 'variant'},
    'bfgs': {'step_gain', 'jacobian'},
    'conjugate_gradient': {'step_gain', 'jacobian'},
}  # fmt: skip


def test_table_is_complete():
    assert set(USES) == set(iks.solver_names())
    assert set().union(*(solver_spec(name).uses for name in iks.solver_names())) == set(VALUES)


@pytest.mark.parametrize('name', USES)
@pytest.mark.parametrize('option', VALUES)
def test_options_are_used_or_refused_by_name(panda, name, option):
    assert (option in solver_spec(name).uses) == (option in USES[name])
    if option in USES[name]:
        options = iks.IkOptions(**VALUES[option], **WITH.get((name, option), {}))
        assert iks.Solver(panda, name, options).options is options
        return
    with pytest.raises(OptionError) as error:
        iks.Solver(panda, name, iks.IkOptions(**VALUES[option]))
    refused = error.value.option
    assert refused in VALUES[option]
    assert refused not in USES[name]
    uses = ', '.join(sorted(USES[name]))
    assert str(error.value) == f'{refused}: is not used by {name}, which uses {uses}'
    target = panda.forward(panda.mid_range())
    for solve, wanted in (iks.solve_ik, target), (iks.solve_ik_batch, target[None]):
        with pytest.raises(OptionError, match=f'^{refused}: '):
            solve(panda, wanted, None, name, iks.IkOptions(**VALUES[option]))


def test_every_method_takes_what_concerns_the_loop():
    values = {
        'position_tolerance': 1e-3, 'orientation_tolerance': 1e-3, 'max_iterations': 7,
        'max_searches': 2, 'timeout': 2.0, 'prefer': 'nearest', 'random_seed': 5,
        'record_trace': True, 'joint_limits': 'clamp', 'task_weights': (1, 1, 1, 0, 0, 0),
    }  # fmt: skip
    for name in iks.solver_names():
        assert iks.Solver(arm_of('panda'), name, iks.IkOptions(**values)).name == name


@pytest.mark.parametrize('name', ['transpose', 'ccd'])
def test_variant_is_accelerated_unless_a_step_gain_is_given(panda, name):
    """And then it is the same as when it is asked for."""

    def limits(**values):
        solver = iks.Solver(panda, name, iks.IkOptions(**values))
        _, settings, _ = views(solver.problem())
        counts = settings.max_iterations[0], settings.max_searches[0], settings.progress[0]
        return solver.parameters, counts

    assert limits() == limits(variant='accelerated')
    assert limits(step_gain=0.5) == limits(step_gain=0.5, variant='classical')
    assert limits(step_gain=0.5)[1] == limits(variant='classical')[1]
    assert limits()[0] != limits(variant='classical')[0]
    assert limits()[1] != limits(variant='classical')[1]


def test_step_gain_is_not_one_of_accelerated_steps():
    with pytest.raises(OptionError, match=r"^step_gain: has to come with variant='classical'"):
        iks.IkOptions(step_gain=0.5, variant='accelerated')


@pytest.mark.parametrize('name', ['transpose', 'ccd'])
@pytest.mark.parametrize('values', [{'variant': 'classical'}, {'step_gain': 0.5}])
def test_characteristic_length_is_not_one_of_classical_steps(name, values):
    options = iks.IkOptions(characteristic_length=0.5, **values)
    with pytest.raises(OptionError, match=r"^characteristic_length: .*take variant='accelerated'"):
        iks.Solver(arm_of('panda'), name, options)


def test_results_do_not_change(panda):
    result = iks.solve_ik(panda, panda.forward(panda.mid_range()))
    with pytest.raises(FrozenInstanceError):
        result.status = iks.IkStatus.NO_SOLUTION
    with pytest.raises(ValueError, match='read-only'):
        result.q[0] = 1.0


def test_reason_of_a_success(panda):
    result = iks.solve_ik(panda, panda.forward(panda.mid_range()))
    assert result.reason.startswith('reached within ')
    assert ' mm and ' in result.reason
    assert '0 iterations in 1 search,' in result.reason


@pytest.mark.parametrize(('x', 'away'), [(2.4, ' 1000 mm and '), (5.45, ' 4050 mm and ')])
def test_reason_of_a_failure_says_how_far_the_closest_pose_is_in_whole_millimetres(x, away):
    chain, T = planar(1.0, 0.4), transform(p=(x, 0.0, 0.0))
    result = iks.solve_ik(chain, T, [0.1, 0.1])
    assert result.reason.startswith('the target lies outside the reach of the chain; ')
    assert f'the closest pose found is {result.position_error * 1e3:.0f} mm' in result.reason
    assert away in result.reason
    assert away in iks.solve_path(chain, [T]).end.text


def test_poses_too_far_for_numbers_are_told_in_words():
    chain = planar(1.0, 0.4)
    result = iks.solve_ik(chain, transform(p=(1e300, 0.0, 0.0)), [0.1, 0.1])
    assert result.status is iks.IkStatus.UNREACHABLE
    assert 'the closest pose found is farther than numbers can tell and ' in result.reason
    assert 'inf' not in result.reason
    assert 'e+153 mm' in iks.solve_ik(chain, transform(p=(1e150, 0.0, 0.0))).reason


def test_solve_time_is_in_seconds():
    chain = planar(1.0, 0.4)
    options = iks.IkOptions(timeout=0.05, max_searches=10**9)
    result = iks.solve_ik(chain, transform(p=(0.1, 0.0, 0.0)), [0.1, 0.1], options=options)
    assert 0.04 < result.solve_time < 30.0
    assert f'{result.solve_time * 1e3:.3g} ms' in result.reason


def test_the_reason_says_when_there_are_too_few_joints():
    chain = planar(1.0, 1.0)
    inside = transform(p=(0.9, 0.4, 0.0))
    result = iks.solve_ik(chain, inside, options=iks.IkOptions(max_searches=3))
    assert result.status is iks.IkStatus.NO_SOLUTION
    assert result.hint.startswith('2 joints cannot meet all 6 axes of most targets')
    assert result.reason.endswith(result.hint)
    batch = iks.solve_ik_batch(chain, inside[None], options=iks.IkOptions(max_searches=3))
    assert batch.reason(0).endswith(result.hint)
    solved = iks.solve_ik(chain, chain.forward([0.3, 0.4]))
    assert (solved.success, solved.hint) == (True, '')
    placed = iks.IkOptions(task_weights=(1, 1, 0, 0, 0, 0), max_searches=3)
    far = iks.solve_ik(chain, transform(p=(9.0, 0.0, 0.0)), options=placed)
    assert 'task_weights' not in far.reason


def test_the_hint_counts_the_joints_that_move(panda):
    assert few_joints_hint(6, (1.0,) * 6) == ''
    assert few_joints_hint(1, (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)) == (
        '1 joint cannot meet all 2 axes of most targets: a 0 in task_weights frees an axis'
    )
    lower, upper = panda.lower.copy(), panda.upper.copy()
    lower[:2] = upper[:2] = 0.0
    assert '5 joints' in iks.Solver(panda.with_limits(lower, upper)).hint
