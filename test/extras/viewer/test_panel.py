"""Widgets of the page: options of the solver, texts of the panel, and sliders of the joints."""

from dataclasses import fields, replace
from itertools import pairwise
import math

import numpy as np
import pytest
from support.chains import REPOSITORY

from ik_service import Robot
from ik_service.extras.viewer.panel import figures
from ik_service.extras.viewer.panel.figures import JointPosition

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml

from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.group import GroupSettings
from ik_service.exceptions import OptionError
from ik_service.extras.viewer.link.node_monitor import ConnectionStatus, Level
from ik_service.extras.viewer.link.remote_parameters import Field, Kind
from ik_service.extras.viewer.panel.figures import Figures, Lag, SolveReport, StatusText
from ik_service.extras.viewer.panel.panel import (
    Actions,
    CEILING,
    ErrorHistory,
    FLOOR,
    Panel,
    SPAN,
)
from ik_service.extras.viewer.panel.solver_form import (
    is_position_only,
    SolverForm,
    SPEED,
    switched_weights,
    WEIGHTS,
    with_free_axis,
)
from ik_service.extras.viewer.panel.widgets import (
    HOLD_TIME,
    JointSliders,
    MID_RANGE,
    NamedStates,
    NONE,
    state_choices,
)

GAIN = Field('solver.step_gain', Kind.NUMBER, 0.5, bounds=(0.0, 10.0))
SEARCHES = Field('solver.max_searches', Kind.INTEGER, 3, bounds=(0, 100))
SHARES = Field('solver.task_weights', Kind.NUMBERS, (1.0, 0.5))
NAME = Field('solver.name', Kind.TEXT, 'ccd')


@pytest.mark.parametrize(
    ('field', 'text', 'value'),
    [
        (GAIN, ' 1e-3 ', 1e-3),
        (SEARCHES, '7', 7),
        (SHARES, '[1, 1 0,0.5]', (1.0, 1.0, 0.0, 0.5)),
        (NAME, 'bfgs', 'bfgs'),
    ],
)
def test_typed_text_is_parsed(field, text, value):
    parsed = field.parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ('field', 'text', 'words'),
    [
        (GAIN, 'much', 'step_gain: has to be a number'),
        (GAIN, 'nan', 'has to be a number'),
        (GAIN, '', 'has to be a number'),
        (SEARCHES, '1.5', 'a whole number'),
        (SEARCHES, str(2**63), 'a whole number of 64 bits'),
        (GAIN, 'x' * 5000, r"x'… \(5000 characters\)$"),
        (SHARES, '1, x', 'separated by commas'),
    ],
)
def test_wrong_text_is_refused(field, text, words):
    with pytest.raises(OptionError, match=words):
        field.parse(text)


def test_position_only_keeps_the_other_weights():
    weights = (1.0, 2.0, 3.0, 0.1, 0.2, 0.3)
    free = switched_weights(weights, True, weights)
    assert free == (1.0, 2.0, 3.0, 0.0, 0.0, 0.0)
    assert is_position_only(free)
    assert not is_position_only(weights)
    assert switched_weights(free, False, weights) == weights
    assert switched_weights(free, False, free) == (1.0, 2.0, 3.0, 1.0, 1.0, 1.0)


def test_a_free_axis_replaces_those_that_were_free():
    assert with_free_axis((1.0, 2.0, 1.0, 0.0, 0.0, 0.0), 4) == (1.0, 2.0, 1.0, 1.0, 0.0, 1.0)
    assert with_free_axis((0.0, 2.0, 1.0, 1.0, 1.0, 1.0), None) == (1.0, 2.0, 1.0, 1.0, 1.0, 1.0)


