"""Problems for all solvers, checks of their results, and their formulae in plain NumPy."""

from functools import lru_cache
import math
from typing import NamedTuple

import numpy as np
import pytest

import ik_service as iks
from ik_service.kinematics.link_poses import link_poses
from ik_service.kinematics.pose_error import pose_error
from support.chains import arm as arm_of
from support.chains import (
    forward_by_tree,
    joint_xml,
    limit_xml,
    pose_difference,
    postures,
    robot_xml,
    rotation,
    snake,
    targets,
    within_limits,
)

WEIGHTS = [(1.0,) * 6, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0), (2.0, 1.0, 0.5, 0.1, 3.0, 0.0)]


def options_with(**values):
    """Bounded by searches and not by time, so that the machine's load does not matter."""
    return iks.IkOptions(**{'timeout': 30.0, 'max_searches': 5, **values})


def hard_targets(chain):
    """Targets: reachable, out of reach, and within the reach's sphere but without a solution."""
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
    """Check that two results are equal to the last bit, apart from the time they took."""
    assert result.q.tobytes() == other.q.tobytes()
    assert result.status is other.status
    for name in ('position_error', 'orientation_error', 'iterations', 'searches'):
        assert getattr(result, name) == getattr(other, name)


def assert_rows_equal(batch, results):
    """Check that each row of a batch is, bit by bit, what a single solve has returned."""
    for k, result in enumerate(results):
        assert batch.q[k].tobytes() == result.q.tobytes()
        assert batch.status[k] is result.status
        assert batch.success[k] == result.success
        assert batch.position_error[k] == result.position_error
        assert batch.orientation_error[k] == result.orientation_error
        assert batch.iterations[k] == result.iterations
        assert batch.searches[k] == result.searches


def assert_partial(batch, whole, seeds):
    """Each row is the answer or nothing but its seed; return how many are the latter."""
    stopped = batch.status == iks.IkStatus.INTERRUPTED
    np.testing.assert_array_equal(batch.q[stopped], seeds[stopped])
    assert np.all(np.isinf(batch.position_error[stopped]))
    assert np.all(np.isinf(batch.orientation_error[stopped]))
    assert not batch.success[stopped].any()
    assert not batch.iterations[stopped].any()
    np.testing.assert_array_equal(batch.q[~stopped], whole.q[~stopped])
    np.testing.assert_array_equal(batch.status[~stopped], whole.status[~stopped])
    return stopped.sum()


class FirstStep(NamedTuple):
    """The step, and the weighted Jacobian and error at its start."""

    step: np.ndarray
    J: np.ndarray
    e: np.ndarray


def first_step(chain, q, target, solver, weights=(1.0,) * 6, **options):
    """Take one unconstrained step from q towards the target."""
    options = iks.IkOptions(
        joint_limits='ignore', max_iterations=1, max_searches=1, record_trace=True,
        task_weights=weights, **options,
    )  # fmt: skip
    trace = iks.solve_ik(chain, target, q, solver, options).trace
    np.testing.assert_array_equal(trace.q[0], q)
    roots = np.sqrt(weights)
    e = roots * pose_error(chain.forward(q), target)
    return FirstStep(trace.step[1], roots[:, None] * chain.jacobian(q), e)


_STEP = 1e-6


def joint_frames(chain, q):
    """T_base_joint of the frames in which the joints move, z along their axes; then the tip's."""
    positions = {**chain.locked, **dict(zip(chain.joint_names, q, strict=True))}
    poses = link_poses(chain.robot, positions)
    frames = []
    for joint, forward in chain.robot.path(chain.base_link, chain.tip_link):
        if joint.movable and joint.name not in chain.locked:
            T = poses[joint.parent] @ joint.T_parent_joint if forward else poses[joint.child]
            frames.append(T @ _z_to(joint.axis))
    frames.append(poses[chain.tip_link])
    return [np.linalg.solve(poses[chain.base_link], T) for T in frames]


def _z_to(axis):
    """The shortest rotation that brings z onto an axis; half a turn about x where z is against."""
    T = np.eye(4)
    across = np.cross([0.0, 0.0, 1.0], axis)
    sine = np.linalg.norm(across)
    if sine > 1e-9:
        T[:3, :3] = rotation(across, math.atan2(sine, axis[2]))
    elif axis[2] < 0.0:
        T[:3, :3] = np.diag([1.0, -1.0, -1.0])
    return T


def element_poses(chain, q):
    """Pose of the end of each element in the frame in which its first joint moves."""
    frames = joint_frames(chain, q)
    return [np.linalg.solve(first, end) for first, end in zip(frames, frames[2:], strict=False)]


