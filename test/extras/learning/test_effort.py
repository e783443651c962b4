"""What a guess saves, measured with the options that ask for it."""

import numpy as np
import pytest
from support.chains import arm, targets

import ik_service as iks
from ik_service.extras.learning.effort import mean_guess_time, measure_effort
from ik_service.extras.learning.guess_file import replaced_file, write_guess


def test_effort_is_that_of_the_solves():
    chain = arm('ur5e')
    poses = np.array(targets(chain, 50, seed=61))
    poses[7, :3, 3] = 5.0
    solver = iks.Solver(chain)
    measured = measure_effort(solver, poses)
    results = [solver.solve(T) for T in poses]
    assert measured.iterations == np.mean([result.iterations for result in results])
    assert measured.searches == np.mean([result.searches for result in results])
    assert measured.solved == 49 / 50
    first = sum(result.success and result.searches == 1 for result in results)
    assert measured.first_search == first / 50
    assert 0.0 < measured.call_time < 0.1


def test_solvers_start_at_the_guess(guess, tmp_path):
    path = tmp_path / 'guess.npz'
    with replaced_file(path) as file:
        write_guess(file, guess)
    poses = np.array(targets(guess.chain, 100, seed=62))
    options = iks.IkOptions(seed_source=guess.kind, seed_file=str(path))
    middle = measure_effort(iks.Solver(guess.chain), poses)
    learned = measure_effort(iks.Solver(guess.chain, options=options), poses)
    assert learned.solved == 1.0
    assert learned.searches <= middle.searches
    assert learned.iterations < 0.85 * middle.iterations


def test_explicit_seed_overrides_the_guess(planar_guess, tmp_path):
    path = tmp_path / 'guess.npz'
    with replaced_file(path) as file:
        write_guess(file, planar_guess)
    chain = planar_guess.chain
    options = iks.IkOptions(seed_source=planar_guess.kind, seed_file=str(path))
    (T,) = targets(chain, 1, seed=63)
    given = iks.Solver(chain).solve(T, chain.mid_range() + 0.1)
    with_guess = iks.Solver(chain, options=options).solve(T, chain.mid_range() + 0.1)
    np.testing.assert_array_equal(with_guess.q, given.q)


def test_guess_takes_less_than_a_millisecond(planar_guess):
    poses = np.array(targets(planar_guess.chain, 50, seed=64))
    assert 0.0 < mean_guess_time(planar_guess, poses) < 1e-3
    with pytest.raises(IndexError):
        mean_guess_time(planar_guess, poses[:0])
