"""What holds for every kind of guess."""

import numpy as np
import pytest
from support.chains import pose_difference, targets, within_limits

from ik_service.extras.learning.guess import check_array
from ik_service.extras.learning.training import trainer


def errors(chain, postures, poses):
    """Distances [m] and angles [rad] from the poses, one row each."""
    return np.array(
        [pose_difference(chain.forward(q), T) for q, T in zip(postures, poses, strict=True)]
    )


def test_guesses_are_closer_than_the_middle_and_within_limits(guess):
    chain = guess.chain
    poses = np.array(targets(chain, 200, seed=31))
    guesses = guess.guess_many(poses)
    assert guesses.shape == (200, chain.n)
    assert all(within_limits(chain, q) for q in guesses)
    guessed = np.median(errors(chain, guesses, poses), axis=0)
    middle = np.median(errors(chain, [chain.mid_range()] * 200, poses), axis=0)
    assert (guessed < 0.5 * middle).all()


def test_one_guess_is_a_row_of_many(guess):
    poses = np.array(targets(guess.chain, 20, seed=32))
    rows = guess.guess_many(poses)
    for q, T in zip(rows, poses, strict=True):
        # Products of matrices of other sizes are summed up in another order.
        np.testing.assert_allclose(guess.guess(T), q, atol=1e-4)


def test_the_same_target_has_the_same_guess(guess):
    (T,) = targets(guess.chain, 1, seed=33)
    first = guess.guess(T)
    first_copy = first.copy()
    guess.guess(np.eye(4))
    np.testing.assert_array_equal(guess.guess(T), first_copy)
    np.testing.assert_array_equal(first, first_copy)


def test_no_targets_give_no_guesses(guess):
    assert guess.guess_many(np.empty((0, 4, 4))).shape == (0, guess.chain.n)


def test_any_memory_layout_of_the_target_is_accepted(guess):
    (T,) = targets(guess.chain, 1, seed=34)
    np.testing.assert_allclose(guess.guess(np.asfortranarray(T)), guess.guess(T), atol=1e-6)


def test_training_is_repeatable(kind, planar_guess):
    again = trainer(kind)(planar_guess.chain, 300, 5)
    once = trainer(kind)(planar_guess.chain, 300, 5)
    other = trainer(kind)(planar_guess.chain, 300, 6)
    poses = np.array(targets(planar_guess.chain, 10, seed=35))
    np.testing.assert_allclose(again.guess_many(poses), once.guess_many(poses), atol=1e-6)
    assert not np.allclose(other.guess_many(poses), once.guess_many(poses), atol=1e-3)


@pytest.mark.parametrize(
    'array', [np.zeros((0, 3)), np.zeros(3), np.zeros((2, 4)), np.full((2, 3), np.nan), ['a']]
)
def test_invalid_arrays_are_refused(array):
    with pytest.raises(ValueError, match=r'shape|NaN|string'):
        check_array(array, (None, 3))


def test_arrays_that_fit_are_doubles():
    assert check_array(np.ones((2, 3), np.float32), (None, 3)).dtype == np.float64
    assert check_array(np.array(4), ()) == 4.0
