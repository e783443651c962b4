"""Options: every value that cannot be is refused with the option's name."""

from dataclasses import FrozenInstanceError, replace
import math

import numpy as np
import pytest

from ik_service import IkOptions
from ik_service.exceptions import IkServiceError, OptionError
from ik_service.solvers.options import JOINT_LIMIT_STRATEGIES, LimitStrategy

ONES = (1.0,) * 6
NO_POSITIVE_NUMBER = [0.0, -1.0, math.nan, math.inf, -math.inf, '1', None, True, [1.0], 1j,
                      np.array([1.0, 2.0]), 1e300, 10**400]  # fmt: skip
NO_COUNT = [0, -1, 1.0, 1.5, math.nan, '1', True, [1], 2**63, 2**70, np.float64(3.0)]

BAD = [
    *(('position_tolerance', value) for value in NO_POSITIVE_NUMBER),
    *(('orientation_tolerance', value) for value in NO_POSITIVE_NUMBER),
    *(('timeout', value) for value in NO_POSITIVE_NUMBER),
    *(('step_gain', value) for value in NO_POSITIVE_NUMBER if value is not None),
    *(('damping', value) for value in NO_POSITIVE_NUMBER[1:] if value is not None),
    ('damping', False),
    *(('max_iterations', value) for value in NO_COUNT),
    *(('max_searches', value) for value in NO_COUNT),
    *(('random_seed', value) for value in [-1, 0.0, '0', None, True, 2**63]),
    *(('penalty_weight', value) for value in NO_POSITIVE_NUMBER if value is not None),
    *(('perturbation', value) for value in NO_POSITIVE_NUMBER if value is not None),
    *(('element_weight', value) for value in NO_POSITIVE_NUMBER if value is not None),
    *(('characteristic_length', value) for value in NO_POSITIVE_NUMBER if value is not None),
    *(('null_space_gain', value) for value in NO_POSITIVE_NUMBER[1:] if value is not None),
    *(('jacobian', value) for value in ['', 'analytic', None, 1]),
    *(('extension', value) for value in ['', 'elements', 1, ['basic_elements']]),
    *(('objective', value) for value in ['', 'joint_centres', 1, ['manipulability']]),
    *(('seed_source', value) for value in ['', 'learned', None, 1]),
    *(('preferred_posture', value) for value in ['', '12', 1.0, (), (math.nan, 1.0), ('a',)]),
    *(('element_displacements', value) for value in ['', 1.0, (), (math.inf, 1.0)]),
    *(('seed_file', value) for value in ['', 1, True]),
    *(('joint_limits', value) for value in ['', 'Clamp', None, 1, ['clamp'], True]),
    *(('prefer', value) for value in ['', 'last', None, 0, {}]),
    *(('variant', value) for value in ['', 'fast', 'Classical', 0, True, ['classical']]),
    *(('record_trace', value) for value in [1, 0, 'yes', None]),
    ('task_weights', 1.0),
    ('task_weights', None),
    ('task_weights', '111111'),
    ('task_weights', ONES[:5]),
    ('task_weights', (*ONES, 1.0)),
    ('task_weights', (0.0,) * 6),
    ('task_weights', (-1.0, *ONES[1:])),
    ('task_weights', (math.nan, *ONES[1:])),
    ('task_weights', (math.inf, *ONES[1:])),
    ('task_weights', ('x', *ONES[1:])),
    ('task_weights', np.ones((6, 1, 2))),
]


@pytest.mark.parametrize(('option', 'value'), BAD)
def test_invalid_values_are_refused(option, value):
    with pytest.raises(OptionError, match=f'^{option}: has to be') as error:
        IkOptions(**{option: value})
    assert error.value.option == option


def test_option_errors_are_value_errors_of_the_package():
    with pytest.raises(ValueError, match='prefer') as error:
        IkOptions(prefer='best')
    assert isinstance(error.value, IkServiceError)
    assert 'first, nearest' in str(error.value)


@pytest.mark.parametrize(
    ('option', 'value'),
    [
        ('position_tolerance', 1e-15),
        ('position_tolerance', 1),
        ('orientation_tolerance', np.float32(0.5)),
        ('timeout', np.int64(2)),
        ('timeout', 1e-9),
        ('max_iterations', np.int32(7)),
        ('max_iterations', None),
        ('max_searches', 1),
        ('random_seed', 2**62 - 1),
        ('random_seed', np.uint8(3)),
        ('damping', 0.0),
        ('damping', 0),
        ('step_gain', 0.5),
        ('prefer', 'nearest'),
        ('record_trace', True),
    ],
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
        ({'seed_file': 'arm.npz'}, "seed_source='table' or 'network'"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, companion):
    with pytest.raises(OptionError, match=companion):
        IkOptions(**options)


def test_vectors_become_tuples_of_floats():
    options = IkOptions(objective='preferred_posture', preferred_posture=np.arange(3))
    assert options.preferred_posture == (0.0, 1.0, 2.0)
    assert hash(options) == hash(replace(options))


def test_weights_become_a_tuple_of_floats():
    for weights in ([1, 1, 1, 0, 0, 0], np.array([1, 1, 1, 0, 0, 0])):
        assert IkOptions(task_weights=weights).task_weights == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_defaults_are_those_promised():
    options = IkOptions()
    assert (options.position_tolerance, options.orientation_tolerance) == (1e-5, 1e-5)
    assert options.task_weights == ONES
    assert options.prefer == 'first'
    assert options.record_trace is False
    assert options.joint_limits != 'ignore'


def test_options_do_not_change_and_can_be_compared():
    options = IkOptions()
    with pytest.raises(FrozenInstanceError):
        options.timeout = 2.0
    assert replace(options, timeout=2.0) == IkOptions(timeout=2.0)
    assert hash(options) == hash(IkOptions())


def test_strategies_of_the_options_are_those_of_the_kernels():
    assert JOINT_LIMIT_STRATEGIES == ('clamp', 'active_set', 'transform', 'penalty', 'ignore')
    inner = {LimitStrategy.PENALTY_IN_COST}
    assert {LimitStrategy[name.upper()] for name in JOINT_LIMIT_STRATEGIES} == (
        set(LimitStrategy) - inner
    )
