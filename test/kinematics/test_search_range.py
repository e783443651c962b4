"""Limits that mean that there is none: one opinion, of arrays and of kernels."""

import math
import sys

import numba
import numpy as np
import pytest
from support.chains import joint_xml, limit_xml, robot_xml

import ik_service as iks
from ik_service.kinematics.search_range import (
    FARTHEST_LIMIT,
    has_lower,
    has_upper,
    sampling_bounds,
    search_limits,
)

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


def test_middle_is_that_of_limits_that_are_meant():
    limits = [(-1.0, 3.0), (0.0, 1e6), (-LARGEST, 0.5), (2.0, LARGEST), (-1e6, 3e6)]
    joints = [
        joint_xml(f'j{i}', 'prismatic', f'l{i}', f'l{i + 1}', inner=limit_xml(*pair))
        for i, pair in enumerate(limits)
    ]
    chain = iks.Robot.from_urdf(robot_xml([f'l{i}' for i in range(6)], joints)).chain('l0', 'l5')
    np.testing.assert_array_equal(chain.mid_range(), [1.0, 0.0, 0.0, 2.0, 0.0])
    np.testing.assert_array_equal(np.column_stack([chain.lower, chain.upper]), limits)
