"""Following with injected faults between node and arm, over real DDS."""

from contextlib import contextmanager

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.harness import until
from support.ros.cells import NAMES, READY, until_silent

pytestmark = pytest.mark.dds
SCALING = 0.8


@contextmanager
def faults(cell, **values):
    """Inject faults into the simulated arm for a ``with`` block."""
    wrong = {f'faults.{name}': value for name, value in values.items()}
    right = {name: '' if isinstance(value, str) else 0.0 for name, value in wrong.items()}
    try:
        assert all(result.successful for result in set_all(cell, wrong))
        yield
    finally:
        set_all(cell, right)


def set_all(cell, values):
    return cell.bench.set_parameters('ik_sim', **values)


def publisher(cell, topic):
    """A publisher of the test, which can be removed while the executor waits: it has no events."""
    silent = PublisherEventCallbacks(use_default_callbacks=False)
    return cell.bench.node.create_publisher(JointState, topic, 10, event_callbacks=silent)


def said(cell, sentence, since):
    """Wait until the node has printed a sentence after a position in its output."""
    until(lambda: sentence in cell.node.output[since:], what=f'the sentence {sentence!r}')


def passed(recorder, count):
    """Wait until so many more messages have come."""
    since = len(recorder)
    until(lambda: len(recorder) > since + count, what='messages')


def following_value(diagnostics, key):
    """A value of the node's status about following; empty in a message of others."""
    for status in diagnostics.status:
        if status.name == 'ik_service: following':
            return {item.key: item.value for item in status.values}[key]
    return ''


def far_and_near(cell):
    """Two targets that are a second of motion apart."""
    return cell.pose_beside_ready(-0.1, 0.45, 0.1), cell.pose_beside_ready(0.05, -0.2, -0.1)


def assert_recovers(cell, target):
    cell.commands.wait()
    cell.states.wait(cell.is_at(target), timeout=20.0, since=len(cell.states))
    cell.assert_commands_keep_the_bounds(SCALING)


@pytest.mark.parametrize(
    'wrong',
    [
        {'lost_states': 0.6},
        {'state_delay': 0.2, 'command_delay': 0.1},
        {'lost_states': 0.3, 'lost_commands': 0.3, 'state_delay': 0.1, 'command_delay': 0.1},
    ],
    ids=str,
)
def test_it_arrives_in_spite_of_lost_and_late_messages(cell, wrong):
    far, near = far_and_near(cell)
    with faults(cell, **wrong):
        cell.begin(far)
        passed(cell.commands, 20)
        cell.send(near)  # on the way: it has to turn back
        assert_recovers(cell, near)


def test_noise_makes_no_command_jump(cell):
    _, near = far_and_near(cell)
    with faults(cell, noise=0.05):
        cell.begin(near)
        cell.commands.wait(lambda message: any(message.velocity))
        cell.commands.wait(lambda message: not any(message.velocity), since=len(cell.commands))
        measured = np.array([cell.positions(state) for state in cell.states.messages[-20:]])
        assert measured.std(axis=0).max() > 0.01
    assert_recovers(cell, near)


