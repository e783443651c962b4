"""Goals of other clients at a controller's action, as its servers tell of them over real DDS."""

from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
import pytest
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.qos import qos_profile_action_status_default
from rclpy.serialization import serialize_message
from support.harness import until
from unique_identifier_msgs.msg import UUID

from ik_service.ros.motion import controller_goals
from ik_service.ros.motion.controller_goals import _states, ControllerGoals

UNKNOWN, ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = range(7)


def states(*goals):
    """The states of goals, each given by its number and state."""
    return GoalStatusArray(
        status_list=[
            GoalStatus(goal_info=GoalInfo(goal_id=UUID(uuid=[number] * 16)), status=state)
            for number, state in goals
        ]
    )


class Action:
    """An action with servers that say what the test wants."""

    def __init__(self, node):
        self.goals = ControllerGoals(
            node, '/arm/follow_joint_trajectory', ReentrantCallbackGroup()
        )
        self.node, self.topic = node, '/arm/follow_joint_trajectory/_action/status'

    def server(self):
        publisher = self.node.create_publisher(
            GoalStatusArray, self.topic, qos_profile_action_status_default
        )
        until(lambda: publisher.get_subscription_count() == 1, what='discovery')
        return publisher

    def until_noted(self, number):
        """Wait until a goal is the one that counts; 0 for none."""
        name = f'({bytes([number] * 4).hex()})' if number else ''
        until(
            lambda: self.goals.foreign().partition('trajectory ')[2] == name, what=name or 'none'
        )


@pytest.fixture
def action(bench):
    return Action(bench.node)


def test_the_states_of_many_goals_are_found_in_the_bytes(bench):
    for first in range(7):
        goals = [(number, (number + first) % 7) for number in range(100)]
        wanted = {bytes([number] * 16): state for number, state in goals}
        assert _states(serialize_message(states(*goals))) == wanted
    assert _states(serialize_message(states())) == {}


@pytest.mark.parametrize('state', [ACCEPTED, EXECUTING, CANCELING])
@pytest.mark.parametrize('end', [SUCCEEDED, CANCELED, ABORTED])
def test_a_goal_counts_until_its_server_ends_it(action, state, end):
    server = action.server()
    server.publish(states((1, SUCCEEDED), (2, state)))
    action.until_noted(2)
    server.publish(states((1, SUCCEEDED), (2, end)))
    action.until_noted(0)


def test_a_goal_of_which_only_the_end_is_told_counts_for_a_moment(action, monkeypatch):
    monkeypatch.setattr(controller_goals, '_LINGERS', 1.0)
    server = action.server()
    server.publish(states((1, CANCELED)))
    action.until_noted(1)
    action.until_noted(0)
    server.publish(states((1, CANCELED), (2, CANCELED)))
    action.until_noted(2)


def test_ends_that_each_of_several_servers_tells_again_count_once(action, monkeypatch):
    monkeypatch.setattr(controller_goals, '_LINGERS', 0.5)
    servers = [action.server(), action.server()]
    for number, server in enumerate(servers, 1):
        server.publish(states((number, CANCELED)))
        action.until_noted(number)
        action.until_noted(0)
    servers[0].publish(states((1, CANCELED), (3, EXECUTING)))
    until(action.goals.foreign, what='the goal')
    assert action.goals._goals.keys() == {bytes([3] * 16)}


def test_after_a_long_stall_goals_of_a_server_may_be_unknown(action, monkeypatch):
    monkeypatch.setattr(controller_goals, '_REPEATED', 0.5)
    action.goals.note_stall(1.0)
    assert not action.goals.foreign()
    action.server()
    action.goals.note_stall(0.2)
    assert not action.goals.foreign()
    action.goals.note_stall(1.0)
    assert action.goals.foreign().startswith('perhaps a goal at')
    action.until_noted(0)


def test_own_goals_count_only_when_they_were_taken_for_lost_and_go_on(action):
    server = action.server()
    action.goals.note_own(bytes([1] * 16))
    server.publish(states((1, EXECUTING), (2, EXECUTING)))
    action.until_noted(2)
    server.publish(states((1, EXECUTING), (2, ABORTED)))
    action.until_noted(0)
    action.goals.note_own(bytes([1] * 16), False)
    assert 'a goal that was taken for lost at /arm/' in action.goals.foreign()
    server.publish(states((1, ABORTED)))
    action.until_noted(0)


def test_goals_of_a_server_that_was_not_seen_for_a_time_go_on(action, monkeypatch):
    action.server().publish(states((1, EXECUTING)))
    action.until_noted(1)
    with monkeypatch.context() as away:
        away.setattr(action.goals, '_servers', frozenset)
        action.until_noted(0)
    action.until_noted(1)


def test_a_server_says_nothing_of_the_goals_of_another_one_and_loses_its_own(action):
    old, new = action.server(), None
    old.publish(states((1, EXECUTING)))
    action.until_noted(1)
    new = action.server()
    new.publish(states((2, ABORTED)))
    new.publish(states((2, ABORTED), (3, EXECUTING)))
    action.until_noted(1)
    action.node.destroy_publisher(old)
    action.until_noted(3)
    action.node.destroy_publisher(new)
    action.until_noted(0)


def test_a_goal_of_before_the_monitor_counts(bench, action):
    action.server().publish(states((1, EXECUTING)))
    action.until_noted(1)
    later = Action(bench.node)
    later.until_noted(1)


def test_the_goals_of_a_server_that_has_just_come_are_awaited(action):
    assert not action.goals.awaited()
    action.server()
    until(action.goals.awaited, what='the server')
    until(lambda: not action.goals.awaited(), what='the end of the wait')


def test_of_a_flood_of_goals_not_all_are_remembered(action):
    server = action.server()
    for n in range(5):
        goals = states(*[(k, EXECUTING) for k in range(1, 256)])
        for status in goals.status_list:
            status.goal_info.goal_id.uuid[0] = n
        server.publish(goals)
    until(action.goals.foreign)
    assert len(action.goals._goals) <= 400
