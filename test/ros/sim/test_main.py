import math
import signal
import time

import numpy as np
import pytest
from support.harness import until

SIM = 'ik_service.ros.sim.main'


@pytest.fixture
def messages():
    pytest.importorskip('rclpy')
    from sensor_msgs.msg import JointState
    from std_msgs.msg import String
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

    class Messages:
        state, description, trajectory = JointState, String, JointTrajectory
        point = JointTrajectoryPoint

    return Messages


def position(message, joint):
    return message.position[message.name.index(joint)]


def test_publishes_every_movable_joint_at_its_rate(bench, messages, panda_urdf):
    bench.start(SIM, urdf=str(panda_urdf), rate=200.0, initial_positions='panda_joint2=0.5')
    states = bench.record(messages.state, 'joint_states')
    first = states.wait()
    assert [*first.name] == [
        *(f'panda_joint{number}' for number in range(1, 8)),
        'panda_finger_joint1',
        'panda_finger_joint2',
    ]
    assert position(first, 'panda_joint2') == 0.5
    assert position(first, 'panda_joint4') == pytest.approx((-3.0718 - 0.0698) / 2)
    assert position(first, 'panda_finger_joint2') == position(first, 'panda_finger_joint1')
    assert set(first.velocity) == {0.0}
    time.sleep(1.0)
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in states.messages]
    # The median: on a busy machine some are left out.
    assert np.median(np.diff(stamps)) == pytest.approx(1 / 200.0, rel=0.1)


def test_moves_to_a_command_within_the_velocity_limit(bench, messages, panda_urdf):
    bench.start(SIM, urdf=str(panda_urdf), rate=100.0)
    states = bench.record(messages.state, 'joint_states')
    command = bench.publisher(messages.state, 'joint_command')
    states.wait()
    command.publish(messages.state(name=['panda_joint1'], position=[1.0]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 1.0) < 1e-3)
    fastest = max(abs(speed) for message in states.messages for speed in message.velocity)
    assert 2.0 < fastest <= 2.175 * (1.0 + 1e-9)


def test_moves_to_the_end_of_a_trajectory(bench, messages, panda_urdf):
    bench.start(SIM, urdf=str(panda_urdf))
    states = bench.record(messages.state, 'joint_states')
    command = bench.publisher(messages.trajectory, 'joint_trajectory')
    points = [messages.point(positions=[0.1]), messages.point(positions=[0.3])]
    points[1].time_from_start.nanosec = 200_000_000
    command.publish(messages.trajectory(joint_names=['panda_joint3'], points=points))
    states.wait(lambda message: abs(position(message, 'panda_joint3') - 0.3) < 1e-3)


def test_ignores_bad_commands_and_logs_each_fault_once(bench, messages, panda_urdf):
    sim = bench.start(SIM, urdf=str(panda_urdf))
    states = bench.record(messages.state, 'joint_states')
    command = bench.publisher(messages.state, 'joint_command')
    start = states.wait().position
    # A burst may lose some of its messages.
    command.publish(messages.state(name=['panda_joint1', 'nose'], position=[1.0, 1.0]))
    sim.wait_for("unknown joint 'nose'", 10.0)
    for _ in range(20):
        command.publish(messages.state(name=['panda_joint1'], position=[math.nan]))
        command.publish(messages.state(name=['panda_joint1'], position=[1.0, 2.0]))
    sim.wait_for('names 1 joints, but has 2 positions', 10.0)
    sim.wait_for('nan', 10.0)
    assert sim.output.count('ignored') == 3
    assert states.next().position == start
    command.publish(messages.state(name=['panda_joint1'], position=[0.5]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 0.5) < 1e-3)


def test_waits_for_a_description_and_keeps_the_joints_when_it_is_replaced(
    bench, messages, panda_urdf, ros_context
):
    from ik_service.ros.common.qos import DESCRIPTION_QOS

    sim = bench.start(SIM, ready='waiting', initial_positions='panda_joint1=0.25')
    states = bench.record(messages.state, 'joint_states')
    time.sleep(0.3)
    assert len(states) == 0
    description = bench.publisher(messages.description, 'robot_description', DESCRIPTION_QOS)
    text = panda_urdf.read_text()
    description.publish(messages.description(data=text))
    assert position(states.wait(), 'panda_joint1') == 0.25
    command = bench.publisher(messages.state, 'joint_command')
    command.publish(messages.state(name=['panda_joint1'], position=[0.75]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 0.75) < 1e-6)

    description.publish(messages.description(data='<robot name="broken"'))
    sim.wait_for('robot_description is ignored', 10.0)
    description.publish(messages.description(data=text.replace('panda_finger', 'other_finger')))
    changed = states.wait(lambda message: 'other_finger_joint1' in message.name)
    assert position(changed, 'panda_joint1') == pytest.approx(0.75, abs=1e-5)


@pytest.mark.parametrize(
    ('parameters', 'complaint'),
    [
        ({'urdf': '/no/such/file.urdf'}, '/no/such/file.urdf'),
        ({'initial_positions': 'elbow=1'}, "unknown joint 'elbow'"),
        ({'initial_positions': 'nonsense'}, "initial_positions: .*'nonsense'"),
        (
            {'initial_positions': 'panda_joint1=0.5, panda_joint4=99'},
            r'initial_positions.panda_joint4: has to be from -3.0718 to -0.0698 \[rad\], not 99',
        ),
        ({'initial_positions': 'panda_finger_joint1=-1'}, r'from 0 to 0.04 \[m\], not -1'),
        ({'rate': 501.0}, 'rate: .*out of range'),
        ({'rate': 100}, 'rate: wrong type: has to be a number with a decimal point'),
        ({'engine': 'warp'}, "engine: has to be one of first_order, mujoco, not 'warp'"),
        ({'faults.lost_states': 1.5}, 'faults.lost_states: .*out of range'),
        ({'faults.stuck_joint': 'nose'}, "unknown joint 'nose'"),
    ],
)
def test_a_wrong_parameter_ends_the_program_with_a_reason(
    bench, panda_urdf, parameters, complaint
):
    sim = bench.start(SIM, ready=None, **{'urdf': str(panda_urdf), **parameters})
    sim.wait_for(complaint, 20.0)
    assert until(lambda: sim.exit_code) == 1
    assert 'Traceback' not in sim.output


def test_a_description_that_does_not_go_with_the_start_is_ignored_with_a_reason(
    bench, messages, panda_urdf
):
    from ik_service.ros.common.qos import DESCRIPTION_QOS

    sim = bench.start(SIM, ready='waiting', initial_positions='panda_joint1=4')
    states = bench.record(messages.state, 'joint_states')
    description = bench.publisher(messages.description, 'robot_description', DESCRIPTION_QOS)
    description.publish(messages.description(data=panda_urdf.read_text()))
    sim.wait_for('robot_description is ignored: initial_positions.panda_joint1: has to be', 20.0)
    assert not states.messages


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(bench, panda_urdf, number):
    sim = bench.start(SIM, urdf=str(panda_urdf))
    start = time.monotonic()
    sim.send(number)
    assert until(lambda: sim.exit_code is not None, 10.0)
    assert time.monotonic() - start < 3.0
    assert sim.exit_code == 0
    assert 'Traceback' not in sim.output
