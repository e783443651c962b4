"""How the network is trained, and when it cannot be."""

import sys
import warnings

import numpy as np
import pytest
from support.chains import arm, snake, targets

import ik_service as iks
from ik_service.exceptions import MissingExtraError
from ik_service.extras.learning import training
from ik_service.extras.learning.training import train_network, TrainingError


def test_searches_from_its_guesses_take_fewer_steps():
    pytest.importorskip('sklearn')
    chain = arm('planar_6r')
    network = train_network(chain, 2000, seed=1)
    poses = np.array(targets(chain, 100, seed=2))
    one_search = iks.IkOptions(max_searches=1)
    middle = iks.solve_ik_batch(chain, poses, options=one_search)
    guessed = iks.solve_ik_batch(chain, poses, network.guess_many(poses), options=one_search)
    assert guessed.success.sum() >= middle.success.sum()
    assert guessed.iterations.mean() < 0.7 * middle.iterations.mean()


def test_joints_that_slide_and_few_samples_do_without_a_warning():
    pytest.importorskip('sklearn')
    chain = snake(6, seed=3, prismatic=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        network = train_network(chain, 150)
    guesses = network.guess_many(np.array(targets(chain, 10, seed=3)))
    assert np.isfinite(guesses).all()


def test_training_fails_for_a_chain_that_cannot_be_solved(monkeypatch):
    pytest.importorskip('sklearn')

    def unsolved(chain, targets, *_, **__):
        far = np.tile(np.eye(4), (len(targets), 1, 1))
        far[:, 0, 3] = 100.0
        return iks.solve_ik_batch(chain, far)

    monkeypatch.setattr(training, 'solve_ik_batch', unsolved)
    with pytest.raises(TrainingError, match='only 0 of 200'):
        train_network(arm('planar_6r'), 200, seed=0)


def test_missing_scikit_learn_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, 'sklearn.neural_network', None)
    with pytest.raises(MissingExtraError, match=r'scikit-learn .* pip install .*\[learn\]'):
        train_network(arm('planar_6r'), 200)