def element_rows(chain, q, length):
    """(m − 1, 6, n): how each element's pose changes, its position in units of a length."""
    rows = np.empty((len(element_poses(chain, q)), 6, chain.n))
    for i in range(chain.n):
        way = _STEP * np.eye(chain.n)[i]
        ends = zip(element_poses(chain, q + way), element_poses(chain, q - way), strict=True)
        for k, (after, before) in enumerate(ends):
            turn = after[:3, :3] @ before[:3, :3].T
            rows[k, :3, i] = (after[:3, 3] - before[:3, 3]) / (2 * _STEP * length)
            twice = [turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]
            rows[k, 3:, i] = np.divide(twice, 4 * _STEP)
    return rows


def mean_distance(chain):
    """Mean distance of consecutive joints and the tip, where nothing has slid."""
    origins = np.array([T[:3, 3] for T in joint_frames(chain, np.zeros(chain.n))])
    return np.linalg.norm(np.diff(origins, axis=0), axis=1).mean()


def extended(chain, q, weights=(1.0,) * 6, element_weight=0.01, length=None, planar=False):
    """The matrix: first coordinate of every element, then the second …; then the tip's rows."""
    length = 1.0 if planar else length or mean_distance(chain)
    rows = element_rows(chain, q, length)[:, : 2 if planar else 6]
    tip = np.sqrt(weights)[:, None] * chain.jacobian(q)
    stacked = element_weight * rows.transpose(1, 0, 2).reshape(-1, chain.n)
    return np.vstack([stacked, tip[np.array(weights) > 0.0]])


def mimicking(offset=0.0):
    """Three links in space; the third joint follows the first, with the second between them."""
    limits = limit_xml(-2.0, 2.0)
    follows = f'{limits}<mimic joint="first" multiplier="-0.5" offset="{offset}"/>'
    joints = [
        joint_xml('first', 'revolute', 'a', 'b', (0, 0, 0.1), axis=(0, 1, 0), inner=limits),
        joint_xml('second', 'revolute', 'b', 'c', (0.5, 0, 0), (0.2, 0, 0), inner=limits),
        joint_xml('third', 'revolute', 'c', 'd', (0.4, 0, 0), axis=(0, 0, -1), inner=follows),
        joint_xml('fourth', 'prismatic', 'd', 'e', (0.3, 0, 0), axis=(1, 0, 0), inner=follows),
        joint_xml('tip', 'fixed', 'e', 'f', (0.2, 0.1, 0)),
    ]
    return iks.Robot.from_urdf(robot_xml('abcdef', joints)).chain()


# The penalty begins this share of the range (or of 1) inside a bound.
MARGIN = 1e-3
PENALTY_WEIGHT = 10.0
CHAINS = {
    'panda': lambda: arm_of('panda'),
    'ur5e': lambda: arm_of('ur5e'),
    'planar_6r': lambda: arm_of('planar_6r'),
    'sliding': lambda: snake(6, prismatic=0.5),
    'mimicking': mimicking,
}


def penalty(chain, q):
    margin = MARGIN * np.minimum(chain.upper - chain.lower, 1.0)
    beyond = np.maximum(q - (chain.upper - margin), 0.0) + np.maximum(
        chain.lower + margin - q, 0.0
    )
    return 0.5 * PENALTY_WEIGHT * np.sum(beyond**2)


def costs(chain, target, weights, trace, strategy):
    """Per row of a trace, what the method minimises."""
    rows = []
    for q in trace.q:
        e = np.sqrt(weights) * pose_error(chain.forward(q), target)
        rows.append(0.5 * e @ e + (penalty(chain, q) if strategy == 'penalty' else 0.0))
    return np.array(rows)


def traces(chain, solver, strategy, weights, count=4, **values):
    """Targets, and the trace of the only search for each."""
    options = options_with(
        joint_limits=strategy, task_weights=weights, record_trace=True, max_searches=1,
        timeout=30.0, **values,
    )  # fmt: skip
    prepared = iks.Solver(chain, solver, options)
    for q, start in zip(postures(chain, count, 11), postures(chain, count, 12), strict=True):
        target = chain.forward(q)
        yield target, prepared.solve(target, start)


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
    return math.prod(values[: _generic_rank(chain, *weights)])


@lru_cache
def _generic_rank(chain, *weights):
    generic = chain.jacobian(np.linspace(0.3, 0.9, chain.n))[np.array(weights) > 0.0]
    return np.linalg.matrix_rank(generic)


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


def gradient_of(objective, chain, weights):
    """The options of an objective, and its gradient."""
    values, g = OBJECTIVES[objective](chain, weights)
    return values, lambda q: central_gradient(g, q, 1e-4)
