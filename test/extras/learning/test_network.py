"""The network as it is used: its numbers, and what it can do without."""

import subprocess
import sys

import numpy as np
import pytest
from support.chains import arm, snake

from ik_service.extras.learning.network import encode, NetworkGuess
from ik_service.extras.learning.sampling import sample_postures


def constant_network(chain, values):
    """A network that gives the same for every pose."""
    values = np.asarray(values)
    return NetworkGuess(
        chain, [(np.zeros((12, 3)), np.zeros(3)), (np.zeros((3, len(values))), values)]
    )


@pytest.mark.parametrize(
    'chain', [arm('panda'), arm('ur5e'), snake(6, seed=3, prismatic=0.5)], ids=str
)
def test_decoding_inverts_encoding(chain):
    postures = sample_postures(chain, 20, seed=1)
    for q, values in zip(postures, encode(chain, postures), strict=True):
        np.testing.assert_allclose(constant_network(chain, values).guess(np.eye(4)), q, atol=1e-5)


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
        'from ik_service.extras.learning.loading import load_guess\n'
        'heavy = {"sklearn", "ik_service.solvers.solver"}\n'
        'sys.exit(", ".join(heavy & sys.modules.keys()) or 0)'
    )
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
