"""Targets outside the reach."""

import numpy as np
import pytest

import ik_service as iks
from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.unreachable import attempt, targets, TOO_FAR, TURNED

PANDA = load_arm('panda')


@pytest.fixture(scope='module')
def attempts():
    return {
        (name, method): attempt(PANDA, name, target, method, 20)
        for name, target in targets(PANDA).items()
        for method in iks.solver_names()
    }


def test_what_comes_back_is_honest_within_limits_and_close(attempts):
    best = {
        name: min(
            np.hypot(item.answer.position_error, item.answer.orientation_error)
            for (target, _), item in attempts.items()
            if target == name
        )
        for name in (TOO_FAR, TURNED)
    }
    for (name, method), item in attempts.items():
        answer = item.answer
        assert not answer.success, method
        assert np.all((PANDA.lower <= answer.q) & (answer.q <= PANDA.upper)), method
        error = np.hypot(answer.position_error, answer.orientation_error)
        assert error < 1.1 * best[name], method


def test_the_far_target_is_twenty_centimetres_away(attempts):
    answer = attempts[TOO_FAR, 'levenberg_marquardt'].answer
    assert 0.15 < np.hypot(answer.position_error, answer.orientation_error) < 0.21


def test_the_place_of_the_turned_target_can_be_reached():
    position = iks.IkOptions(task_weights=(1, 1, 1, 0, 0, 0))
    assert iks.solve_ik(PANDA, targets(PANDA)[TURNED], options=position).success


def test_own_iterations_start_at_the_same_seed(attempts):
    starts = np.array([item.search.q[0] for item in attempts.values()])
    assert np.all(starts == starts[0])
