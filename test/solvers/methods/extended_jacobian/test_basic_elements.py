"""The frames of the basic elements."""

import itertools
import math

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import joint_xml, limit_xml, planar, postures, robot_xml, snake
from support.solver_checks import extended, mimicking

import ik_service as iks
from ik_service.exceptions import ArgumentError, OptionError
from ik_service.solvers.methods.extended_jacobian.basic_elements import (
    extended_matrix,
    is_planar,
    mean_distance,
)
from ik_service.solvers.options import length_weight


def bent(angle, kind='revolute'):
    joints = [
        joint_xml('one', 'revolute', 'a', 'b', inner=limit_xml(-1.0, 1.0)),
        joint_xml('two', kind, 'b', 'c', (1, 0, 0), (angle, 0, 0), inner=limit_xml(-1.0, 1.0)),
        joint_xml('tip', 'fixed', 'c', 'd', (1, 0, 0), (1.0, 0.5, 0.2)),
    ]
    return iks.Robot.from_urdf(robot_xml('abcd', joints)).chain()


@pytest.mark.parametrize(
    ('make', 'planar_one'),
    [
        (lambda: arm_of('planar_6r'), True),
        (lambda: planar(1.0, 2.0), True),
        (lambda: bent(0.0), True),
        (lambda: bent(np.pi), True),
        (lambda: bent(1e-6), False),
        (lambda: bent(0.0, 'prismatic'), False),
        (lambda: arm_of('panda'), False),
        (lambda: arm_of('ur5e'), False),
        (lambda: snake(1), True),
    ],
)
def test_planar_chains_turn_about_parallel_axes(make, planar_one):
    assert is_planar(make()) is planar_one


def test_length_of_joints_in_one_point():
    chain = planar(0.0, 0.0)
    assert mean_distance(chain) == 1.0


