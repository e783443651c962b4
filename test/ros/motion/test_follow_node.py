"""Following over real DDS, with node, simulated arm and client in a process each, and faults."""

from contextlib import contextmanager
import re

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import CollisionObject
from moveit_msgs.srv import GetPositionFK
import numpy as np
import pytest
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.time import Time
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from support.harness import until
from support.ros.cells import Cell, CHAIN, NAMES, NODE, RATE, READY, until_silent
from support.ros.nodes import status
from support.ros.worlds import box

import ik_service as iks
from ik_service.common.transforms import rigid_transform
from ik_service.kinematics.pose_error import pose_error

SCALING = 0.8


@pytest.fixture(scope='module')
def shared_cell(shared_bench):
    """A node and a simulated arm that the tests share."""
    return Cell(shared_bench)


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in the pose of READY, whatever tests did before."""
    shared_cell.rest()
    until_silent(shared_cell.commands)  # else the last ones are taken for those of a new target
    shared_cell.commands.clear()
    return shared_cell


def said(cell, pattern, since):
    """Wait until the node has printed something after a position in its output."""
    until(lambda: re.search(pattern, cell.node.output[since:]), what=f'the line {pattern!r}')


def test_an_arm_goes_where_the_target_is_and_commands_end_there(cell):
    target = cell.pose_beside_ready(0.1, 0.1, -0.1)
    cell.begin(target)
    cell.states.wait(cell.is_at(target))
    cell.assert_commands_keep_the_bounds(0.8)

    until_silent(cell.commands)
    last = cell.commands.messages[-1]
    assert tuple(last.name) == NAMES
    assert set(last.velocity) == {0.0}
    since = len(cell.states)
    until(lambda: len(cell.states) > since + 100, what='states')
    assert cell.is_at(target)(cell.states.messages[-1])


def test_out_of_reach_the_arm_goes_to_the_nearest_pose_and_the_log_gives_the_distance(cell):
    target = cell.pose_beside_ready(2.0, 0.0, 0.0)
    cell.begin(target)
    cell.node.wait_for('cannot be reached: .*out', 60.0)
    cell.commands.wait(lambda message: any(message.velocity))
    moving = len(cell.commands)
    cell.commands.wait(lambda message: not any(message.velocity), since=moving)
    tip = cell.chain.forward(cell.positions(cell.commands.messages[-1]))[:3, 3]
    assert np.linalg.norm(tip) > 0.8, 'stretched out'
    assert np.linalg.norm(tip - target[:3, 3]) < 1.6


def test_random_targets_also_out_of_reach_never_make_a_jump(cell):
    random = np.random.default_rng(5)
    for number in range(60):
        T = cell.chain.forward(random.uniform(cell.chain.lower, cell.chain.upper))
        T[:3, 3] *= 3.0 if number % 4 == 0 else 1.0
        since = len(cell.states)
        cell.send(T)
        until(lambda since=since: len(cell.states) > since + 4, what='states')
    cell.send(cell.pose_beside_ready(0.0, 0.1, 0.0))
    cell.states.wait(cell.is_at(cell.pose_beside_ready(0.0, 0.1, 0.0)))
    assert len(cell.commands) > 100
    cell.assert_commands_keep_the_bounds(0.8)


def test_the_velocity_of_a_target_leads_the_commands_ahead_of_its_poses(cell):
    velocities = cell.bench.publisher(TwistStamped, 'target_twist')
    twist, target = TwistStamped(), cell.pose_beside_ready(0.0, 0.0, 0.0)
    twist.header.frame_id = 'panda_link0'
    twist.twist.linear.x = float('nan')
    velocities.publish(twist)
    cell.node.wait_for('velocity of target_pose ignored: .*NaN', 60.0)
    # Poses that stand still: it is the velocity alone that leads on.
    twist.twist.linear.x = 0.2

    def ahead():
        velocities.publish(twist)
        cell.send(target)
        if not len(cell.commands):
            return 0.0
        q = cell.positions(cell.commands.messages[-1])
        found = (cell.chain.forward(q) - target)[0, 3]
        return found if found >= 1e-3 else 0.0

    assert until(ahead, what='commands ahead of the target') < 0.1
    cell.states.wait(cell.is_at(target))  # nothing more comes: it is held


@pytest.mark.slow
def test_a_target_is_held_against_gravity(bench):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    cell = Cell(bench, sim={'engine': 'mujoco', 'rate': 500.0})
    target = cell.pose_beside_ready(0.2, 0.15, -0.1)
    cell.begin(target)
    cell.states.wait(cell.is_at(target, 1e-3))
    since = len(cell.states)
    until(lambda: len(cell.states) > since + 500, what='the states of a second')
    for state in cell.states.messages[since + 250 :]:
        error = pose_error(cell.chain.forward(cell.positions(state)), target)
        assert np.linalg.norm(error[:3]) < 1e-3, 'steady within 1 mm'
        assert np.linalg.norm(error[3:]) < np.radians(0.2), 'and 0.2°'
    assert max(map(abs, state.effort)) > 15.0, 'although it is heavy'
    cell.assert_commands_keep_the_bounds(0.8)


TWO = 'ik_service runs, or was killed'
GAVE_WAY = 'ik_service commands the arm too'


def test_of_two_nodes_of_one_name_one_moves_the_arm(cell):
    """Both start with the first target; the later one gives way before anything moves."""
    before = len(cell.node.output)
    parameters = {'publish_rate': RATE, 'velocity_scaling': 0.8, **CHAIN}
    second = cell.bench.start(NODE, urdf=cell.urdf, **parameters)
    said(cell, TWO, before)
    second.wait_for(TWO, 60.0)
    target = cell.pose_beside_ready(0.05, -0.3, 0.1)

    def gave_way():
        cell.send(target)  # until both have heard of it
        return GAVE_WAY in cell.node.output[before:] + second.output

    until(gave_way, what='one to give way', period=0.2)
    cell.states.wait(cell.is_at(target))
    until_silent(cell.commands, 1.0)
    assert (GAVE_WAY in cell.node.output[before:]) != (GAVE_WAY in second.output)
    assert len(cell.commands) > 0.2 * RATE, 'most of those of a second at rest'
    cell.assert_commands_keep_the_bounds(0.8)
    assert second.end() == 0


WALL = (0.02, 1.0, 1.0)  # [m]
AVOID = 'follow.avoid_collisions'


def knows_the_wall(bench):
    """Whether the node has received the wall, whose name is a frame then."""
    request = GetPositionFK.Request(fk_link_names=['panda_link0'])
    request.header.frame_id = 'wall'
    return bench.call(GetPositionFK, 'compute_fk', request).error_code.val == 1


def is_before_the_wall(diagnostics):
    ahead = following_value(diagnostics, 'state') == 'COLLISION_AHEAD'
    return ahead and 'and wall' in following_value(diagnostics, 'collision')


def test_the_arm_stops_before_a_wall_and_goes_on_elsewhere(cell, panda_urdf):
    pytest.importorskip('coal', reason='the extra "collision" is not installed')
    bench, chain, since = cell.bench, cell.chain, len(cell.node.output)
    bench.configure('ik_service', **{AVOID: True})
    place = cell.pose_beside_ready(0.15, 0.0, 0.0)[:3, 3]
    objects = bench.publisher(CollisionObject, 'collision_object')
    objects.publish(box('wall', place, WALL))
    behind = cell.pose_beside_ready(0.3, 0.0, 0.0)
    until(lambda: knows_the_wall(bench), what='the wall in the known world')
    cell.begin(behind)
    said(cell, 'stopped before a collision of .* and wall', since)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')

    def is_told():
        cell.send(behind)  # a node that was stalled has dropped it
        return any(map(is_before_the_wall, diagnostics.messages))

    until(is_told, what='the collision in the diagnostics', period=0.5)

    checker = iks.CollisionChecker(iks.Robot.from_urdf(panda_urdf), missing_meshes='skip')
    checker.add('wall', iks.Box(WALL), rigid_transform(position=place))
    test = checker.for_joints(chain.joint_names)
    commanded = [cell.positions(message) for message in cell.commands.messages]
    assert not any(test.colliding(np.array(commanded)))
    moved = chain.forward(commanded[-1])[0, 3] - cell.pose_beside_ready(0.0, 0.0, 0.0)[0, 3]
    assert moved > 0.02, 'it went as far as it could'
    cell.assert_commands_keep_the_bounds(0.8)

    beside = cell.pose_beside_ready(0.0, 0.1, 0.1)
    cell.begin(beside)
    cell.states.wait(cell.is_at(beside))
    objects.publish(CollisionObject(id='wall', operation=CollisionObject.REMOVE))
    bench.configure('ik_service', **{AVOID: False})
    status(diagnostics, 'following', collision='not avoided')


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


def passed(recorder, count):
    """Wait until so many more messages have come."""
    since = len(recorder)
    until(lambda: len(recorder) > since + count, what='messages')


def following_value(diagnostics, key):
    """A value of the node's status about following; empty in a message of others."""
    for part in diagnostics.status:
        if part.name == 'ik_service: following':
            return {item.key: item.value for item in part.values}[key]
    return ''


