from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser', reason="viser is not installed: pip install 'ik_service[viewer]'")
pytest.importorskip('moveit_msgs', reason='moveit_msgs is needed for its types')

from support.harness import raise_it
from support.page.paths import FakeLink
from support.ros.servers import panda_arm, TREE
from support.urdf_texts import arm_xml, group_xml, srdf_xml, state_xml

from ik_service.arm.arm import Arm, ArmSettings, Hand
from ik_service.arm.measured_state import MeasuredState
from ik_service.extras.viewer.link.path_link import ExecutionEnd, joint_motion
from ik_service.extras.viewer.link.task_queue import TaskQueue
from ik_service.extras.viewer.motions import (
    CLOSE,
    gripper_choices,
    Grippers,
    LOWER,
    Motions,
    OPEN,
    UPPER,
)
from ik_service.extras.viewer.panel.widgets import MID_RANGE
from ik_service.extras.viewer.robot_display import PageTarget
from ik_service.robot import Robot


class Page:
    """Everything around the motions, in place of a viewer."""

    def __init__(self, arm=None):
        self.arm = arm or panda_arm()
        self.q = self.arm.chain.mid_range()
        self.link, self.tasks, self.target = FakeLink(), TaskQueue(raise_it), PageTarget()
        self.refusals, self.shown, self.offered, self.previews = [], [], [], []
        self.now = 100.0
        self.refreshed = 0
        self.panel = SimpleNamespace(
            states=SimpleNamespace(offer=self.offered.extend, refresh=self._refresh),
            sliders=SimpleNamespace(
                build=lambda positions: None,
                release=lambda: None,
                show=lambda positions, now: self.shown.append(positions),
            ),
        )
        chain = self.arm.chain
        self.motions = Motions(
            self.target, self.link, self.tasks, self.panel, self.refusals.append
        )
        self.display = SimpleNamespace(
            view=SimpleNamespace(arm=self.arm, size=1.0, speeds=np.full(chain.n, 2.0)),
            joints=lambda indices=None: self.q,
            tip_pose=lambda: chain.forward(self.q),
            poses_at=lambda q, indices=None: q,
            joint_positions=list,
            base_from_root=lambda: np.eye(4),
            show_preview=self.previews.append,
        )
        self.motions.show(self.display)

    def _refresh(self):
        self.refreshed += 1

    def duration(self):
        """How long the motion takes that was sent last [s]."""
        time = self.link.sent[-1].points[0].time_from_start
        return time.sec + 1e-9 * time.nanosec

    def step(self):
        self.now += 1.0
        self.motions.step(self.now)

    def end(self, **values):
        self.link.end(**values)
        self.tasks.run_pending()

    def sent(self):
        """The posture that was sent last, as a vector of the chain."""
        trajectory = self.link.sent[-1]
        (point,) = trajectory.points
        assert tuple(trajectory.joint_names) == self.arm.chain.joint_names
        return np.array(point.positions)


@pytest.fixture
def page():
    return Page()


def test_a_named_state_moves_the_joints(page):
    assert page.offered == ['ready', 'extended', MID_RANGE]
    page.motions.go_to_state('ready')
    page.step()
    ready = page.arm.chain.joint_vector(page.arm.robot.group_states('panda_arm')['ready'])
    np.testing.assert_array_equal(page.sent(), ready)
    assert page.target.pose is None
    assert page.motions.state == 'ready'
    assert page.motions.is_executing
    np.testing.assert_array_equal(page.previews[0], ready)
    assert page.shown == [dict(zip(page.arm.chain.joint_names, ready.tolist(), strict=True))]
    page.end(is_success=True)
    assert not page.motions.is_executing
    assert not page.refusals


def test_a_state_of_another_group_moves_the_joints_of_that_group():
    text = srdf_xml(
        group_xml('left', 'chain:base>l2'),
        group_xml('right', 'chain:base>r1'),
        state_xml('ready', 'right', j_r1=-0.5),
    )
    page = Page(Arm(Robot.from_urdf(arm_xml('base r:r1', joints=2), srdf=text), ArmSettings()))
    page.q = np.zeros(1)  # of that group
    page.motions.go_to_state('right: ready')
    page.step()
    trajectory = page.link.sent[-1]
    assert trajectory.joint_names == ['j_r1']
    assert trajectory.points[0].positions.tolist() == [-0.5]
    assert page.motions.state == 'right: ready'