PLANE = (1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
PAPER = (0.09, 0.06, 0.09, 0.15, 0.15, 0.09)
LENGTHS = [
    (1.0, 1.0),
    (1.0, 2.0, 1.0),
    (0.3, 0.5, 0.2, 0.7),
    PAPER,
    tuple(0.1 + 0.05 * k for k in range(11)),
]


def equation_9(lengths, q, w=1.0):
    """The matrix of the paper, written down term by term; added rows multiplied by w."""
    n = len(lengths)
    J = np.zeros((2 * n, n))
    for i in range(n - 1):
        first, second = q[i], q[i] + q[i + 1]
        J[i, i] = -lengths[i] * math.sin(first) - lengths[i + 1] * math.sin(second)
        J[i, i + 1] = -lengths[i + 1] * math.sin(second)
        J[n - 1 + i, i] = lengths[i] * math.cos(first) + lengths[i + 1] * math.cos(second)
        J[n - 1 + i, i + 1] = lengths[i + 1] * math.cos(second)
    J[: 2 * n - 2] *= w
    for k in range(n):
        J[2 * n - 2, k] = -sum(lengths[j] * math.sin(sum(q[: j + 1])) for j in range(k, n))
        J[2 * n - 1, k] = sum(lengths[j] * math.cos(sum(q[: j + 1])) for j in range(k, n))
    return J


def in_plane(**values):
    return iks.IkOptions(task_weights=PLANE, **values)


@pytest.mark.parametrize('lengths', LENGTHS)
@pytest.mark.parametrize('w', [1.0, 0.1, 1e-6])
def test_in_the_plane_it_is_equation_9_entry_for_entry(lengths, w):
    chain = planar(*lengths)
    for q in (*postures(chain, 5), np.zeros(chain.n), np.full(chain.n, math.pi / 2)):
        A = extended_matrix(chain, q, in_plane(element_weight=w))
        assert A.shape == (2 * chain.n, chain.n)
        np.testing.assert_allclose(A, equation_9(lengths, q, w), rtol=0, atol=1e-14)


@pytest.mark.parametrize('axis', [(0, 1, 0), (0, 0, -1), (1, 0, 0), (0.6, 0.0, 0.8)])
def test_plane_of_a_planar_chain_may_have_any_orientation(axis):
    """Each element has coordinates of its own, in which it turns from x to y."""
    across = np.cross(axis, (0.3, 0.9, 0.1))
    across /= np.linalg.norm(across)
    limits = limit_xml(-3, 3)
    joints = [
        joint_xml(f'j{k}', 'revolute', f'l{k}', f'l{k + 1}', x * across, axis=axis, inner=limits)
        for k, x in enumerate((0.0, 0.4, 0.3))
    ]
    joints.append(joint_xml('tip', 'fixed', 'l3', 'l4', 0.2 * across))
    chain = iks.Robot.from_urdf(robot_xml([f'l{k}' for k in range(5)], joints)).chain()
    for q in postures(chain, 3):
        A = extended_matrix(chain, q, iks.IkOptions(task_weights=PLANE, element_weight=1.0))
        expected = equation_9((0.4, 0.3, 0.2), q)[:4].reshape(2, 2, 3)
        # Where x of the element lies is up to the description; the lengths of columns are not.
        products = np.einsum('cki,ckj->kij', A[:4].reshape(2, 2, 3), A[:4].reshape(2, 2, 3))
        np.testing.assert_allclose(
            products, np.einsum('cki,ckj->kij', expected, expected), rtol=0, atol=1e-12
        )
        np.testing.assert_allclose(
            A, extended(chain, q, PLANE, 1.0, planar=True), rtol=0, atol=1e-8
        )


MATRIX_CHAINS = {
    'panda': arm_of('panda'),
    'ur5e': arm_of('ur5e'),
    'planar, whole pose': arm_of('planar_6r'),
    'sliding': snake(6, prismatic=0.5),
    'long': snake(12, prismatic=0.3),
    'two joints': snake(2),
    'from tip to base': snake(4).robot.chain('link4', 'link0'),
    'locked': snake(5).robot.chain('link0', 'link5', locked={'joint3': 0.7}),
    'mimicking': mimicking(),
}


@pytest.mark.parametrize('name', MATRIX_CHAINS)
@pytest.mark.parametrize(
    'weights', [(1.0,) * 6, (2.0, 1.0, 0.5, 0.0, 3.0, 0.0), (1, 1, 1, 0, 0, 0)]
)
def test_in_space_its_rows_are_the_motions_of_the_elements(name, weights):
    chain = MATRIX_CHAINS[name]
    weights = weights if name != 'planar, whole pose' else (*weights[:5], 1.0)
    scaled = np.multiply(weights, np.repeat([length_weight(chain) ** 2, 1.0], 3))
    for q in postures(chain, 3):
        for w, length in ((None, None), (1.0, 0.25)):
            options = iks.IkOptions(
                task_weights=weights, element_weight=w, characteristic_length=length
            )
            A = extended_matrix(chain, q, options)
            expected = extended(chain, q, scaled, w or 0.01, length)
            np.testing.assert_allclose(A, expected, rtol=0, atol=1e-7)


def test_one_joint_has_no_elements():
    chain = snake(1)
    for weights, tip in ((1.0,) * 6, range(6)), (PLANE, range(2)):
        A = extended_matrix(chain, [0.3], iks.IkOptions(task_weights=weights))
        np.testing.assert_array_equal(A, chain.jacobian([0.3])[tip])


def test_bad_arguments_are_refused():
    chain = planar(1.0, 1.0)
    for q in ([0.0], [0.0, math.nan], 'q'):
        with pytest.raises(ArgumentError, match=r'^q'):
            extended_matrix(chain, q)
    with pytest.raises(OptionError, match='characteristic_length'):
        extended_matrix(chain, [0, 0], in_plane(characteristic_length=1.0))


def smallest(chain, q, options=None):
    return np.linalg.svd(extended_matrix(chain, q, options), compute_uv=False)[-1]


def test_stretched_arm_has_full_rank_where_its_jacobian_has_not():
    chain = planar(*PAPER)
    assert np.linalg.matrix_rank(chain.jacobian(np.zeros(6))[:2]) == 1
    assert np.linalg.matrix_rank(extended_matrix(chain, np.zeros(6), in_plane())) == 6


def test_rows_of_position_alone_lose_rank_where_lengths_match():
    """What the paper does not say: folded onto its base, 1, 2, 1 has a self-motion unseen."""
    chain = planar(1.0, 2.0, 1.0)
    folded = np.array([0.4, math.pi, math.pi])
    assert smallest(chain, folded, in_plane(element_weight=1.0)) < 1e-15
    assert smallest(chain, folded, iks.IkOptions(element_weight=1.0)) > 0.1
    assert smallest(planar(1.0, 0.7), [0.4, 0.0], in_plane(element_weight=1.0)) < 1e-15


def test_rows_of_the_pose_lose_rank_only_where_all_joints_share_an_axis():
    for bends in itertools.product((0.0, math.pi), repeat=2):
        assert smallest(planar(1.0, 2.0, 1.0), [0.4, *bends]) > 1e-3
    chain = planar(0.0, 0.0)
    assert smallest(chain, [0.4, 0.1]) < 1e-15
