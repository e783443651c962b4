"""The chain as users see it: names, limits, checks of arguments, and that it does not change."""

from concurrent.futures import ThreadPoolExecutor
import math
import pickle

import numpy as np
import pytest
from support.chains import arm as arm_of
from support.chains import joint_xml, limit_xml, postures, robot_xml, snake

from ik_service import IkOptions, Robot, solve_ik
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.kinematics.link_poses import tip_poses, tip_speeds


def chain_with(kind, inner):
    joint = joint_xml('joint', kind, 'base', 'tip', inner=inner)
    return Robot.from_urdf(robot_xml(['base', 'tip'], [joint])).chain()


def test_names_and_sizes():
    chain = snake(13)
    assert chain.n == 13
    assert chain.joint_names == tuple(f'joint{i}' for i in range(1, 14))
    assert (chain.base_link, chain.tip_link, chain.locked) == ('link0', 'link13', {})
    assert chain.forward(np.zeros(13)).shape == (4, 4)
    assert chain.jacobian(np.zeros(13)).shape == (6, 13)
    for limits in (chain.lower, chain.upper, chain.velocity):
        assert limits.shape == (13,)
        assert limits.dtype == np.float64


def test_arrays_are_read_only():
    chain = snake(3)
    for array in (chain.lower, chain.upper, chain.velocity, *chain.arrays):
        with pytest.raises(ValueError, match='read-only'):
            array[0] = 1.0


def test_results_belong_to_the_caller():
    chain = snake(3)
    T, J = chain.forward([0.1, 0.2, 0.1]), chain.jacobian([0.1, 0.2, 0.1])
    kept_T, kept_J = T.copy(), J.copy()
    chain.forward([0.3, 0.0, 0.2])
    chain.jacobian([0.3, 0.0, 0.2])
    np.testing.assert_array_equal(T, kept_T)
    np.testing.assert_array_equal(J, kept_J)
    T[0, 0] = J[0, 0] = 7.0  # writable


def test_joint_vectors_are_copied_never_changed():
    chain = snake(3)
    q = np.array([0.1, 0.2, 0.1])
    assert not np.shares_memory(chain.check_q(q), q)
    for form in ([0.1, 0.2, 0.1], (0.1, 0.2, 0.1), q[::-1].copy()[::-1], q.astype(object)):
        np.testing.assert_array_equal(chain.forward(form), chain.forward(q))
    assert q.tolist() == [0.1, 0.2, 0.1]


@pytest.mark.parametrize('q', [0.0, [], [0.0] * 2, [0.0] * 4, [[0.0] * 3], np.zeros((3, 1))])
def test_wrong_shapes_are_refused(q):
    chain = snake(3)
    for function in (chain.forward, chain.jacobian, chain.check_q):
        with pytest.raises(ArgumentError, match=r'shape.*\(3,\).*joint1, joint2, joint3'):
            function(q)


