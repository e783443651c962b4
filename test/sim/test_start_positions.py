"""Start of a simulated arm with mimic joints: what they are given is where they follow to."""

import pytest

import ik_service as iks
from ik_service.exceptions import ArgumentError
from ik_service.sim.simulated_arm import check_start

LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
HAND = f"""
<robot name="hand">
  <link name="a"/><link name="b"/><link name="c"/><link name="d"/>
  <joint name="left" type="revolute">
    <parent link="a"/><child link="b"/><axis xyz="0 0 1"/>{LIMIT}
  </joint>
  <joint name="right" type="prismatic">
    <parent link="a"/><child link="c"/><axis xyz="1 0 0"/>{LIMIT}
    <mimic joint="left" multiplier="-0.5" offset="0.1"/>
  </joint>
  <joint name="held" type="fixed"><parent link="c"/><child link="d"/></joint>
</robot>
"""


@pytest.fixture(scope='module')
def robot():
    return iks.Robot.from_urdf(HAND)


@pytest.mark.parametrize(
    'positions',
    [{}, {'left': 0.4}, {'left': 0.4, 'right': -0.1}, {'right': -0.1, 'left': 0.4}, {'other': 3}],
)
def test_mimic_joints_may_be_given_where_they_follow_to(robot, positions):
    check_start(robot, positions, 'start')


@pytest.mark.parametrize(
    ('positions', 'message'),
    [
        (
            {'right': -0.1},
            r'start.right: cannot be given alone, as right follows left .*: give that one',
        ),
        (
            {'left': 0.4, 'right': 0.3},
            r'start.right: has to be -0.1 \[m\], not 0.3, as right follows left',
        ),
        ({'left': 1.2}, r'start.left: has to be from -1 to 1 \[rad\], not 1.2'),
    ],
)
def test_other_positions_are_refused_with_what_is_right(robot, positions, message):
    with pytest.raises(ArgumentError, match=message):
        check_start(robot, positions, 'start')
