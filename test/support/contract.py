"""What the tests of all solvers share: problems, and what a result has to be."""

import numpy as np
import pytest

import ik_service as iks
from ik_service.solvers.registry import solver_spec
from support.chains import forward_by_tree, pose_difference, targets, within_limits


def suited(solver, strategy):
    """Whether a way to keep the limits means something to a method."""
    return ('joint_limits', strategy) not in solver_spec(solver).refuses


def options_with(**values):
    """Bounded by searches and not by time, so that the machine's load does not matter."""
    return iks.IkOptions(**{'timeout': 30.0, 'max_searches': 5, **values})


def hard_targets(chain):
    """Reachable ones, some out of reach, and some just within it, where no posture leads."""
    centre, radius = chain.arrays.reach[:3], chain.arrays.reach[3]
    far, near = targets(chain, 3, seed=2), targets(chain, 3, seed=3)
    for T in (*far, *near):
        ray = T[:3, 3] - centre
        T[:3, 3] = centre + ray / np.linalg.norm(ray) * radius
    for T in far:
        T[:3, 3] *= 10.0
    for T in near:
        T[:3, 3] += 0.01 * (centre - T[:3, 3])
    return [*targets(chain, 12, seed=1), *far, *near]


def assert_honest(chain, target, options, result):
    """Check a result against its own claims, by a forward kinematics that is not compiled."""
    assert result.success is (result.status is iks.IkStatus.SUCCESS)
    assert result.q.shape == (chain.n,)
    assert not result.q.flags.writeable
    assert np.isfinite(result.q).all()
    if options.joint_limits != 'ignore':
        assert within_limits(chain, result.q)
    position_error, orientation_error = pose_difference(forward_by_tree(chain, result.q), target)
    assert result.position_error == pytest.approx(position_error, abs=1e-12, rel=1e-12)
    assert result.orientation_error == pytest.approx(orientation_error, abs=1e-7)
    reached = (
        position_error <= options.position_tolerance + 1e-12
        and orientation_error <= options.orientation_tolerance + 1e-12
    )
    assert result.success == reached
    assert result.iterations >= 0
    assert result.searches >= 1
    assert result.solve_time > 0.0
    for part in ('mm', '°', f'{result.iterations} iteration', f'{result.searches} search'):
        assert part in result.reason
    assert result.success or result.status.value in result.reason


def assert_same(result, other):
    """Equal to the last bit, but for the time it took."""
    assert result.q.tobytes() == other.q.tobytes()
    assert result.status is other.status
    for name in ('position_error', 'orientation_error', 'iterations', 'searches'):
        assert getattr(result, name) == getattr(other, name)
