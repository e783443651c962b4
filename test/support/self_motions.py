"""Objectives, their gradients and motions that do not move the tip, in plain NumPy."""

import math

import numpy as np


def null_projection(J, rank):
    """I − J⁺J for a Jacobian of a known rank."""
    V = np.linalg.svd(J)[2][:rank].T
    return np.eye(J.shape[1]) - V @ V.T


def ranges(chain):
    """Middles and half ranges of the joints; NaN for those without both limits."""
    with np.errstate(invalid='ignore'):
        middle, half = (chain.upper + chain.lower) / 2, (chain.upper - chain.lower) / 2
    bounded = np.isfinite(half) & (half > 0.0)
    return np.where(bounded, middle, np.nan), np.where(bounded, half, np.nan)


def joint_centers(chain, q):
    middle, half = ranges(chain)
    return 0.5 * np.nansum(((q - middle) / half) ** 2)


def joint_limits(chain, q):
    _, half = ranges(chain)
    with np.errstate(invalid='ignore'):
        return np.nansum((2 * half) ** 2 / (4 * (chain.upper - q) * (q - chain.lower)))


def manipulability(chain, weights, q):
    """The product of the singular values that are not always 0; √det(J Jᵀ) where there are six."""
    J = np.sqrt(weights)[:, None] * chain.jacobian(q)
    values = np.linalg.svd(J, compute_uv=False)
    generic = chain.jacobian(np.linspace(0.3, 0.9, chain.n))[np.array(weights) > 0.0]
    return math.prod(values[: np.linalg.matrix_rank(generic)])


def central_gradient(g, q, step=1e-6):
    ways = step * np.eye(len(q))
    return np.array([(g(q + way) - g(q - way)) / (2 * step) for way in ways])


def preferred(chain):
    """A posture away from the middle."""
    return tuple(np.linspace(-0.5, 0.7, chain.n))


def wave(q):
    """A function of a caller's own."""
    total = 0.0
    for i in range(q.shape[0]):
        total += math.cos(q[i] + 0.5 * i) + 0.05 * q[i] * q[i]
    return total


def _named(g):
    def make(chain, weights):
        return {'objective': g.__name__}, lambda q: g(chain, q)

    return make


def _manipulability(chain, weights):
    return {'objective': 'manipulability'}, lambda q: -manipulability(chain, weights, q)


def _preferred(chain, weights):
    posture = preferred(chain)
    return (
        {'objective': 'preferred_posture', 'preferred_posture': posture},
        lambda q: 0.5 * np.sum((q - np.array(posture)) ** 2),
    )


OBJECTIVES = {
    # of a chain and task weights: the options, and the function that is lowered
    'joint_centers': _named(joint_centers),
    'joint_limits': _named(joint_limits),
    'manipulability': _manipulability,
    'preferred_posture': _preferred,
    'own': lambda chain, weights: ({'objective': wave}, wave),
}


def _gradient_of(make):
    def make_gradient(chain, weights):
        values, g = make(chain, weights)
        return values, lambda q: central_gradient(g, q, 1e-4)

    return make_gradient


GRADIENTS = {name: _gradient_of(make) for name, make in OBJECTIVES.items()}
