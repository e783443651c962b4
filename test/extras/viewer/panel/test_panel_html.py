"""Measures of the panel, and what it shows of them."""

from itertools import pairwise
import math

import numpy as np
import pytest

from ik_service import Robot
from ik_service.extras.viewer.panel import measures
from ik_service.extras.viewer.panel.measures import JointPosition

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from ik_service.extras.viewer.link.node_monitor import ConnectionStatus, Level
from ik_service.extras.viewer.panel import panel_html
from ik_service.extras.viewer.panel.measures import Lag, SolveReport
from ik_service.extras.viewer.panel.panel import CEILING, ErrorHistory, FLOOR, SPAN
from ik_service.extras.viewer.panel.panel_html import Figures


def test_errors_are_in_millimetres_and_degrees_against_relative_time():
    history = ErrorHistory(period=0.1)
    assert history.add(10.0, 0.25, np.radians(2.0))
    assert not history.add(10.05, 1.0, 1.0)  # too soon
    assert history.add(10.5, 0.0, 0.0)
    time, position, orientation = history.series(11.0)
    assert np.allclose(time, [-SPAN, -1.0, -1.0, -0.5, 0.0])
    assert (position[:2] < FLOOR).all()  # nothing is drawn before the first error
    assert (orientation[:2] < FLOOR).all()
    assert np.allclose(position[2:], [250.0, FLOOR, FLOOR])
    assert np.allclose(orientation[2:], [2.0, FLOOR, FLOOR])


def test_old_errors_are_dropped():
    history = ErrorHistory()
    for second in range(100):
        history.add(float(second), 1.0, 1.0)
    time, _, _ = history.series(99.0)
    assert len(time) == SPAN + 3
    assert (np.diff(time) >= 0.0).all()


def test_times_always_span_the_axis():
    history = ErrorHistory()
    np.testing.assert_allclose(history.series(0.0)[0], [-SPAN, 0.0], atol=1e-5)
    for now in (10.0, 10.05, 29.99, 31.0):
        history.add(10.0, 1.0, 1.0)
        time, *errors = history.series(now)
        assert time[0] == pytest.approx(-SPAN, abs=1e-5)
        assert time[-1] == 0.0
        assert all(column.shape == time.shape for column in errors)
    assert all((column < FLOOR).all() for column in errors)  # the only error is too old


def test_the_ends_of_the_axis_change_each_time():
    history = ErrorHistory()
    history.add(10.0, 1.0, 1.0)
    starts = [history.series(11.0)[0][0] for _ in range(4)]
    assert all(one != other for one, other in pairwise(starts))
    assert starts[0] == starts[2]


def test_errors_beyond_the_axis_are_shown_at_its_end():
    history = ErrorHistory()
    history.add(10.0, 25.0, 1.0)
    assert history.series(10.5)[1].max() == CEILING


EVIL = '<script>alert("&")</script>'


def test_the_live_values_with_their_units():
    html = panel_html.figures_table(
        Figures(
            position_error=0.0123,
            orientation_error=math.radians(0.5),
            solve=SolveReport(4, 1, 2.35e-5, 'SUCCESS', EVIL, 'compute_ik'),
            lag=Lag('elbow', math.radians(1.25), 'rad', 0.032),
            manipulability=0.0812,
            smallest_singular_value=0.2,
        )
    )
    for text in [
        '12.3 mm',
        '0.500°',
        '4 iterations',
        '1 search, ',
        '24 µs',
        'SUCCESS',
        '1.2°',
        '32 ms',
    ]:
        assert text in html
    assert '0.0812' in html
    assert 'elbow' in html
    assert '<script' not in html


def test_a_missing_value_is_a_dash():
    html = panel_html.figures_table(Figures())
    assert html.count('–') == 5
    assert 'None' not in html


def test_the_message_of_an_unreachable_target_is_shown():
    message = 'the target lies outside the reach'
    assert message in panel_html.figures_table(Figures(message=message, is_reachable=False))
    assert message not in panel_html.figures_table(Figures(message=message, is_reachable=True))


def test_joints_with_their_distance_to_a_limit():
    html = panel_html.joints_table(
        [
            JointPosition('elbow', math.radians(170.0), 'rad', -math.pi, math.pi),
            JointPosition('lift', 0.25, 'm', 0.0, 1.0),
            JointPosition('wheel', 1.0, 'rad', -math.inf, math.inf),
        ]
    )
    for text in ['elbow', '170.0°', '10.0°', 'lift', '250.0 mm', 'wheel', '∞']:
        assert text in html
    assert html.count('border-radius:0.25em;background') == 2  # two bars: the wheel has no ends


def test_names_from_outside_cannot_become_markup():
    for html in [
        panel_html.banner(ConnectionStatus(Level.GOOD, EVIL, EVIL, True)),
        panel_html.joints_table([JointPosition(EVIL, 0.0, 'rad', -1.0, 1.0)]),
        panel_html.figures_table(
            Figures(message=EVIL, is_reachable=False, lag=Lag(EVIL, 0.0, 'rad', 0.0))
        ),
    ]:
        assert '<script' not in html
        assert '&lt;script' in html


def test_the_first_collisions_are_named_and_the_others_counted():
    pairs = [f'link{i} with {EVIL}' for i in range(5)]
    html = panel_html.collision_lines(pairs, [f'not checked: {EVIL}'])
    assert 'collision: link2 with' in html
    assert 'link3' not in html
    assert 'and 2 more' in html
    assert 'not checked' in html
    assert '<script' not in html
    assert 'more' not in panel_html.collision_lines(pairs[:3], [])


def test_remarks_are_counted_and_escaped():
    html = panel_html.remark_lines(['one', EVIL])
    assert '2 remarks about the robot' in html
    assert '<script' not in html
    many = panel_html.remark_lines([f'remark {number}' for number in range(30)])
    assert '30 remarks' in many
    assert 'remark 19<' in many
    assert 'remark 20<' not in many
    assert 'and 10 more' in many


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
