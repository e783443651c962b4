"""Action of a simulated hand over real DDS, as clients of a gripper_action_controller call it."""

from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
import pytest
from rclpy.action import ActionClient
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.harness import until

from ik_service import Robot
from ik_service.ros.sim.simulated_arm_node import gripper_joint

pytestmark = pytest.mark.dds

ACTION = 'gripper_action_controller/gripper_cmd'
FINGER = 'panda_finger_joint1'


class Hand:
    """A simulated Panda and a client of its hand."""

    def __init__(self, bench, panda_urdf):
        self.kind = GripperCommand
        self.bench, self.sim = bench, bench.start('ik_service.ros.sim.main', urdf=str(panda_urdf))
        self.states = bench.record(JointState, 'joint_states')
        self.client = ActionClient(bench.node, GripperCommand, ACTION)
        self.feedback = []
        until(self.client.server_is_ready, what='the action of the hand')

    def send(self, position):
        goal = self.kind.Goal()
        goal.command.position = position
        sent = self.client.send_goal_async(
            goal, lambda message: self.feedback.append(message.feedback)
        )
        until(sent.done, what='the answer to the goal')
        assert sent.result().accepted
        return sent.result()

    @staticmethod
    def end(handle):
        result = handle.get_result_async()
        until(result.done, what='the result')
        return result.result().status, result.result().result

    def finger(self):
        state = self.states.next()
        return state.position[state.name.index(FINGER)]


@pytest.fixture
def hand(bench, panda_urdf):
    hand = Hand(bench, panda_urdf)
    yield hand
    hand.client.destroy()


def test_the_hand_goes_where_it_is_told_and_says_so(hand):
    for position in (0.0, 0.04, 0.01):
        status, result = hand.end(hand.send(position))
        assert status == GoalStatus.STATUS_SUCCEEDED
        assert result.reached_goal
        assert not result.stalled
        assert result.position == pytest.approx(position, abs=1e-3)
        assert hand.finger() == pytest.approx(position, abs=1e-3)
    assert any(0.011 < news.position < 0.039 for news in hand.feedback)


def test_a_hand_that_cannot_get_there_stalls_and_numbers_that_are_none_are_refused(hand):
    status, result = hand.end(hand.send(0.5))
    assert status == GoalStatus.STATUS_ABORTED
    assert result.stalled
    assert not result.reached_goal
    assert result.position == pytest.approx(0.04, abs=1e-3), 'the limit of the finger'
    assert hand.end(hand.send(float('nan')))[0] == GoalStatus.STATUS_ABORTED
    hand.sim.wait_for('command.position is nan; a finite number is right', 5.0)
    assert hand.finger() == pytest.approx(0.04, abs=1e-3)


def test_a_newer_goal_and_a_cancellation_end_a_goal(hand):
    hand.end(hand.send(0.0))
    first, second = hand.send(0.5), hand.send(0.5)
    assert hand.end(first)[0] == GoalStatus.STATUS_ABORTED
    canceling = second.cancel_goal_async()
    until(canceling.done, what='the answer to the cancellation')
    assert hand.end(second)[0] == GoalStatus.STATUS_CANCELED
    third = hand.send(0.02)
    assert hand.bench.call(Trigger, 'ik_sim/reset', Trigger.Request()).success
    assert hand.end(third)[0] in (GoalStatus.STATUS_SUCCEEDED, GoalStatus.STATUS_ABORTED)


def test_the_finger_of_the_panda_is_its_hand_and_a_planar_arm_has_none(panda_urdf):
    assert gripper_joint(Robot.from_urdf(panda_urdf)) == FINGER
    assert gripper_joint(Robot.from_urdf(panda_urdf.with_name('planar_6r.urdf'))) == ''
    assert gripper_joint(Robot.from_urdf('<robot name="r"><link name="a"/></robot>')) == ''