def test_home_is_the_state_of_that_kind(page):
    page.motions.remember_home()
    page.motions.go_home()
    page.step()
    ready = page.arm.chain.joint_vector(page.arm.robot.group_states('panda_arm')['ready'])
    np.testing.assert_array_equal(page.sent(), ready)


def test_home_is_the_first_posture_where_no_state_is(page):
    page.motions._home = None
    page.q = first = page.q + 0.1
    page.motions.remember_home()
    page.q = page.q - 0.3
    page.motions.remember_home()
    page.motions.go_home()
    page.step()
    np.testing.assert_allclose(page.sent(), first)


@pytest.mark.parametrize('moved_by', ['target', 'motion'])
def test_an_arm_that_moves_gets_time_to_come_back_from_where_it_moves_on_to(page, moved_by):
    page.motions.go_to_state('ready')
    page.step()
    at_rest = page.duration()
    if moved_by == 'target':
        page.end(is_success=True)
        page.motions.go_to_pose(page.arm.chain.forward(page.q + 0.1))
    page.motions.go_to_state('ready')
    page.step()
    assert page.duration() == pytest.approx(at_rest + 0.3)


def test_a_slider_moves_its_joint_and_the_others_go_on_to_where_they_were_sent(page):
    first, second, *_ = page.arm.chain.joint_names
    before = page.q.copy()
    page.motions.move_joints({first: 1.0})
    page.motions.move_joints({first: 1.1})
    page.step()
    assert len(page.link.sent) == 1
    np.testing.assert_allclose(page.sent(), [1.1, *before[1:]])
    page.q = before + 0.05  # on the way
    page.motions.move_joints({second: -0.4})
    page.step()
    np.testing.assert_allclose(page.sent(), [1.1, -0.4, *before[2:]])
    page.end(is_success=True)
    page.q = before + 0.2
    page.motions.move_joints({first: 0.5})
    page.step()
    np.testing.assert_allclose(page.sent(), [0.5, *page.q[1:]])


def test_a_slider_that_is_moved_on_is_sent_at_intervals(page):
    name = page.arm.chain.joint_names[0]
    for value in np.linspace(0.0, 1.0, 11):
        page.motions.move_joints({name: float(value)})
        page.now += 0.05
        page.motions.step(page.now)
    assert 2 <= len(page.link.sent) <= 4


def test_a_motion_takes_as_long_as_the_slowest_joint():
    motion = joint_motion(['a', 'b', 'c'], np.zeros(3), np.ones(3), np.array([1.0, 0.4, 0.0]))
    (point,) = motion.joint_trajectory.points
    duration = point.time_from_start
    assert duration.sec + duration.nanosec * 1e-9 == pytest.approx(2.5)
    assert not point.velocities


@pytest.mark.parametrize('what', ['drag', 'random', 'pose'])
def test_a_pose_ends_a_motion_of_the_joints(page, what):
    page.motions.go_to_state('ready')
    page.step()
    T = page.arm.chain.forward(page.q + 0.1)
    {
        'drag': lambda: page.motions.drag(T, True),
        'random': lambda: page.motions.go_to_random_pose(np.random.default_rng(1)),
        'pose': lambda: page.motions.go_to_pose(T),
    }[what]()
    assert page.link.canceled == 1
    assert page.motions.state == ''
    assert page.motions.is_executing  # the target waits for the end
    page.end(is_success=False, is_canceled=True, reason='canceled')
    assert not page.motions.is_executing
    assert page.target.pose is not None
    assert not page.refusals


def test_a_motion_that_is_not_sent_yet_gives_way_to_a_pose(page):
    page.motions.go_to_state('ready')
    page.motions.go_to_pose(np.eye(4))
    page.step()
    assert not page.link.sent


