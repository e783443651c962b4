"""Extrapolation of the cycles of coordinate descent: Anderson acceleration."""

from itertools import pairwise

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import planar, postures, snake, targets
from support.elements import mimicking

import ik_service as iks
from ik_service.kinematics.pose_error import pose_error
from ik_service.solvers.options import characteristic_length

EVEN = (1.0,) * 6
UNEVEN = (1.0, 2.0, 0.5, 1.0, 1.0, 1.0)


def rows_of(chain, q, target, count, weights=EVEN, **options):
    """The joint vectors of the first search."""
    options = iks.IkOptions(
        max_iterations=count, max_searches=1, record_trace=True, task_weights=weights,
        position_tolerance=1e-12, orientation_tolerance=1e-12, **options,
    )  # fmt: skip
    trace = iks.solve_ik(chain, target, q, 'ccd', options).trace
    return trace.q[trace.search == 0]


def disagreement(chain, q, target, weights):
    """What the cycles lower: of the rotation matrices where all weights are alike, else of e."""
    length = characteristic_length(chain, iks.IkOptions())
    if weights == EVEN:
        difference = chain.forward(q) - target
        rotation = 0.5 * np.sum(difference[:3, :3] ** 2)
        return np.sum(difference[:3, 3] ** 2) + length**2 * rotation
    e = np.sqrt(weights) * pose_error(chain.forward(q), target)
    return e[:3] @ e[:3] + length**2 * (e[3:] @ e[3:])


def without_turns(motion):
    """Motions of turning joints less their full turns."""
    return motion - 2 * np.pi * np.floor(motion / (2 * np.pi) + 0.5)


def inside(chain, q):
    """Turning joints within the limits: by a full turn where that suffices, else at the bound."""
    for turned in (q - 2 * np.pi, q + 2 * np.pi):
        fits = (turned >= chain.lower) & (turned <= chain.upper)
        q = np.where((q < chain.lower) | (q > chain.upper), np.where(fits, turned, q), q)
    return np.clip(q, chain.lower, chain.upper)


@pytest.mark.parametrize('weights', [EVEN, UNEVEN])
@pytest.mark.parametrize('strategy', ['clamp', 'ignore'])
def test_steps_are_those_of_the_formula_or_cycles(weights, strategy):
    """γ by least squares, to 1e-5 of the step: the solver has normal equations."""
    chain = arm_of('panda')
    settings = {'weights': weights, 'joint_limits': strategy}
    extrapolated = 0
    for q, q_target in postures(chain, 8, seed=5).reshape(4, 2, 7):
        target = chain.forward(q_target)
        rows = rows_of(chain, q, target, 5, **settings)
        after = np.array([rows_of(chain, row, target, 1, **settings)[1] for row in rows])
        motions = without_turns(after - rows)
        for k in range(1, len(rows) - 1):
            first = max(0, k - 5)
            changes = np.diff(motions[first : k + 1], axis=0).T
            ways = without_turns(np.diff(rows[first : k + 1], axis=0)).T
            gamma = np.linalg.lstsq(changes, motions[k], rcond=None)[0]
            way = motions[k] - (ways + changes) @ gamma
            place = rows[k] + way / max(1.0, np.abs(way).max())
            if strategy == 'clamp':
                place = inside(chain, place)
            errors = [disagreement(chain, x, target, weights) for x in (place, after[k])]
            expected = place if errors[0] < errors[1] else after[k]
            extrapolated += errors[0] < errors[1]
            np.testing.assert_allclose(rows[k + 1], expected, atol=1e-5)
    assert extrapolated > 0


@pytest.mark.parametrize('weights', [EVEN, UNEVEN])
@pytest.mark.parametrize('strategy', ['clamp', 'ignore'])
def test_no_step_is_worse_than_its_cycle(weights, strategy):
    chain = arm_of('ur5e')
    settings = {'weights': weights, 'joint_limits': strategy}
    for q, q_target in postures(chain, 8, seed=6).reshape(4, 2, 6):
        target = chain.forward(q_target)
        rows = rows_of(chain, q, target, 30, **settings)
        for before, row in pairwise(rows):
            cycle = rows_of(chain, before, target, 1, **settings)[1]
            least = disagreement(chain, cycle, target, weights)
            assert disagreement(chain, row, target, weights) <= least + 1e-13


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'planar_6r'])
def test_extrapolation_needs_a_tenth_of_the_classical_cycles(name):
    chain = arm_of(name)
    poses = targets(chain, 50, seed=13)
    means = {}
    for variant in ('accelerated', 'classical'):
        options = iks.IkOptions(variant=variant, timeout=30.0)
        batch = iks.solve_ik_batch(chain, poses, solver='ccd', options=options)
        means[variant] = batch.iterations.mean()
        if variant == 'accelerated':
            assert batch.success.all()
    assert 10.0 * means['accelerated'] < means['classical']


@pytest.mark.parametrize(
    'chain', [planar(1.0), planar(1.0, 0.5), snake(2), snake(5, prismatic=0.9), mimicking()]
)
def test_chains_of_few_joints(chain):
    """With fewer joints than cycles are remembered, and with a variable that moves several."""
    for q in postures(chain, 10, seed=7):
        start = np.clip(q + 0.2, chain.lower, chain.upper)
        result = iks.solve_ik(chain, chain.forward(q), start, 'ccd')
        assert result.success, result.reason
