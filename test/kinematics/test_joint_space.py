"""Joint vectors of positions by name, and limits as ranges to search."""

import math
import sys
from types import MappingProxyType

import numba
import numpy as np
import pytest
from support.chains import arm, joint_xml, limit_xml, robot_xml
from support.robots import humanoid_robot

import ik_service as iks
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.kinematics.joint_space import (
    FARTHEST_LIMIT,
    sampled_range,
    sampling_bounds,
    search_limits,
)
from ik_service.kinematics.kernels import has_lower, has_upper


@pytest.fixture
def tree():
    return humanoid_robot().tree('base', ['l_hand', 'r_hand'])


def test_positions_are_in_the_order_of_the_joints_whatever_the_order_of_the_names():
    chain = arm('panda')
    q = np.linspace(-0.3, 0.3, chain.n)
    positions = dict(zip(reversed(chain.joint_names), q[::-1].tolist(), strict=True))
    vector = chain.joint_vector(MappingProxyType(positions))
    np.testing.assert_array_equal(vector, q)
    assert vector.flags.writeable


def test_joints_that_are_not_named_take_the_default():
    chain = arm('panda')
    vector = chain.joint_vector({'panda_joint3': 0.25})
    expected = chain.mid_range()
    expected[2] = 0.25
    np.testing.assert_array_equal(vector, expected)
    ones = np.ones(chain.n)
    expected = np.where(np.arange(chain.n) == 2, 0.25, ones)
    np.testing.assert_array_equal(chain.joint_vector({'panda_joint3': 0.25}, ones), expected)
    np.testing.assert_array_equal(chain.joint_vector({}), chain.mid_range())
    np.testing.assert_array_equal(chain.mid_range(), arm('panda').middle)  # is not written to


def test_other_joints_of_the_robot_are_passed_over():
    chain = arm('panda')
    positions = {'panda_finger_joint1': 0.02, 'panda_hand_joint': math.nan}
    np.testing.assert_array_equal(chain.joint_vector(positions), chain.mid_range())


def test_a_tree_takes_the_positions_of_all_its_joints(tree):
    vector = tree.joint_vector({'r_wrist': 0.1, 'waist': -0.2})
    found = dict(zip(tree.joint_names, vector, strict=True))
    assert (found['r_wrist'], found['waist'], found['l_shoulder']) == (0.1, -0.2, 0.0)


def test_a_named_state_is_a_seed():
    robot = arm('panda').robot
    chain = robot.group('panda_arm')
    seed = chain.joint_vector(robot.group_states('panda_arm')['ready'])
    result = iks.solve_ik(chain, chain.forward(seed), seed=seed)
    assert result.success
    assert result.iterations == 0
    assert seed[3] == pytest.approx(-3 * math.pi / 4, abs=1e-6)


def test_a_position_outside_the_limits_is_kept_as_seeds_are():
    assert arm('panda').joint_vector({'panda_joint4': 9.0})[3] == 9.0


def test_a_name_that_the_robot_does_not_have_lists_those_of_the_chain():
    with pytest.raises(UnknownJointError, match="'elbow'; valid: panda_joint1, panda_joint2"):
        arm('panda').joint_vector({'elbow': 0.0})
    with pytest.raises(UnknownJointError):
        arm('panda').joint_vector({3: 0.0})


@pytest.mark.parametrize('value', [math.nan, math.inf])
def test_a_position_that_is_not_finite_names_its_joint(value):
    with pytest.raises(ArgumentError, match=f'positions: panda_joint2 is {value}'):
        arm('panda').joint_vector({'panda_joint2': value})


@pytest.mark.parametrize(
    'positions',
    [
        None,
        'ready',
        [0.0] * 7,
        {'panda_joint2': 'up'},
        {'panda_joint2': [1.0]},
        {'panda_joint2': True},
        {'panda_joint2': 10**400},
    ],
)
def test_what_is_no_position_by_name_is_refused(positions):
    with pytest.raises(ArgumentError, match=r'^positions: '):
        arm('panda').joint_vector(positions)