@pytest.mark.parametrize('how', ['stop', 'drop'])
def test_a_stop_ends_what_was_asked_for_without_a_complaint(page, how):
    page.motions.go_to_state('ready')
    page.step()
    getattr(page.motions, how)()
    page.end(is_success=False, reason='stopped')
    page.step()
    assert not page.refusals
    assert len(page.link.sent) == 1
    assert page.motions.state == ''
    assert (page.target.pose is None) == (how == 'drop')


def test_a_motion_that_fails_is_told_with_the_reason(page):
    page.motions.go_to_state('ready')
    page.step()
    page.end(is_success=False, reason='somebody else commands the arm')
    assert page.refusals == ['the arm has not got there: somebody else commands the arm']
    assert page.motions.state == ''
    assert page.refreshed == 1  # the menu shows that, though it may not have shown the choice yet


def test_the_end_of_a_motion_that_was_replaced_is_not_told(page):
    page.motions.go_to_state('ready')
    page.step()
    page.motions.go_to_state('extended')
    page.step()
    page.link.ends[0](ExecutionEnd(is_success=False, reason='a newer trajectory'))
    page.tasks.run_pending()
    assert not page.refusals
    assert page.motions.is_executing
    assert page.motions.state == 'extended'


def test_what_is_not_possible_is_refused_with_the_reason(page):
    page.link.executes = False
    page.motions.go_to_state('ready')
    page.link.executes, page.q = True, None
    page.motions.go_to_state('ready')
    page.motions.go_to_state('of another robot')
    page.step()
    assert page.refusals == [
        "the arm cannot go to the state 'ready': no node offers execute_trajectory",
        "the arm cannot go to the state 'ready': no joint states have come yet",
    ]
    assert not page.link.sent


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


class HandPage:
    """Everything around the hands, in place of a viewer."""

    def __init__(self):
        self.arm = panda_arm()
        self.measured = MeasuredState(self.arm)
        self.link, self.refusals, self.built = FakeLink(), [], []
        self.tasks = TaskQueue(raise_it)
        self.grippers = Grippers(self.link, self.tasks, self.refusals.append)
        display = SimpleNamespace(view=SimpleNamespace(arm=self.arm), measured=self.measured)
        self.grippers.show(display, SimpleNamespace(build=self.built.append))


def test_a_button_sends_the_fingers_to_their_limit():
    page = HandPage()
    assert page.built == [{'hand': [OPEN, CLOSE]}]
    page.measured.update([FINGER], [0.01], 1.0)
    page.grippers.move('hand', OPEN)
    (trajectory,), (on_end,) = page.link.sent, page.link.ends
    assert trajectory.joint_names == [FINGER]
    (point,) = trajectory.points
    assert list(point.positions) == [0.04]
    seconds = point.time_from_start.sec + 1e-9 * point.time_from_start.nanosec
    np.testing.assert_allclose(seconds, 0.03 / page.arm.robot.joints[FINGER].limits.velocity)
    on_end(ExecutionEnd(is_success=False, is_canceled=True))
    on_end(ExecutionEnd(is_success=True))
    page.tasks.run_pending()
    assert not page.refusals


def test_a_hand_that_cannot_move_is_told_with_the_reason():
    page = HandPage()
    page.grippers.move('hand', OPEN)
    page.link.executes = False
    page.grippers.move('hand', OPEN)
    page.grippers.move('of another robot', OPEN)
    assert page.refusals == [
        f'hand cannot move: joint_states are without {FINGER}',
        'hand cannot move: no node offers execute_trajectory',
    ]
    page.link.executes = True
    page.measured.update([FINGER], [0.01], 1.0)
    page.grippers.move('hand', CLOSE)
    page.grippers.move('hand', OPEN)
    page.link.ends[0](ExecutionEnd(is_success=False, reason='replaced'))  # by the one after it
    page.link.ends[1](ExecutionEnd(is_success=False, reason='stopped'))
    page.tasks.run_pending()
    assert page.refusals[2:] == ['the hand has not got there: stopped']
