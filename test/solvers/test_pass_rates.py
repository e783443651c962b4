"""
How often the methods reach poses that can be reached, from the middle of the limits.

The measure over more poses is benchmarks/solvers.py.
"""

import pytest
from support.chains import arm as chain_of
from support.chains import ARM_TIPS, targets, within_limits

import ik_service as iks

COUNT = 200


def pass_rate(name, solver, **options):
    """Share of random reachable poses that are reached."""
    chain = chain_of(name)
    # Bounded by the searches of the method, so that the load of the machine has no say.
    prepared = iks.Solver(chain, solver, iks.IkOptions(timeout=30.0, **options))
    results = [prepared.solve(target) for target in targets(chain, COUNT, seed=2024)]
    assert all(within_limits(chain, result.q) for result in results)
    return sum(result.success for result in results) / COUNT


@pytest.mark.parametrize('name', ARM_TIPS)
@pytest.mark.parametrize(
    ('solver', 'least'),
    [
        ('levenberg_marquardt', 0.999),
        ('pseudoinverse', 0.99),
        ('transpose', 0.999),
        ('ccd', 0.999),
    ],
)
def test_pass_rate(name, solver, least):
    assert pass_rate(name, solver) >= least


@pytest.mark.parametrize('name', ARM_TIPS)
def test_pass_rate_of_the_transpose_for_positions(name):
    options = {'task_weights': (1, 1, 1, 0, 0, 0), 'position_tolerance': 1e-3}
    assert pass_rate(name, 'transpose', **options) >= 0.999