FIELDS = [
    Field(SPEED, Kind.NUMBER, 0.25, bounds=(0.0, 1.0)),
    Field('solver.name', Kind.TEXT, 'ccd', choices=('ccd', 'bfgs')),
    Field(WEIGHTS, Kind.NUMBERS, (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    Field('solver.timeout', Kind.NUMBER, 0.05, bounds=(0.0, 60.0)),
    Field('solver.trace', Kind.BOOL, True),
]


@pytest.fixture
def form(server):
    gui = server.gui
    main, tabs = gui.add_folder(None), gui.add_tab_group()
    form = SolverForm(gui, main, tabs.add_tab('rest'), print, print)
    form.show(FIELDS)
    return form


def shown(form):
    return {name: widget.value for name, widget in form.widgets.items()}


def test_every_parameter_has_a_field_with_its_value(form):
    assert shown(form) == {
        SPEED: 0.25,
        'solver.name': 'ccd',
        'position only': True,
        'free axis': '–',
        WEIGHTS: '1, 1, 1, 0, 0, 0',
        'solver.timeout': '0.05',
        'solver.trace': True,
    }
    assert form.weights == (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


def test_values_that_change_in_the_node_are_shown(form):
    form.put({'solver.name': 'bfgs', WEIGHTS: (1.0,) * 6, 'unknown': 1})
    values = shown(form)
    assert values['solver.name'] == 'bfgs'
    assert values['position only'] is False
    assert values[WEIGHTS] == '1, 1, 1, 1, 1, 1'


def test_refused_text_is_replaced_by_the_value_in_force(form):
    form.widgets['solver.timeout'].value = 'long'
    form.reset()
    assert shown(form)['solver.timeout'] == '0.05'


def test_the_same_parameters_keep_their_widgets_and_others_get_new_ones(form):
    before = dict(form.widgets)
    form.show([*map(replace, FIELDS)])
    assert form.widgets == before
    form.show([Field('solver.name', Kind.TEXT, 'x', choices=('x', 'y'))])
    assert shown(form) == {'solver.name': 'x'}
    assert form.weights == (1.0,) * 6


def test_fields_can_be_disabled(form):
    form.enable(False)
    assert all(widget.disabled for widget in form.widgets.values())
    form.enable(True)
    assert not any(widget.disabled for widget in form.widgets.values())


def test_an_arm_of_few_joints_is_offered_a_free_axis(form):
    axis, few = form.widgets['free axis'], form._few_joints
    assert not axis.visible
    form.show_joints(5)
    assert axis.visible
    assert not few.visible  # the orientation is free
    form.put({WEIGHTS: (1.0,) * 6})
    assert few.visible
    assert '5 joints cannot meet all 6 axes of most targets' in few.content
    form.put({WEIGHTS: (1.0, 1.0, 1.0, 1.0, 1.0, 0.0)})
    assert axis.value == 'about z'
    assert not few.visible
    form.show_joints(1)
    assert '1 joint cannot meet all 5 axes' in few.content
    form.show_joints(7)
    assert not axis.visible


def test_errors_are_in_millimetres_and_degrees_against_relative_time():
    history = ErrorHistory(period=0.1)
    assert history.add(10.0, 0.25, np.radians(2.0))
    assert not history.add(10.05, 1.0, 1.0)  # too soon
    assert history.add(10.5, 0.0, 0.0)
    assert history.add(10.75, np.nan, np.nan)  # no target any more
    time, position, orientation = history.series(11.0)
    assert np.allclose(time, [-SPAN, -1.0, -1.0, -0.5, -0.25, 0.0])
    assert (position[:2] < FLOOR).all()  # nothing is drawn before the first error
    assert (orientation[:2] < FLOOR).all()
    assert (position[4:] < FLOOR).all()  # nor after the last one
    assert np.allclose(position[2:4], [250.0, FLOOR])
    assert np.allclose(orientation[2:4], [2.0, FLOOR])


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
    html = figures.figures_table(
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
    assert '<b>1.00e+33 mm</b>' in figures.figures_table(Figures(position_error=1e30))


def test_a_missing_value_is_a_dash():
    html = figures.figures_table(Figures())
    assert html.count('–') == 5
    assert 'None' not in html


def test_the_message_of_an_unreachable_target_is_shown():
    message = 'the target lies outside the reach'
    assert message in figures.figures_table(Figures(message=message, is_reachable=False))
    assert message not in figures.figures_table(Figures(message=message, is_reachable=True))


def test_joints_with_their_distance_to_a_limit():
    html = figures.joints_table(
        [
            JointPosition('elbow', math.radians(170.0), 'rad', -math.pi, math.pi),
            JointPosition('lift', 0.25, 'm', 0.0, 1.0),
            JointPosition('wheel', -1e-5, 'rad', -math.inf, math.inf),
        ]
    )
    for text in ['elbow', '170.0°', '10.0°', 'lift', '250.0 mm', 'wheel', '>0.0°', '∞']:
        assert text in html
    assert html.count('border-radius:0.25em;background') == 2  # two bars: the wheel has no ends


def test_of_long_names_that_begin_alike_both_ends_are_shown():
    name = 'left_arm/of_the_robot/in_the_second_cell/joint_{}'
    joints = [JointPosition(name.format(i), 0.0, 'rad', -1.0, 1.0) for i in range(2)]
    live = figures.figures_table(Figures(lag=Lag(name.format(0), 0.0, 'rad', 0.0)))
    for html in (figures.joints_table(joints), live):
        assert '>left_arm/…ll/joint_0</span>' in html
        assert f'title="{name.format(0)}"' in html
    names = [f'arm_of_the_robot/{side}/of_the_cell/joint' for side in ('left', 'right', 'third')]
    html = figures.joints_table([JointPosition(n, 0.0, 'rad', -1.0, 1.0) for n in names])
    for side in ('left', 'right', 'third'):
        assert f'>…{side}/' in html


@pytest.mark.parametrize(
    ('value', 'text'),
    [(0.0045, '0.0045'), (2.1e-9, '2.10e-09'), (435.2867, '435.2867'), (1e-17, '0.0000')],
)
def test_a_manipulability_of_a_small_arm_is_not_zero(value, text):
    html = figures.figures_table(Figures(manipulability=value, smallest_singular_value=value))
    assert f'<b>{text}</b>' in html
    assert f'</sub> {text}' in html


def test_names_from_outside_cannot_become_markup():
    for html in [
        figures.banner(ConnectionStatus(Level.GOOD, EVIL, EVIL, True)),
        figures.joints_table([JointPosition(EVIL, 0.0, 'rad', -1.0, 1.0)]),
        figures.figures_table(
            Figures(message=EVIL, is_reachable=False, lag=Lag(EVIL, 0.0, 'rad', 0.0))
        ),
    ]:
        assert '<script' not in html
        assert '&lt;script' in html


@pytest.mark.parametrize(
    ('level', 'pairs', 'pause', 'shown'),
    [
        (Level.GOOD, 0, '', (Level.GOOD, 'here', 'rests')),
        (Level.GOOD, 0, 'stopped', (Level.WAITING, 'the demo is paused: stopped', 'here; rests')),
        (
            Level.WAITING,
            1,
            'stopped',
            (Level.BAD, 'collision: 0 with a', 'the demo is paused: stopped; here; rests'),
        ),
        (Level.BAD, 1, '', (Level.BAD, 'here', 'collision: 0 with a; rests')),
        (
            Level.GOOD,
            4,
            '',
            (
                Level.BAD,
                'collision: 0 with a',
                'collision: 1 with a; collision: 2 with a; and 1 more; here; rests',
            ),
        ),
    ],
)
def test_collisions_and_a_pause_are_part_of_the_status(level, pairs, pause, shown):
    status = StatusText(level, 'here', 'rests')
    contacts = [f'{i} with a' for i in range(pairs)]
    assert figures.with_notices(status, contacts, pause) == StatusText(*shown)


def test_remarks_are_counted_and_escaped():
    html = figures.remark_lines(['one', EVIL])
    assert '2 remarks about the robot' in html
    assert '<script' not in html
    many = figures.remark_lines([f'remark {number}' for number in range(30)])
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
    lift, elbow, spin = figures.joint_positions(chain, np.array([0.25, 3.0, 9.0]))
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
    assert figures.tracking_error(T, np.eye(4)) == pytest.approx((0.5, 0.2))
    assert figures.tracking_error(T, np.eye(4), (1, 1, 1, 0, 0, 0)) == pytest.approx((0.5, 0.0))
    assert figures.tracking_error(T, np.eye(4), (1, 0, 1, 1, 1, 1)) == pytest.approx((0.3, 0.2))


def test_manipulability_is_yoshikawa_s():
    J = np.random.default_rng(3).normal(size=(6, 7))
    w, smallest = figures.manipulability(J)
    assert w == pytest.approx(math.sqrt(np.linalg.det(J @ J.T)))
    assert smallest == pytest.approx(1 / np.linalg.norm(np.linalg.pinv(J), 2))
    J[0] = 0.0
    assert figures.manipulability(J) == pytest.approx((0.0, 0.0), abs=1e-12)


def test_the_lag_names_the_joint_that_lags_most(chain):
    speeds = np.array([0.5, 2.0, 1.0])
    lag = figures.lag(chain, np.array([0.2, 0.0, 0.0]), np.array([0.3, -0.3, 0.1]), speeds)
    assert (lag.joint, lag.unit) == ('elbow', 'rad')
    assert lag.distance == pytest.approx(0.3)
    assert lag.seconds == pytest.approx(0.2)  # of the lift: 0.1 m at 0.5 m/s


def test_random_poses_can_be_reached(chain):
    rng = np.random.default_rng(0)
    for _ in range(20):
        T = figures.random_reachable_pose(chain, rng, floor=0.5)
        assert 0.5 <= T[2, 3] <= 0.9  # 0.9: a tenth of the lift's range is kept free
        assert np.hypot(*T[:2, 3]) == pytest.approx(0.5)


def test_a_floor_above_all_poses_is_ignored(chain):
    T = figures.random_reachable_pose(chain, np.random.default_rng(0), floor=5.0)
    assert T[2, 3] < 1.0


@pytest.fixture
def sliders(server):
    tab = server.gui.add_tab_group().add_tab('joints')
    return JointSliders(server.gui, tab, print)


def positions(elbow=0.5, lift=0.25, wheel=0.0):
    return [
        JointPosition('elbow', elbow, 'rad', -1.234, 2.0),
        JointPosition('lift', lift, 'm', 0.0, 0.5),
        JointPosition('wheel', wheel, 'rad', -math.inf, math.inf),
    ]


def values(sliders):
    return {name: slider.value for name, slider in sliders.sliders.items()}


def test_the_sliders_follow_the_arm_in_degrees_and_millimetres(sliders):
    sliders.build(positions())
    sliders.follow(positions(elbow=1.0, lift=0.1), now=0.0)
    assert values(sliders) == pytest.approx({'elbow': 57.3, 'lift': 100.0, 'wheel': 0.0})


def test_the_ranges_of_the_sliders_are_inside_the_limits(sliders):
    sliders.build(positions(elbow=-5.0, wheel=9.0))
    elbow = sliders.sliders['elbow']
    assert math.radians(elbow.min) >= -1.234
    assert math.radians(elbow.max) <= 2.0
    sliders.follow(positions(elbow=7.0, lift=-1.0, wheel=-9.0), now=0.0)
    assert values(sliders) == {'elbow': elbow.max, 'lift': 0.0, 'wheel': -180.0}


def test_a_joint_without_range_has_a_slider(sliders):
    sliders.build([JointPosition('stuck', 0.0, 'rad', 0.0, 0.0)])
    assert values(sliders) == {'stuck': 0.0}


def test_they_keep_their_positions_for_a_while_after_a_move(sliders):
    sliders.build(positions())
    before = values(sliders)
    sliders.hold(now=10.0)
    sliders.follow(positions(elbow=1.0), now=10.0 + HOLD_TIME / 2)
    assert values(sliders) == before
    assert sliders.is_held(10.0 + HOLD_TIME / 2)
    sliders.follow(positions(elbow=1.0), now=10.1 + HOLD_TIME)
    assert values(sliders)['elbow'] == pytest.approx(57.3)
    sliders.hold(now=20.0)
    sliders.release()
    assert not sliders.is_held(20.1)


def test_positions_that_are_shown_are_kept_for_a_while(sliders):
    sliders.build(positions())
    sliders.show({'elbow': -0.5, 'lift': 9.0, 'of the hand': 1.0}, now=10.0)
    sliders.follow(positions(elbow=1.0), now=10.0 + HOLD_TIME / 2)
    assert values(sliders) == pytest.approx({'elbow': -28.6, 'lift': 500.0, 'wheel': 0.0})


def test_another_robot_gets_other_sliders(sliders):
    sliders.build(positions())
    sliders.build([JointPosition('knee', 0.0, 'rad', -1.0, 1.0)])
    assert [*values(sliders)] == ['knee']


URDF = REPOSITORY / 'urdf'
PANDA = ArmSettings('panda_link0', 'panda_hand_tcp')


def srdf(*states):
    """An SRDF of the Panda with states of its arm, each a name and the content."""
    group = '<group name="a"><chain base_link="panda_link0" tip_link="panda_link8"/></group>'
    content = [f'<group_state name="{n}" group="a">{inner}</group_state>' for n, inner in states]
    return f'<robot name="panda">{group}{"".join(content)}</robot>'


def turned(value):
    return f'<joint name="panda_joint1" value="{value}"/>'


@pytest.fixture
def states(server):
    return NamedStates(server.gui, print)


def test_a_known_arm_has_its_states_and_a_way_home():
    arm = Arm(Robot.from_urdf(URDF / 'panda.urdf'), PANDA)
    choices = state_choices(arm)
    assert list(choices) == ['ready', 'extended', MID_RANGE]
    assert choices['ready']['panda_joint4'] == pytest.approx(-3 * np.pi / 4, abs=1e-6)
    np.testing.assert_array_equal([*choices[MID_RANGE].values()], arm.chain.mid_range())


def test_a_state_called_home_is_the_way_home():
    robot = Robot.from_urdf(URDF / 'ur5e.urdf')
    choices = state_choices(Arm(robot, ArmSettings('base_link', 'tool0')))
    assert 'home' in choices
    assert MID_RANGE not in choices


def test_states_of_a_group_with_the_same_joints_count():
    text = srdf(('up', turned(0.5)))
    robot = Robot.from_urdf(URDF / 'panda.urdf', srdf=text)
    settings = ArmSettings(groups={'mine': GroupSettings('panda_link0', 'panda_hand_tcp')})
    arm = Arm(robot, settings)
    assert arm.group.name == 'mine'
    assert state_choices(arm)['up'] == {'panda_joint1': 0.5}


def test_locked_joints_are_left_out():
    settings = ArmSettings('panda_link0', 'panda_hand_tcp', {'panda_joint3': 0.1})
    choices = state_choices(Arm(Robot.from_urdf(URDF / 'panda.urdf'), settings))
    assert all('panda_joint3' not in positions for positions in choices.values())
    assert len(choices['ready']) == 6


def test_states_of_other_groups_bear_the_name_of_the_group():
    text = srdf_xml(
        group_xml('left', 'chain:base>l2'),
        group_xml('right', 'chain:base>r1'),
        group_xml('both', 'group:left', 'group:right'),
        state_xml('ready', 'left', j_l1=0.5, j_l2=0.5),
        state_xml('ready', 'right', j_r1=-0.5),
        state_xml('up', 'both', j_l1=0.1, j_l2=0.1, j_r1=0.1),
    )
    arm = Arm(Robot.from_urdf(arm_xml('base r:r1', joints=2), srdf=text), ArmSettings())
    assert arm.group.name == 'left'
    choices = state_choices(arm)
    assert [*choices] == ['ready', 'up', MID_RANGE, 'right: ready', 'right: up', 'both: up']
    assert choices['ready'] == {'j_l1': 0.5, 'j_l2': 0.5}
    assert choices['right: ready'] == {'j_r1': -0.5}
    assert choices['both: up'] == {'j_l1': 0.1, 'j_l2': 0.1, 'j_r1': 0.1}


def test_many_and_long_names_are_cut():
    long = 'x' * 5000
    text = srdf((long, turned(0.0)), *((f's{i}', turned(0.0)) for i in range(1000)))
    choices = state_choices(Arm(Robot.from_urdf(URDF / 'panda.urdf', srdf=text), PANDA))
    assert len(choices) <= 201
    assert max(map(len, choices)) < 300
    assert MID_RANGE in choices


def test_the_menu_shows_the_state_of_the_target(states):
    states.offer(['ready', MID_RANGE, NONE])
    assert states.menu.options == (NONE, 'ready', MID_RANGE)
    states.follow('ready')
    assert states.menu.value == 'ready'
    states.follow('')
    assert states.menu.value == NONE
    states.follow('of another robot')
    assert states.menu.value == NONE


def test_a_choice_stays_while_it_is_on_its_way(states):
    states.offer(['ready', 'up'])
    states.follow('ready')
    states.menu.value = 'up'
    states.follow('ready')  # the viewer has not heard of the choice yet
    assert states.menu.value == 'up'
    states.follow('up')
    states.follow('')
    assert states.menu.value == NONE


def test_a_choice_that_comes_to_nothing_goes(states):
    states.offer(['ready', 'up'])
    states.follow('ready')
    states.menu.value = 'up'
    states.refresh()
    states.follow('ready')
    assert states.menu.value == 'ready'


def test_another_robot_brings_other_choices(states):
    states.offer(['ready'])
    states.follow('ready')
    states.offer(['up'])
    assert (states.menu.value, states.menu.options) == (NONE, (NONE, 'up'))
    states.follow('up')
    assert states.menu.value == 'up'


def test_the_menu_is_disabled_without_a_node_and_without_states(states):
    assert states.menu.disabled
    states.enable(True)
    assert states.menu.disabled
    states.offer(['ready'])
    states.enable(True)
    assert not states.menu.disabled
    states.enable(False)
    assert states.menu.disabled


def test_the_panel_of_an_arm_with_hands_shows_that_the_node_is_gone(server):
    panel = Panel(server, Actions(*[print] * len(fields(Actions))))
    panel.grippers.build({'hand': ('Open', 'Close')})
    for is_connected in (True, False):  # rows of buttons cannot be disabled in viser
        status = ConnectionStatus(Level.BAD, 'gone', is_connected=is_connected)
        panel.show_status(status, [], '')
        assert panel.states.menu.disabled
        assert 'gone' in panel._banner.content


def test_collisions_and_a_pause_move_no_button_of_the_panel(server):
    panel = Panel(server, Actions(*[print] * len(fields(Actions))))

    def rows():
        return [w._impl.uuid for w in server.gui._gui_input_handle_from_uuid.values() if w.visible]

    status = ConnectionStatus(Level.GOOD, 'there', is_connected=True)
    panel.show_status(status, [], '')
    before = rows()
    panel.show_status(status, ['a with b'], 'stopped')
    assert rows() == before
    assert panel._go.options == ('Home', 'Random pose', 'Resume demo')
    assert 'collision: a with b' in panel._banner.content
    panel.show_status(status, [], '')
    assert panel._go.options == ('Home', 'Random pose')
