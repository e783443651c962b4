"""Following targets, with an arm that obeys at once."""

import math

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from moveit_msgs.srv import GetPositionIK
import numpy as np
from sensor_msgs.msg import JointState
from support.harness import until
from support.ros.cells import until_silent
from support.ros.nodes import Arm, start_panda, status, target
from support.ros.servers import hopeless, ik_request, posture_of


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
    for number in (1, 2):
        targets.publish(bad)
        status(diagnostics, 'following', ignored_targets=f'{number}')
    targets.publish(target(T, 'moon'))
    status(diagnostics, 'following', ignored_targets='3', last_ignored_target='moon')
    assert node.output.count('target_pose ignored: pose.orientation.x is nan') == 1
    assert node.output.count('target_pose ignored') == 2, 'another fault is said too'
    status(diagnostics, 'following', state='REACHED')

    machine.vanish()
    status(diagnostics, 'following', state='STATE_STALE')
    node.wait_for('the joint states are stale', 5.0)
    until_silent(commands)


def test_a_slow_solve_does_not_delay_the_commands(bench, arm):
    node = start_panda(bench, **{'solver.max_searches': 1_000_000})
    start = posture_of(arm, 1)[arm.indices]
    (result,) = bench.set_parameters('ik_service', velocity_scaling=0.02)
    assert result.successful
    commands = bench.record(JointState, 'joint_command', publishers=1)
    Arm(bench, arm.chain.joint_names, start)
    T = arm.chain.forward(arm.chain.mid_range())
    bench.publisher(PoseStamped, 'target_pose').publish(target(T))
    commands.wait()
    client = bench.service_client(GetPositionIK, 'compute_ik')
    request = ik_request(hopeless(), timeout=Duration(sec=30))
    slow = [client.call_async(request) for _ in range(2)]
    since = len(commands)
    until(lambda: len(commands) > since + 150, 20.0, 'the commands of 1.5 s')
    assert not any(future.done() for future in slow)
    node.kill()
    positions = np.array([message.position for message in commands.messages])
    limits = 0.02 * arm.chain.velocity / 100.0 * (1 + 1e-9)
    assert np.all(np.abs(np.diff(positions, axis=0)) <= limits)
    assert np.abs(np.diff(positions, axis=0)).max() > 0.9 * limits.min()


def test_bad_joint_states_are_ignored(bench, arm):
    node = start_panda(bench)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics', publishers=1)
    states = bench.publisher(JointState, 'joint_states')
    good = JointState(name=['panda_joint1'], position=[0.0])
    timer = bench.node.create_timer(0.1, lambda: states.publish(good))
    status(diagnostics, 'following', joints_without_a_joint_state='^panda_joint2')
    timer.cancel()
    for faults, (names, positions) in enumerate(
        [
            (['panda_joint1', 'panda_joint2'], [0.0]),
            (['panda_joint1', 'panda_joint1'], [0.0, 0.1]),
            (['panda_joint1'], [math.nan]),
        ],
        start=1,
    ):
        bad = JointState(name=names, position=positions)
        for _ in range(2):  # each fault is said once
            until(
                lambda bad=bad, faults=faults: (
                    states.publish(bad) or node.output.count('joint state ignored') == faults
                ),
                what='the fault',
            )
    status(diagnostics, 'following', ignored_joint_states=r'^[1-9]\d*$')
    assert node.output.count('joint state ignored') == 3
    node.check()