def test_a_default_of_another_length_is_refused():
    with pytest.raises(ArgumentError, match=r'^default: has shape \(3,\)'):
        arm('panda').joint_vector({}, [0.0, 0.0, 0.0])


LARGEST = sys.float_info.max
NONE = [-999999.0, -1e16, -LARGEST, -math.inf, -FARTHEST_LIMIT - 1e-9]
MEANT = [-FARTHEST_LIMIT, -100.0, -math.pi, 0.0, 3.0, 999999.0]


@numba.njit
def meant_by_kernels(lower, upper):
    return has_lower(lower), has_upper(upper)


@pytest.mark.parametrize('limit', [*NONE, *MEANT])
def test_arrays_and_kernels_agree(limit):
    lower, upper = search_limits([limit], [-limit])
    meant = limit in MEANT
    assert (lower[0], upper[0]) == ((limit, -limit) if meant else (-math.inf, math.inf))
    assert meant_by_kernels(limit, -limit) == (meant, meant)


@pytest.mark.parametrize(
    ('limits', 'bounds'),
    [
        ((-1.0, 2.0), (-1.0, 2.0)),
        ((-LARGEST, LARGEST), (-math.pi, math.pi)),
        ((-math.inf, 2.0), (-math.pi, 2.0)),
        ((-1e6, -5.0), (-5.0 - math.pi, -5.0)),
        ((5.0, 1e6), (5.0, 5.0 + math.pi)),
        ((-3.0, 999999.0), (-3.0, math.pi)),
        ((300.0, 301.0), (300.0, 301.0)),
        ((300.0, 900.0), (300.0, 300.0 + math.pi)),
        ((-301.0, -300.0), (-301.0, -300.0)),
    ],
)
def test_bounds_to_draw_from_are_finite_and_within_the_limits(limits, bounds):
    lower, upper = sampling_bounds(*limits)
    assert (float(lower), float(upper)) == pytest.approx(bounds)
    assert limits[0] <= lower <= upper <= limits[1]


def test_spread_may_differ_from_joint_to_joint():
    lower, upper = sampling_bounds([-1e9, -1e9, -2.0], [1e9, 1e9, 2.0], [1.0, math.pi, 9.0])
    np.testing.assert_allclose(lower, [-1.0, -math.pi, -2.0])
    np.testing.assert_allclose(upper, [1.0, math.pi, 2.0])


def test_no_more_than_one_turn_about_the_middle_is_sampled():
    chain = arm('ur5e')  # two turns at most joints
    assert (chain.upper - chain.lower).max() > 12.0
    lower, upper = sampled_range(chain)
    np.testing.assert_allclose(upper - lower, 2 * math.pi)
    np.testing.assert_allclose(0.5 * (lower + upper), chain.mid_range(), atol=1e-12)
    joint = joint_xml('j', 'continuous', 'a', 'b')
    half = iks.Robot.from_urdf(robot_xml(['a', 'b'], [joint])).chain()
    assert [bound[0] for bound in sampled_range(half)] == [-math.pi, math.pi]
    half = half.with_limits([2.0], [math.inf])
    np.testing.assert_allclose(sampled_range(half), [[2.0], [2.0 + math.pi]])
    slide = joint_xml('j', 'prismatic', 'a', 'b', inner=limit_xml(-9.0, 9.0))
    long = iks.Robot.from_urdf(robot_xml(['a', 'b'], [slide])).chain()
    assert [bound[0] for bound in sampled_range(long)] == [-9.0, 9.0]


def test_middle_is_that_of_limits_that_are_meant():
    limits = [(-1.0, 3.0), (0.0, 1e6), (-LARGEST, 0.5), (2.0, LARGEST), (-1e6, 3e6)]
    joints = [
        joint_xml(f'j{i}', 'prismatic', f'l{i}', f'l{i + 1}', inner=limit_xml(*pair))
        for i, pair in enumerate(limits)
    ]
    chain = iks.Robot.from_urdf(robot_xml([f'l{i}' for i in range(6)], joints)).chain('l0', 'l5')
    np.testing.assert_array_equal(chain.mid_range(), [1.0, 0.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(np.column_stack([chain.lower, chain.upper]), limits)
