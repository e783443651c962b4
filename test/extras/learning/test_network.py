"""The network as it is used: its numbers, and what it can do without."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from support.chains import arm, snake, targets

import ik_service as iks
from ik_service.exceptions import MissingExtraError
from ik_service.extras.learning import training
from ik_service.extras.learning.network import NetworkGuess
from ik_service.extras.learning.table import sample_postures
from ik_service.extras.learning.training import train_network, TrainingError


def constant_network(chain, values):
    """A network that gives the same for every pose."""
    values = np.asarray(values)
    return NetworkGuess(
        chain, [(np.zeros((12, 3)), np.zeros(3)), (np.zeros((3, len(values))), values)]
    )


def test_layers_are_those_of_a_network_with_rectifiers():
    chain = arm('ur5e')
    rng = np.random.default_rng(2)
    W0, b0 = rng.normal(size=(12, 8)), rng.normal(size=8)
    W1, b1 = rng.normal(size=(8, 12)), rng.normal(size=12)
    (T,) = (chain.forward(q) for q in sample_postures(chain, 1, seed=3))
    values = np.maximum(T[:3].ravel() @ W0 + b0, 0.0) @ W1 + b1
    expected = chain.mid_range() + np.arctan2(values[:6], values[6:])
    network = NetworkGuess(chain, [(W0, b0), (W1, b1)])
    np.testing.assert_allclose(network.guess(T), expected, atol=1e-4)


def test_guesses_are_cut_to_narrower_limits():
    chain = arm('panda').with_limits(np.full(7, -10.0), [0.1, 0.1, 0.1, -2, 0.1, 0.1, 0.1])
    q = constant_network(chain, np.full(14, 3.0)).guess(np.eye(4))
    assert (q <= chain.upper).all()
    assert (q >= chain.lower).all()


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('matrix0', np.zeros((11, 4))),
        ('vector0', np.zeros(3)),
        ('matrix1', np.zeros((4, 13))),
        ('matrix1', np.full((4, 12), np.nan)),
        ('layers', np.zeros(2)),
        ('layers', np.array(1)),
        ('layers', np.array(0)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, value):
    chain = arm('ur5e')
    arrays = {
        'layers': np.array(2),
        'matrix0': np.zeros((12, 4)),
        'vector0': np.zeros(4),
        'matrix1': np.zeros((4, 12)),
        'vector1': np.zeros(12),
    }
    NetworkGuess.from_arrays(chain, arrays)
    with pytest.raises(ValueError, match=r'shape|NaN|layer'):
        NetworkGuess.from_arrays(chain, {**arrays, name: value})


def test_loading_imports_neither_scikit_learn_nor_a_solver():
    program = (
        'import sys\n'
        'from ik_service.extras.learning.guess_file import load_guess\n'
        'heavy = {"sklearn", "ik_service.solvers.solver"}\n'
        'sys.exit(", ".join(heavy & sys.modules.keys()) or 0)'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


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