@pytest.mark.parametrize('value', [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_name_the_joint(value):
    chain = snake(3)
    for function in (chain.forward, chain.jacobian):
        with pytest.raises(ArgumentError, match=f'^q: joint2 is {value}$') as error:
            function([0.0, value, math.nan])
        assert error.value.argument == 'q'
    with pytest.raises(ArgumentError, match=r'^start: joint2'):
        chain.check_q([0.0, value, 0.0], 'start')


@pytest.mark.parametrize('far', [1e9, 1e12, -1e15, 1e300])
def test_pose_is_precise_after_many_turns(far):
    chain = snake(3)
    near = [0.3, math.atan2(math.sin(far), math.cos(far)), -0.2]
    for function in (chain.forward, chain.jacobian):
        np.testing.assert_allclose(function([0.3, far, -0.2]), function(near), atol=1e-12)


@pytest.mark.parametrize('q', ['home', ['a', 'b', 'c'], [[0.0], [0.0, 1.0]], [1j, 0, 0], [{}] * 3])
def test_non_numeric_joint_vectors_are_refused(q):
    with pytest.raises(ArgumentError, match=r'^q: '):
        snake(3).forward(q)


@pytest.mark.parametrize(
    ('kind', 'inner', 'lower', 'upper', 'velocity'),
    [
        ('revolute', limit_xml(-1.0, 3.0, 2.5), -1.0, 3.0, 2.5),
        ('prismatic', limit_xml(0.1, 0.4), 0.1, 0.4, 1.0),
        ('continuous', '', -math.inf, math.inf, math.inf),
    ],
)
def test_limits_and_middle(kind, inner, lower, upper, velocity):
    chain = chain_with(kind, inner)
    assert (chain.lower[0], chain.upper[0], chain.velocity[0]) == (lower, upper, velocity)
    middle = (lower + upper) / 2 if math.isfinite(lower) else 0.0
    assert chain.mid_range()[0] == pytest.approx(middle, abs=1e-15)
    assert tuple(arm_of('panda').velocity[:5]) == (2.175, 2.175, 2.175, 2.175, 2.61)


def test_with_limits_only_narrows_and_leaves_the_chain_as_it_was(arm):
    span, before = arm.upper - arm.lower, arm.lower.copy()
    narrow = arm.with_limits(arm.lower + 0.1 * span, arm.upper + 1.0)
    np.testing.assert_array_equal(narrow.lower, before + 0.1 * span)
    np.testing.assert_array_equal(narrow.upper, arm.upper)
    np.testing.assert_array_equal(narrow.arrays.lower, narrow.lower)
    np.testing.assert_array_equal(narrow.arrays.upper, narrow.upper)
    assert narrow.joint_names == arm.joint_names
    q = postures(narrow, 1)[0]
    np.testing.assert_array_equal(narrow.forward(q), arm.forward(q))
    for limits in (narrow.lower, narrow.upper):
        assert not limits.flags.writeable
    np.testing.assert_array_equal(arm.lower, before)
    np.testing.assert_array_equal(arm.arrays.lower, before)


@pytest.mark.parametrize('lower', [[-9, 0.3, -9], [-9, math.inf, -9]])
def test_with_limits_names_the_joint_that_cannot_be_anywhere(lower):
    with pytest.raises(ChainError, match="joint 'joint2' has no position left"):
        snake(3).with_limits(lower, [9, 0.2, 9])


@pytest.mark.parametrize(
    'limits', [np.zeros(2), np.zeros(4), np.zeros((2, 3)), 'abc', None, [0.0, math.nan, 0.0]]
)
def test_with_limits_that_are_no_numbers_for_each_joint(limits):
    chain = snake(3)
    with pytest.raises(ArgumentError, match=r'^lower: '):
        chain.with_limits(limits, chain.upper)
    with pytest.raises(ArgumentError, match=r'^upper: '):
        chain.with_limits(chain.lower, limits)


def test_chains_can_be_pickled():
    chain = arm_of('panda')
    q = postures(chain, 1)[0]
    chain.forward(q)  # compiled code stays behind
    again = pickle.loads(pickle.dumps(chain))
    assert again.joint_names == chain.joint_names
    np.testing.assert_array_equal(again.forward(q), chain.forward(q))
    assert not any(array.flags.writeable for array in (again.lower, again.upper, *again.arrays))


def test_threads_share_a_chain():
    chain = snake(30)
    rows = postures(chain, 200)

    def poses_and_jacobians(_):
        return [(chain.forward(q), chain.jacobian(q)) for q in rows]

    expected = poses_and_jacobians(None)
    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(poses_and_jacobians, range(4)):
            np.testing.assert_array_equal([T for T, _ in answers], [T for T, _ in expected])
            np.testing.assert_array_equal([J for _, J in answers], [J for _, J in expected])


def test_a_very_long_chain():
    chain = snake(300, prismatic=0.0)
    T = chain.forward(np.zeros(300))
    np.testing.assert_allclose(T[:3, :3] @ T[:3, :3].T, np.eye(3), rtol=0, atol=1e-12)
    assert chain.jacobian(np.zeros(300)).shape == (6, 300)


def test_a_range_of_negative_zero_is_one_of_zero():
    """``uniform`` of NumPy refuses ranges up to -0.0, as ``upper="-0.0"`` or mimics make them."""
    joints = ''.join(
        f'<joint name="j{i}" type="revolute"><parent link="l{i}"/><child link="l{i + 1}"/>'
        f'<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/>'
        f'<limit lower="{lower}" upper="{upper}" velocity="1" effort="1"/></joint>'
        for i, (lower, upper) in enumerate([(-2, 2), ('0', '-0.0'), (-2, 2)])
    )
    links = ''.join(f'<link name="l{i}"/>' for i in range(4))
    chain = Robot.from_urdf(f'<robot name="z">{links}{joints}</robot>').chain('l0', 'l3')
    assert not np.signbit(chain.upper[1])
    options = IkOptions(task_weights=(1.0, 1.0, 0.0, 0.0, 0.0, 0.0))
    target = chain.forward([0.4, 0.0, 0.7])
    assert solve_ik(chain, target, solver='extended_jacobian', options=options).success


CHAINS = {
    'panda': lambda: arm_of('panda'),
    'ur5e': lambda: arm_of('ur5e'),
    'one joint': lambda: snake(1),
    'nine joints, some of which slide': lambda: snake(9, 3),
}


@pytest.mark.parametrize('name', CHAINS)
def test_they_are_those_of_one_posture_after_the_other(name):
    chain = CHAINS[name]()
    q, velocities = postures(chain, 200), postures(chain, 200, seed=1)
    poses = np.array([chain.forward(row) for row in q])
    np.testing.assert_array_equal(tip_poses(chain, q), poses)
    twists = [chain.jacobian(row) @ v for row, v in zip(q, velocities, strict=True)]
    speeds = np.linalg.norm(np.array(twists)[:, :3], axis=1)
    np.testing.assert_allclose(tip_speeds(chain, q, velocities), speeds, rtol=1e-12, atol=1e-15)


def test_angles_far_out_lose_nothing():
    chain = arm_of('planar_6r')
    q = postures(chain, 3)
    q[1] += 2.0 * np.pi * 1e9
    poses = [chain.forward(row) for row in q]
    np.testing.assert_allclose(tip_poses(chain, q), poses, atol=1e-12)


def test_rows_of_any_layout_are_taken_and_not_changed():
    chain = arm_of('panda')
    q = postures(chain, 8)
    turned = np.asfortranarray(q)
    turned.setflags(write=False)
    np.testing.assert_array_equal(tip_poses(chain, turned), tip_poses(chain, q))
    assert tip_poses(chain, q[:0]).shape == (0, 4, 4)


@pytest.mark.parametrize(
    ('q', 'velocities', 'word'),
    [
        (np.zeros(7), np.zeros((1, 7)), r'q: .*\(N, 7\)'),
        (np.zeros((2, 6)), np.zeros((2, 6)), r'q: .*\(N, 7\)'),
        (np.zeros((2, 7)), np.zeros((3, 7)), r'velocities: .*\(2, 7\)'),
        (np.full((2, 7), np.nan), np.zeros((2, 7)), r'q\[0\]'),
        (np.zeros((2, 7)), np.full((2, 7), np.inf), r'velocities\[0\]'),
    ],
)
def test_what_cannot_be_is_named(q, velocities, word):
    with pytest.raises(ArgumentError, match=word):
        tip_speeds(arm_of('panda'), q, velocities)
