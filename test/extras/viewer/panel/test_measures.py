import math

import numpy as np
import pytest

from ik_service import Robot
from ik_service.extras.viewer.panel import measures
from ik_service.extras.viewer.panel.measures import JointPosition

TEXT = """<robot name="r">
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="lift" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="0" upper="1" velocity="0.5" effort="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="3" velocity="2" effort="1"/></joint>
  <joint name="spin" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0 1"/>
    <origin xyz="0.5 0 0"/></joint>
</robot>"""


@pytest.fixture(scope='module')
def chain():
    return Robot.from_urdf(TEXT).chain()


def test_positions_between_the_limits(chain):
    lift, elbow, spin = measures.joint_positions(chain, np.array([0.25, 3.0, 9.0]))
    assert (lift.unit, lift.fraction, lift.distance, lift.limit_proximity) == (
        'm',
        0.25,
        0.25,
        0.0,
    )
    assert (elbow.unit, elbow.fraction, elbow.distance, elbow.limit_proximity) == (
        'rad',
        1.0,
        0.0,
        1.0,
    )
    assert (spin.fraction, spin.distance, spin.limit_proximity) == (None, math.inf, 0.0)


def test_beyond_a_limit_the_distance_is_negative():
    place = JointPosition('j', 1.2, 'rad', -1.0, 1.0)
    assert place.distance == pytest.approx(-0.2)
    assert (place.fraction, place.limit_proximity) == (1.0, 1.0)


def test_the_proximity_grows_from_the_middle_half_to_the_limit():
    dangers = [
        JointPosition('j', x, 'rad', 0.0, 1.0).limit_proximity for x in (0.5, 0.75, 0.875, 1.0)
    ]
    assert dangers == pytest.approx([0.0, 0.0, 0.5, 1.0])


def test_tracking_error_counts_only_the_axes_that_are_weighted():
    T = np.eye(4)
    T[:3, 3] = 0.3, 0.4, 0.0
    T[:2, :2] = [[math.cos(0.2), -math.sin(0.2)], [math.sin(0.2), math.cos(0.2)]]
    assert measures.tracking_error(T, np.eye(4)) == pytest.approx((0.5, 0.2))
    assert measures.tracking_error(T, np.eye(4), (1, 1, 1, 0, 0, 0)) == pytest.approx((0.5, 0.0))
    assert measures.tracking_error(T, np.eye(4), (1, 0, 1, 1, 1, 1)) == pytest.approx((0.3, 0.2))


def test_manipulability_is_yoshikawa_s():
    J = np.random.default_rng(3).normal(size=(6, 7))
    w, smallest = measures.manipulability(J)
    assert w == pytest.approx(math.sqrt(np.linalg.det(J @ J.T)))
    assert smallest == pytest.approx(1 / np.linalg.norm(np.linalg.pinv(J), 2))
    J[0] = 0.0
    assert measures.manipulability(J) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_the_lag_names_the_joint_that_lags_most(chain):
    speeds = np.array([0.5, 2.0, 1.0])
    lag = measures.lag(chain, np.array([0.2, 0.0, 0.0]), np.array([0.3, -0.3, 0.1]), speeds)
    assert (lag.joint, lag.unit) == ('elbow', 'rad')
    assert lag.distance == pytest.approx(0.3)
    assert lag.seconds == pytest.approx(0.2)  # of the lift: 0.1 m at 0.5 m/s


def test_random_poses_can_be_reached(chain):
    rng = np.random.default_rng(0)
    for _ in range(20):
        T = measures.random_reachable_pose(chain, rng, floor=0.5)
        assert 0.5 <= T[2, 3] <= 0.9  # 0.9: a tenth of the lift's range is kept free
        assert np.hypot(*T[:2, 3]) == pytest.approx(0.5)


def test_a_floor_above_all_poses_is_ignored(chain):
    T = measures.random_reachable_pose(chain, np.random.default_rng(0), floor=5.0)
    assert T[2, 3] < 1.0