def far_and_near(cell):
    """Two targets that are a second of motion apart."""
    return cell.pose_beside_ready(-0.1, 0.45, 0.1), cell.pose_beside_ready(0.05, -0.2, -0.1)


def assert_recovers(cell, target):
    cell.commands.wait()
    cell.states.wait(cell.is_at(target), since=len(cell.states))
    cell.assert_commands_keep_the_bounds(SCALING)


@pytest.mark.parametrize(
    'wrong',
    [
        {'lost_states': 0.6},
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
    with faults(cell, noise=0.03):
        passed(cell.states, 50)  # a motion begins beside the last command where noise is new
        cell.begin(near)
        until_silent(cell.commands)
        measured = np.array([cell.positions(state) for state in cell.states.messages[-20:]])
        assert measured.std(axis=0).max() > 0.01
    assert_recovers(cell, near)


def test_missing_states_stop_the_arm_until_it_is_enabled(cell):
    far, _ = far_and_near(cell)
    since = len(cell.node.output)
    cell.bench.configure('ik_service', velocity_scaling=0.02)  # so slow that it is on its way
    cell.begin(far)
    with faults(cell, lost_states=1.0):
        said(cell, 'the joint states are stale', since)
        cell.bench.configure('ik_service', velocity_scaling=SCALING)
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
        met = diagnostics.wait(lambda m: '/test_client' in following_value(m, 'other commanders'))
        count = int(following_value(met, 'commands of others'))  # with those of other tests
        # To where it is, because the simulated arm obeys, and the bounds count from there.
        other.publish(JointState(name=list(NAMES), position=cell.start.tolist()))
        diagnostics.wait(lambda m: following_value(m, 'commands of others') == str(count + 1))
    finally:
        cell.bench.node.destroy_publisher(other)
    diagnostics.wait(lambda m: following_value(m, 'other commanders') == 'none')
    cell.commands.clear()
    cell.begin(far)
    assert_recovers(cell, far)


def test_a_command_of_another_node_ends_the_motion(cell):
    far, near = far_and_near(cell)
    since = len(cell.node.output)
    cell.begin(far)
    cell.commands.wait(lambda message: any(message.velocity))
    other = publisher(cell, 'joint_command')

    def publish():
        here = cell.commands.messages[-1]
        other.publish(JointState(name=here.name, position=here.position))
        return 'commands the arm too; waiting for a new target' in cell.node.output[since:]

    try:
        until(publish, what='the end of the motion')
    finally:
        cell.bench.node.destroy_publisher(other)
    until_silent(cell.commands)
    assert not cell.is_at(far)(cell.states.messages[-1])
    cell.begin(near)  # as soon as the command counts no more
    assert_recovers(cell, near)


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
            cell.bench.record(DiagnosticArray, 'diagnostics').wait(is_named)
        cell.bench.node.destroy_timer(timer)
    finally:
        cell.bench.node.destroy_publisher(states)
    said(cell, 'the joint states are good again', since)
    cell.commands.clear()
    whole = cell.states.wait(lambda message: NAMES[0] in message.name, since=len(cell.states))
    cell.start = cell.positions(whole)
    cell.begin(far)
    assert_recovers(cell, far)
