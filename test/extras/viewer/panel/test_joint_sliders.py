import math

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.extras.viewer.panel.joint_widgets import HOLD_TIME, JointSliders
from ik_service.extras.viewer.panel.measures import JointPosition
from ik_service.extras.viewer.server import page


@pytest.fixture
def sliders():
    served = page.serve('127.0.0.1', 0, False)
    tab = served.server.gui.add_tab_group().add_tab('joints')
    yield JointSliders(served.server.gui, tab, print)
    page.close(served)


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
