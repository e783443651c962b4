"""Buttons of the hands, with a node that answers when the test says so."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.arm_helpers import panda_arm, TREE

from ik_service.arm.arm import Arm, ArmSettings, MeasuredState
from ik_service.arm.hands import Hand
from ik_service.extras.viewer.grippers import CLOSE, gripper_choices, Grippers, LOWER, OPEN, UPPER
from ik_service.extras.viewer.link.path_link import ExecutionEnd
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.robot import Robot

FINGER = 'panda_finger_joint1'
GRIPPER = '<group name="claw"><joint name="grip"/></group>'


def choices(srdf, urdf=TREE):
    robot = Robot.from_urdf(urdf, srdf=f'<robot name="tree">{srdf}</robot>')
    arm = Arm(robot, ArmSettings('base', 'tool'))
    return gripper_choices(arm, Hand('claw', ('grip',)))


def state(name, value):
    joint = f'<joint name="grip" value="{value}"/>'
    return f'<group_state name="{name}" group="claw">{joint}</group_state>'


def test_fingers_that_move_apart_open():
    assert choices(GRIPPER) == {OPEN: {'grip': 0.04}, CLOSE: {'grip': 0.0}}
    turned = TREE.replace('axis xyz="0 1 0"', 'axis xyz="0 -1 0"')
    turned = turned.replace(
        '<axis xyz="0 -1 0"/>\n    <limit lower="0" upper="0.04" velocity="1" effort="1"/><mimic',
        '<axis xyz="0 1 0"/>\n    <limit lower="0" upper="0.04" velocity="1" effort="1"/><mimic',
    )
    assert turned != TREE
    apart = turned.replace(
        'name="grip" type="prismatic">', 'name="grip" type="prismatic"><origin xyz="0 0.05 0"/>'
    )
    assert choices(GRIPPER, apart) == {OPEN: {'grip': 0.0}, CLOSE: {'grip': 0.04}}


def test_states_of_the_group_tell_and_stay_within_the_limits():
    found = choices(GRIPPER + state('Opened', 0.03) + state('close', -0.001))
    assert found == {OPEN: {'grip': 0.03}, CLOSE: {'grip': 0.0}}
    one = choices(GRIPPER + state('open', 0.03))  # nothing says where it is closed
    assert one == {OPEN: {'grip': 0.04}, CLOSE: {'grip': 0.0}}


def test_limits_are_offered_where_nothing_tells_which_one_is_open():
    alone = TREE.replace('<mimic joint="grip"/>', '')
    assert choices(GRIPPER, alone) == {LOWER: {'grip': 0.0}, UPPER: {'grip': 0.04}}


class Page:
    """Everything around the hands, in place of a viewer."""

    def __init__(self):
        self.arm = panda_arm()
        self.measured = MeasuredState(self.arm)
        self.is_there, self.sent, self.refusals, self.built = True, [], [], []
        self.tasks = TaskQueue(lambda error: None)
        link = SimpleNamespace(
            can_execute=lambda: self.is_there,
            execute=lambda message, on_end: self.sent.append((message.joint_trajectory, on_end)),
        )
        self.grippers = Grippers(link, self.tasks, self.refusals.append)
        display = SimpleNamespace(view=SimpleNamespace(arm=self.arm), measured=self.measured)
        self.grippers.show(display, SimpleNamespace(build=self.built.append))


def test_a_button_sends_the_fingers_to_their_limit():
    page = Page()
    assert page.built == [{'hand': [OPEN, CLOSE]}]
    page.measured.update([FINGER], [0.01], 1.0)
    page.grippers.move('hand', OPEN)
    ((trajectory, on_end),) = page.sent
    assert trajectory.joint_names == [FINGER]
    (point,) = trajectory.points
    assert list(point.positions) == [0.04]
    seconds = point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
    np.testing.assert_allclose(seconds, 0.03 / page.arm.robot.joints[FINGER].limits.velocity)
    on_end(ExecutionEnd(is_success=False, is_canceled=True))
    on_end(ExecutionEnd(is_success=True))
    page.tasks.run_pending()
    assert not page.refusals


def test_what_is_not_possible_is_refused_with_the_reason():
    page = Page()
    page.grippers.move('hand', OPEN)
    page.is_there = False
    page.grippers.move('hand', OPEN)
    page.grippers.move('of another robot', OPEN)
    assert page.refusals == [
        f'hand cannot move: joint_states are without {FINGER}',
        'hand cannot move: no node offers execute_trajectory',
    ]
    page.is_there = True
    page.measured.update([FINGER], [0.01], 1.0)
    page.grippers.move('hand', CLOSE)
    page.sent[0][1](ExecutionEnd(is_success=False, reason='stopped'))
    page.tasks.run_pending()
    assert page.refusals[-1] == 'the hand has not got there: stopped'
