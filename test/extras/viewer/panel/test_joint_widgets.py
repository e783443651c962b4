import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml

from ik_service import Robot
from ik_service.arm.arm import Arm, ArmSettings
from ik_service.arm.group import GroupSettings
from ik_service.extras.viewer.panel.joint_widgets import (
    HOLD_TIME,
    JointSliders,
    MID_RANGE,
    NamedStates,
    NONE,
    state_choices,
)
from ik_service.extras.viewer.panel.measures import JointPosition


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


URDF = Path(__file__).parents[4] / 'urdf'
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
