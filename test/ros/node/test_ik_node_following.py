"""Following targets, with an arm that obeys at once."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.harness import until
from support.ros.cells import stamp_seconds
from support.ros.nodes import Arm, ask, LATCHED, NODE, start_panda, status, target, WAITING
from support.ros.servers import hopeless, ik_request, PANDA, posture_of, TIP
from trajectory_msgs.msg import JointTrajectory

from ik_service.ros.requests.errors import ErrorCode


def test_following_a_target(bench, arm):
    node = start_panda(bench, velocity_scaling=1.0, publish_rate=50.0, hold=True)
    names, start = arm.chain.joint_names, posture_of(arm, 1)[arm.indices]
    commands = bench.record(JointState, 'joint_command', publishers=1)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics', publishers=1)
    machine = Arm(bench, names, start)
    status(diagnostics, 'following', joints_without_a_joint_state='none', state='IDLE')
    assert not len(commands)
    T = arm.chain.forward(np.clip(start + 0.3, arm.chain.lower, arm.chain.upper))
    targets = bench.publisher(PoseStamped, 'target_pose')
    targets.publish(target(T, 'panda_link0'))
    status(diagnostics, 'following', state='REACHED')
    np.testing.assert_allclose(arm.chain.forward(machine.q), T, atol=1e-4)
    status(
        diagnostics,
        'last solve',
        **{'last_solve.source': 'target_pose', 'last_solve.status': 'SUCCESS'},
    )
    first = commands.messages[0]
    assert tuple(first.name) == names
    assert first.header.stamp.sec > 0
    steps = arm.chain.velocity / 50.0 * (1 + 1e-9)
    assert np.all(np.abs(np.array(first.position) - start) <= steps)
    positions = np.array([message.position for message in commands.messages])
    assert np.all(np.abs(np.diff(positions, axis=0)) <= steps)

    bad = target(T)
    bad.pose.orientation.x = math.nan
    for _ in range(3):
        targets.publish(bad)
        time.sleep(0.05)  # its queue holds one
    targets.publish(target(T, 'moon'))
    status(diagnostics, 'following', ignored_targets='4', last_ignored_target='moon')
    assert node.output.count('target_pose ignored: pose.orientation.x is nan') == 1
    assert node.output.count('target_pose ignored') == 2, 'another fault is said too'
    status(diagnostics, 'following', state='REACHED')

    machine.vanish()
    status(diagnostics, 'following', state='STATE_STALE')
    node.wait_for('the joint states are stale', 5.0)
    time.sleep(0.2)
    commands.clear()
    time.sleep(0.3)
    assert not len(commands)


@pytest.mark.alone
def test_a_slow_solve_does_not_delay_the_commands(bench, arm):
    start_panda(bench, **{'solver.max_searches': 1_000_000})
    start = posture_of(arm, 1)[arm.indices]
    (result,) = bench.set_parameters('ik_service', velocity_scaling=0.02)
    assert result.successful
    commands = bench.record(JointState, 'joint_command', publishers=1)
    Arm(bench, arm.chain.joint_names, start)
    T = arm.chain.forward(arm.chain.mid_range())
    bench.publisher(PoseStamped, 'target_pose').publish(target(T))
    commands.wait()
    client = bench.service_client(GetPositionIK, 'compute_ik')
    slow = [
        client.call_async(ik_request(hopeless(), timeout=Duration(sec=1, nanosec=500_000_000)))
        for _ in range(2)
    ]
    began = time.time()
    until(lambda: all(future.done() for future in slow), 10.0)
    ended_at = time.time()
    commands.wait(lambda message: stamp_seconds(message.header.stamp) > ended_at)
    # when they were sent: this process may take a burst of them from its queue after a stall
    sent = np.array([stamp_seconds(message.header.stamp) for message in commands.messages])
    times = sent[(began <= sent) & (sent <= ended_at)]
    assert ended_at - began > 1.4
    assert len(times) > 25 * (ended_at - began)  # of 100 a second; 50 on a busy machine
    assert np.diff(times).max() < 0.5
    positions = np.array([message.position for message in commands.messages])
    limits = 0.02 * arm.chain.velocity / 100.0 * (1 + 1e-9)
    assert np.all(np.abs(np.diff(positions, axis=0)) <= limits)
    assert np.abs(np.diff(positions, axis=0)).max() > 0.9 * limits.min()


def test_following_stops_when_the_description_is_replaced(bench, arm):
    node = bench.start(NODE, ready=WAITING, tip_link=TIP)
    descriptions = bench.publisher(String, 'robot_description', LATCHED)
    descriptions.publish(String(data=PANDA.read_text()))
    node.wait_for(r'\bready\b', 120.0)
    start = posture_of(arm, 1)[arm.indices]
    commands = bench.record(JointState, 'joint_command', publishers=1)
    Arm(bench, arm.chain.joint_names, start)
    T = arm.chain.forward(arm.chain.mid_range())
    bench.publisher(PoseStamped, 'target_pose').publish(target(T))
    commands.wait()
    descriptions.publish(String(data=PANDA.read_text() + '<!-- again -->'))
    node.wait_for('new robot description', 30.0)
    time.sleep(0.3)
    positions = np.array([message.position for message in commands.messages])
    limits = 0.5 * arm.chain.velocity / 100.0 * (1 + 1e-9)
    assert np.all(np.abs(np.diff(positions, axis=0)) <= limits)
    count = len(commands)
    time.sleep(0.3)
    assert len(commands) == count
    assert ask(bench, ik_request(T)).error_code.val == ErrorCode.SUCCESS


def test_commands_as_trajectories(bench, arm):
    start_panda(bench, command_interface='joint_trajectory')
    commands = bench.record(JointTrajectory, 'joint_trajectory', publishers=1)
    start = posture_of(arm, 1)[arm.indices]
    Arm(bench, arm.chain.joint_names, start)
    T = arm.chain.forward(arm.chain.mid_range())
    bench.publisher(PoseStamped, 'target_pose').publish(target(T))
    message = commands.wait()
    assert tuple(message.joint_names) == arm.chain.joint_names
    np.testing.assert_allclose(message.points[0].positions, start, atol=0.05)


def test_bad_joint_states_are_ignored(bench, arm):
    node = start_panda(bench)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics', publishers=1)
    states = bench.publisher(JointState, 'joint_states')
    good = JointState(name=['panda_joint1'], position=[0.0])
    timer = bench.node.create_timer(0.1, lambda: states.publish(good))
    status(diagnostics, 'following', joints_without_a_joint_state='^panda_joint2')
    timer.cancel()
    for message in [
        JointState(name=['mast'], position=[0.0]),
        JointState(name=['panda_joint1', 'panda_joint2'], position=[0.0]),
        JointState(name=['panda_joint1', 'panda_joint1'], position=[0.0, 0.1]),
        JointState(name=['panda_joint1'], position=[math.nan]),
    ]:
        for _ in range(5):  # best effort: one may be lost
            states.publish(message)
            time.sleep(0.02)
    entry = status(diagnostics, 'following', ignored_joint_states=r'\d{1,2}')
    ignored = next(v.value for v in entry.values if v.key == 'ignored joint states')
    assert 12 <= int(ignored) <= 15
    assert node.output.count('joint state ignored') == 3, 'each fault, once'
    node.check()
