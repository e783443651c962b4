import math

import numpy as np
import pytest
from support.six_joint_arms import arm_of, JOINTS

import ik_service as iks
from ik_service.exceptions import IncompleteSolutionsError

TURN = 2 * math.pi


def test_turns_within_the_limits_are_listed():
    chain = arm_of(JOINTS['elbow'], bound=TURN)
    q = np.array([0.4, -0.3, 0.9, 0.5, 0.7, -1.1])
    single = iks.solve_ik_all(chain, chain.forward(q), q)
    every = iks.solve_ik_all(chain, chain.forward(q), q, turns=True)
    assert len(every) == 2**6 * len(single)
    assert len(np.unique(np.round(every, 6), axis=0)) == len(every)
    assert ((every >= chain.lower) & (every <= chain.upper)).all()
    for solution in every[::37]:
        assert np.abs(chain.forward(solution) - chain.forward(q)).max() < 1e-9
    distance = np.abs(every - q).max(axis=1)
    assert (np.diff(distance) >= 0).all()


def test_one_turn_of_each_is_the_nearest_to_the_seed():
    chain = arm_of(JOINTS['elbow'], bound=TURN)
    q = np.array([0.4, -0.3, 0.9, 0.5, 0.7, -1.1])
    seed = np.full(6, 3.0)
    for solution in iks.solve_ik_all(chain, chain.forward(q), seed):
        better = np.abs(solution + TURN * np.array([[-1], [1]]) - seed) < np.abs(solution - seed)
        inside = np.abs(solution + TURN * np.array([[-1], [1]])) <= TURN
        assert not (better & inside).any()


def test_turns_that_are_too_many_are_an_error():
    chain = arm_of(JOINTS['elbow'], bound=20.0)
    target = chain.forward(np.full(6, 0.5))
    with pytest.raises(IncompleteSolutionsError, match='more than 1000') as error:
        iks.solve_ik_all(chain, target, turns=True)
    assert len(error.value.partial) == 1000


def test_limits_far_away_are_no_trouble():
    chain = arm_of(JOINTS['elbow'], bound=1e9)
    target = chain.forward(np.full(6, 0.5))
    solutions = iks.solve_ik_all(chain, target)
    assert len(solutions) == 8
    # Joints whose limits mean that there is none stay on the turn nearest to the seed.
    np.testing.assert_array_equal(iks.solve_ik_all(chain, target, turns=True), solutions)
