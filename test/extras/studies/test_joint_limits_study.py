"""The strategies for joint limits, measured."""

import math

import pytest

from ik_service.extras.studies import joint_limits
from ik_service.extras.studies.arms import load_arm

PANDA = load_arm('panda')
TARGETS = [PANDA.forward(q) for q in PANDA.random_postures(40, 0)]


def measure(*arguments):
    return joint_limits.measure(PANDA, TARGETS, *arguments)


@pytest.mark.parametrize('strategy', ['clamp', 'active_set', 'transform', 'penalty'])
def test_answers_lie_within_the_limits(strategy):
    record = measure('levenberg_marquardt', strategy)
    assert record.within == 100.0
    assert record.success > 95.0
    assert record.poses == 40


def test_without_limits_some_answers_lie_outside_and_count_as_such():
    record = measure('levenberg_marquardt', 'ignore')
    assert record.within < 100.0
    assert record.success > 95.0


def test_a_combination_that_is_refused_has_no_numbers():
    record = measure('ccd', 'transform')
    assert math.isnan(record.success)
    assert math.isnan(record.time)


def test_a_penalty_that_is_too_heavy_or_too_light_costs_iterations():
    light, right, heavy = (
        measure('conjugate_gradient', 'penalty', weight).iterations for weight in (1e-4, 1.0, 1e6)
    )
    assert light > 1.5 * right
    assert heavy > 1.5 * right