def test_missing_states_stop_the_arm_until_it_is_enabled(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    cell.begin(far)
    with faults(cell, lost_states=1.0):
        said(cell, 'the joint states are stale', since)
        until_silent(cell.commands)
        cell.commands.clear()
        cell.states.clear()
    cell.start = cell.positions(cell.states.wait())
    said(cell, 'target dropped: the last joint state is', since)
    passed(cell.states, 50)
    assert len(cell.commands) == 0, 'it does not move by itself'
    assert cell.enable(True) == 'following the target again'
    assert_recovers(cell, far)


def test_commands_wait_for_an_arm_that_gets_none_and_end(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    with faults(cell, lost_commands=1.0):
        cell.begin(far)
        said(cell, 'has not moved for 2.0 s', since)
        path = np.array([cell.positions(message) for message in cell.commands.messages])
        ahead = np.abs(path - cell.positions(cell.states.next())).max()
        assert 0.05 < ahead <= 0.1, 'as far as lead_limit allows'
    cell.begin(far)
    assert_recovers(cell, far)


def test_diagnostics_report_a_stuck_joint(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    with faults(cell, stuck_joint='panda_joint1'):
        cell.begin(far)
        said(cell, 'the arm lags behind', since)
        state = cell.states.next()
        assert cell.positions(state)[0] == pytest.approx(cell.start[0], abs=1e-3)
        assert not cell.is_at(far, 0.02)(state)
    assert_recovers(cell, far)


@pytest.mark.parametrize('under_way', [False, True])
def test_a_reset_of_the_simulated_arm_drops_the_target(cell, under_way):
    far, _ = far_and_near(cell)
    cell.begin(far)
    if under_way:
        cell.commands.wait(lambda message: max(map(abs, message.velocity)) > 0.5)
    else:
        assert_recovers(cell, far)
    assert cell.bench.call(Trigger, 'ik_sim/reset', Trigger.Request()).success
    reset = cell.bench.node.get_clock().now()
    ended = until_silent(cell.commands)
    passed(cell.states, 100)
    assert len(cell.commands) == ended
    since = [m for m in cell.states.messages if Time.from_msg(m.header.stamp) >= reset]
    measured = np.array([cell.positions(state) for state in since])
    assert len(measured) > 20
    assert np.abs(measured - READY).max() < 0.06, 'it stays where it was put'


def test_stop_comes_to_rest_and_drops_the_target(cell):
    far, near = far_and_near(cell)
    cell.begin(far)
    cell.commands.wait(lambda message: max(map(abs, message.velocity)) > 0.5)
    answer = cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    assert answer.success
    assert 'stopping; the target is dropped' in answer.message
    until_silent(cell.commands)
    assert not any(cell.commands.messages[-1].velocity)
    cell.begin(near)
    assert_recovers(cell, near)


def test_disabled_following_ignores_targets_with_a_reason(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    cell.enable(False)
    try:
        cell.send(far)
        said(cell, 'target_pose ignored: following is disabled', since)
        # Those that held the arm may still arrive.
        assert not any(any(command.velocity) for command in cell.commands.messages)
    finally:
        assert cell.enable(True) == 'waiting for a target'
    cell.begin(far)
    assert_recovers(cell, far)


def test_a_killed_predecessor_that_discovery_still_knows_does_not_block_motion(cell):
    """A publisher of a node of the same name that sends nothing."""
    twin = Node('ik_service', namespace=cell.bench.namespace, context=cell.bench.node.context)
    try:
        other = twin.create_publisher(JointState, 'joint_command', 10)
        until(lambda: other.get_subscription_count() >= 3, what='the discovery of the publisher')
        cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
        until_silent(cell.commands)
        far, _ = far_and_near(cell)
        cell.begin(far)
        assert_recovers(cell, far)
        diagnostics = cell.bench.record(DiagnosticArray, 'diagnostics')
        diagnostics.wait(lambda m: 'silent so far' in following_value(m, 'other commanders'))
    finally:
        twin.destroy_node()


def test_no_motion_starts_while_another_node_commands_the_arm(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    other = publisher(cell, 'joint_command')
    try:
        until(lambda: other.get_subscription_count() >= 3, what='the discovery of the publisher')
        cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
        until_silent(cell.commands)
        cell.commands.clear()
        cell.send(far)
        said(cell, 'test_client commands the arm too', since)
        assert len(cell.commands) == 0
        diagnostics = cell.bench.record(DiagnosticArray, 'diagnostics')
        diagnostics.wait(lambda m: '/test_client' in following_value(m, 'other commanders'))
        # To where it is, because the simulated arm obeys, and the bounds count from there.
        other.publish(JointState(name=list(NAMES[:1]), position=cell.start[:1].tolist()))
        diagnostics.wait(lambda m: following_value(m, 'commands of others') == '1')
    finally:
        cell.bench.node.destroy_publisher(other)
    diagnostics.wait(lambda m: following_value(m, 'other commanders') == 'none')
    cell.commands.clear()
    cell.begin(far)
    assert_recovers(cell, far)


def test_a_joint_that_is_missing_all_at_once_is_named(cell):
    states = publisher(cell, 'joint_states')
    since, start = len(cell.node.output), cell.start

    def publish():
        partial = JointState(name=list(NAMES[1:]), position=start[1:].tolist())
        partial.header.stamp = cell.bench.node.get_clock().now().to_msg()
        states.publish(partial)

    def is_named(message):
        return f'without {NAMES[0]}' in following_value(message, 'joint states')

    far, _ = far_and_near(cell)
    cell.begin(far)
    try:
        until(lambda: states.get_subscription_count() >= 1, what='the discovery of the publisher')
        timer = cell.bench.node.create_timer(0.01, publish)
        with faults(cell, lost_states=1.0):
            cell.bench.record(DiagnosticArray, 'diagnostics').wait(is_named, 20.0)
        cell.bench.node.destroy_timer(timer)
    finally:
        cell.bench.node.destroy_publisher(states)
    said(cell, 'the joint states are good again', since)
    cell.commands.clear()
    whole = cell.states.wait(lambda message: NAMES[0] in message.name, since=len(cell.states))
    cell.start = cell.positions(whole)
    cell.begin(far)
    assert_recovers(cell, far)
