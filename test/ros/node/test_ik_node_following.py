"""Following targets, with an arm that obeys at once, and named causes why it does not move."""

import math
import re

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from support.harness import until
from support.ros.cells import NAMES, NODE, READY, times_between, until_silent
from support.ros.nodes import Arm, start_panda, status, target
from support.ros.servers import PANDA, posture_of, TIP
from support.ros.trajectories import AWAY, message, Player, smooth

from ik_service.ros.common.conversions import pose_from_matrix


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
    (refused,) = bench.set_parameters('ik_service', use_sim_time=True)
    assert refused.reason.startswith('use_sim_time: cannot change while commands are sent')
    status(
        diagnostics,
        'last solve',
        **{'last_solve.source': 'target_pose', 'last_solve.status': 'SUCCESS'},
    )
    messages = commands.messages
    assert tuple(messages[0].name) == names
    assert messages[0].header.stamp.sec > 0
    positions = np.array([start, *(message.position for message in messages)])
    steps = arm.chain.velocity * times_between(messages, 0.02)
    assert np.all(np.abs(np.diff(positions, axis=0)) <= steps * (1 + 1e-9))

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
    node.wait_for('the joint states are stale', 60.0)
    until_silent(commands)


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


@pytest.mark.parametrize('how', ['locked', 'free'])
def test_a_hanging_middleware_is_told_on_stderr(bench, how):
    node = bench.start(
        'support.programs.hanging_node', environment={'HANGS': how}, urdf=str(PANDA), tip_link=TIP
    )
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    Arm(bench, NAMES, READY)
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    T = np.diag([1.0, -1.0, -1.0, 1.0])
    T[:3, 3] = 0.5, 0.0, 0.4
    bench.publisher(PoseStamped, 'target_pose').publish(target(T))
    if how == 'free':
        node.wait_for('the middleware did not accept a command for 0.', 60.0)
        node.wait_for('in publish', 60.0)
        node.wait_for(r'a command for [1-9][0-9.]* s; it goes on now', 60.0)
        status(diagnostics, 'motions', stalls_of_the_commands='^1$')
    else:
        node.wait_for('ik_node: no thread has run for .* and no command was sent', 60.0)
        node.wait_for('ik_node: threads run again, after [1-9]', 60.0)
    node.wait_for('FASTDDS_BUILTIN_TRANSPORTS=UDPv4', 60.0)


def test_names_that_match_no_joint_are_named_with_the_nearest(bench):
    node = start_panda(bench)
    Arm(bench, [f'left_{name}' for name in NAMES], READY)
    meant = r"'left_panda_joint1' \(is panda_joint1 meant\?\)"
    node.wait_for(f'joint_states name {meant}', 60.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'following', joint_states=meant)
    for goal in (Player(bench).follow(smooth()), Player(bench).execute(smooth())):
        end, result = goal.result()
        assert end == 'aborted'
        text = getattr(result, 'error_string', '') or result.error_code.message
        assert re.search(meant, text), text


def test_a_velocity_limit_of_0_is_named_where_it_stops_a_motion(bench, tmp_path):
    text = PANDA.read_text()
    joint = text.index('<joint name="panda_joint2"')
    limit = re.compile(r'velocity="[^"]*"').search(text, joint)
    urdf = tmp_path / 'held.urdf'
    urdf.write_text(text[: limit.start()] + 'velocity="0"' + text[limit.end() :])
    node = bench.start(NODE, urdf=str(urdf), tip_link=TIP)
    node.wait_for(r'velocity limit is 0: panda_joint2 \(velocity="0" in the robot desc', 60.0)
    Arm(bench, NAMES, READY)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    status(diagnostics, 'following', joints_without_a_joint_state='none')
    for trajectory in (smooth(), message([2.0], [AWAY])):
        end, result = Player(bench).follow(trajectory).result()
        assert end == 'aborted'
        wanted = 'joint \'panda_joint2\': .*velocity="0" in the robot description'
        assert re.search(wanted, result.error_string), result.error_string
    target = PoseStamped(pose=pose_from_matrix(np.diag([1.0, -1.0, -1.0, 1.0])))
    target.pose.position.x, target.pose.position.z = 0.75, 0.0  # with panda_joint2 only
    bench.publisher(PoseStamped, 'target_pose').publish(target)
    held = 'not moved: panda_joint2, whose velocity limit is 0'
    node.wait_for(f'target_pose cannot be reached: .*{held}', 10.0)
    status(diagnostics, 'following', target=held)
