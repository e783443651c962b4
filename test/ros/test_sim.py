"""The simulated arm over real DDS: motion, descriptions, services, faults, physics, its hand."""

import math
import signal
import time

from action_msgs.msg import GoalStatus
from control_msgs.action import GripperCommand
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.harness import until
from support.ros.cells import stamp_seconds
from support.ros.nodes import ended, LATCHED
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from ik_service import Robot
from ik_service.ros.common.actions import ThreadSafeActionClient
from ik_service.ros.sim.simulated_arm_node import gripper_joint

SIM = 'ik_service.ros.sim.main'


START = {'panda_joint2': -0.785, 'panda_joint4': -2.356, 'panda_joint6': 1.571}
AT_START = ', '.join(f'{name}={value}' for name, value in START.items())


@pytest.fixture(scope='module')
def shared_sim(shared_bench, panda_urdf):
    """A simulated Panda that the tests share."""
    return shared_bench.start(SIM, urdf=str(panda_urdf), initial_positions=AT_START)


@pytest.fixture(scope='module')
def states(shared_bench, shared_sim):
    """The joint states of the shared simulated Panda."""
    return shared_bench.record(JointState, 'joint_states', publishers=1)


@pytest.fixture
def sim(shared_bench, shared_sim, states):
    """The shared simulated Panda, where it started."""
    assert shared_bench.call(Trigger, 'ik_sim/reset', Trigger.Request()).success
    # For the next 0.5 s it ignores commands, as of those that come late.
    after = 1e-9 * shared_bench.node.get_clock().now().nanoseconds + 0.6
    states.wait(lambda state: stamp_seconds(state.header.stamp) > after, since=len(states))
    states.clear()
    return shared_sim


def position(message, joint='panda_joint2'):
    return message.position[message.name.index(joint)]


def test_publishes_every_movable_joint_at_its_rate(bench, panda_urdf):
    bench.start(SIM, urdf=str(panda_urdf), rate=200.0, initial_positions='panda_joint2=0.5')
    states = bench.record(JointState, 'joint_states')
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
    assert_rate(states, 200.0)


def assert_rate(states, rate):
    """Wait until the shortest times between states are the period; a busy machine omits many."""

    def is_kept():
        stamps = [stamp_seconds(message.header.stamp) for message in states.messages[-200:]]
        shortest = np.percentile(np.diff(stamps), 10) if len(stamps) == 200 else 0.0
        return shortest == pytest.approx(1.0 / rate, rel=0.2)

    until(is_kept, what=f'states at {rate} Hz')


def test_moves_to_a_command_within_the_velocity_limit(shared_bench, sim, states):
    command = shared_bench.publisher(JointState, 'joint_command')
    command.publish(JointState(name=['panda_joint1'], position=[1.0]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 1.0) < 1e-3)
    fastest = max(abs(speed) for message in states.messages for speed in message.velocity)
    assert 2.0 < fastest <= 2.175 * (1.0 + 1e-9)


def test_moves_to_the_end_of_a_trajectory(shared_bench, sim, states):
    command = shared_bench.publisher(JointTrajectory, 'joint_trajectory')
    points = [JointTrajectoryPoint(positions=[0.1]), JointTrajectoryPoint(positions=[0.3])]
    points[1].time_from_start.nanosec = 200_000_000
    command.publish(JointTrajectory(joint_names=['panda_joint3'], points=points))
    states.wait(lambda message: abs(position(message, 'panda_joint3') - 0.3) < 1e-3)


def test_ignores_bad_commands_and_logs_each_fault_once(shared_bench, sim, states):
    command = shared_bench.publisher(JointState, 'joint_command')
    played = shared_bench.publisher(JointTrajectory, 'joint_trajectory')
    points = [JointTrajectoryPoint(positions=[1.0]), JointTrajectoryPoint(positions=[1.0, 2.0])]
    ragged = JointTrajectory(joint_names=['panda_joint1'], points=points)
    start = states.wait().position
    faults = [
        (JointState(name=['panda_joint1', 'nose'], position=[1.0, 1.0]), "unknown joint 'nose'"),
        (JointState(name=['panda_joint1'], position=[math.nan]), 'nan'),
        (JointState(name=['panda_joint1'], position=[1.0, 2.0]), 'names 1 joints, but has 2'),
        (ragged, 'ignored: trajectory, point 1: has 2 positions for 1 joints'),
    ]

    began = time.monotonic()

    def publish():
        for fault, _ in faults:
            (played if fault is ragged else command).publish(fault)
        return True

    until(lambda: publish() and all(text in sim.output for _, text in faults), what='the faults')
    for _ in range(20):
        publish()
    assert states.next().position == start
    command.publish(JointState(name=['panda_joint1'], position=[0.5]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 0.5) < 1e-3)
    times = 1 + (time.monotonic() - began) // 10.0  # a fault that lasts is logged again
    assert 4 <= sim.output.count('ignored') <= 4 * times


def report(diagnostics):
    """Return the values of the next report, and its sentence."""
    (status,) = diagnostics.next().status
    assert status.name == 'ik_sim: simulation'
    return {item.key: item.value for item in status.values}, status.message


def test_reset_and_pause(shared_bench, sim, states):
    bench = shared_bench
    assert 'engine first_order' in sim.output
    command = bench.publisher(JointState, 'joint_command')
    command.publish(JointState(name=['panda_joint2'], position=[0.2]))
    states.wait(lambda message: position(message) > -0.4)
    assert bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=True)).success
    since = len(states)
    until(lambda: len(states) > since + 20, what='states, which are published all the same')
    still = [position(message) for message in states.messages[-10:]]
    assert len(set(still)) == 1
    bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=False))
    states.wait(lambda message: abs(position(message) - 0.2) < 1e-3)
    answer = bench.call(Trigger, 'ik_sim/reset', Trigger.Request())
    assert (answer.success, answer.message) == (True, 'the arm is where it started')
    since = len(states)
    until(lambda: len(states) > since + 20, what='states')
    assert position(states.messages[-1]) == pytest.approx(-0.785, abs=1e-4), 'and stays there'


def test_faults_can_be_changed_and_invalid_ones_are_refused_with_a_reason(
    shared_bench, sim, states
):
    bench = shared_bench
    good = {'faults.noise': 0.01, 'faults.stuck_joint': 'panda_joint1'}
    bench.configure('ik_sim', **good)
    since = len(states)
    until(lambda: len(states) > since + 60, what='states')
    assert np.std([position(message) for message in states.messages[-30:]]) > 0.003
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    values, sentence = report(diagnostics)
    assert values['faults on request'] == 'stuck_joint panda_joint1, noise 0.01'
    assert 'of real time' in sentence
    for name, value, reason in [
        ('faults.noise', 1.0, 'range'),
        ('faults.stuck_joint', 'nose', "unknown joint 'nose'"),
        ('faults.lost_states', -0.5, 'range'),
        ('rate', 50.0, 'read-only'),
    ]:
        (result,) = bench.set_parameters('ik_sim', **{name: value})
        assert not result.successful
        assert reason in result.reason
    assert bench.get_parameters('ik_sim', 'faults.stuck_joint') == ['panda_joint1']
    none = {'faults.noise': 0.0, 'faults.stuck_joint': ''}
    bench.configure('ik_sim', **none)


def test_waits_for_a_description_and_keeps_the_joints_when_it_is_replaced(bench, panda_urdf):
    sim = bench.start(SIM, ready='waiting', initial_positions='panda_joint1=0.25')
    states = bench.record(JointState, 'joint_states')
    description = bench.publisher(String, 'robot_description', LATCHED)
    text = panda_urdf.read_text()
    description.publish(String(data=text))
    assert position(states.wait(), 'panda_joint1') == 0.25
    command = bench.publisher(JointState, 'joint_command')
    command.publish(JointState(name=['panda_joint1'], position=[0.75]))
    states.wait(lambda message: abs(position(message, 'panda_joint1') - 0.75) < 1e-6)

    description.publish(String(data='<robot name="broken"'))
    sim.wait_for('robot_description is ignored', 60.0)
    description.publish(String(data=text.replace('panda_finger', 'other_finger')))
    changed = states.wait(lambda message: 'other_finger_joint1' in message.name)
    assert position(changed, 'panda_joint1') == pytest.approx(0.75, abs=1e-5)


@pytest.mark.parametrize(
    ('parameters', 'complaint'),
    [
        ({'urdf': '/no/such/file.urdf'}, '/no/such/file.urdf'),
        (
            {'initial_positions': 'panda_joint1=0.5, panda_joint4=99'},
            r'initial_positions.panda_joint4: has to be from -3.0718 to -0.0698 \[rad\], not 99',
        ),
        ({'engine': 'warp'}, "engine: has to be one of first_order, mujoco, not 'warp'"),
        ({'faults.stuck_joint': 'nose'}, "unknown joint 'nose'"),
    ],
)
def test_a_wrong_parameter_ends_the_program_with_a_reason(
    bench, panda_urdf, parameters, complaint
):
    sim = bench.start(SIM, ready=None, **{'urdf': str(panda_urdf), **parameters})
    sim.wait_for(complaint, 60.0)
    ended(sim)


def test_a_description_that_does_not_go_with_the_start_is_ignored_with_a_reason(bench, panda_urdf):
    sim = bench.start(SIM, ready='waiting', initial_positions='panda_joint1=4')
    states = bench.record(JointState, 'joint_states')
    description = bench.publisher(String, 'robot_description', LATCHED)
    description.publish(String(data=panda_urdf.read_text()))
    sim.wait_for('robot_description is ignored: initial_positions.panda_joint1: has to be', 60.0)
    assert not states.messages


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_at_once(bench, panda_urdf, number):
    sim = bench.start(SIM, urdf=str(panda_urdf))
    sim.send(number)
    ended(sim, code=0)


def test_two_of_one_name_name_each_other(bench, panda_urdf):
    for simulation in [bench.start(SIM, urdf=str(panda_urdf)) for _ in range(2)]:
        simulation.wait_for('another .*/ik_sim publishes joint_states', 30.0)


def test_reset_without_a_robot_is_refused(bench, ros_context):
    bench.start(SIM, ready='waiting')
    answer = bench.call(Trigger, 'ik_sim/reset', Trigger.Request())
    assert (answer.success, answer.message) == (False, 'there is no robot yet')


def test_physics_at_500_hz_with_velocities_and_efforts(bench, panda_urdf):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    settings = {'engine': 'mujoco', 'rate': 500.0, 'gravity_compensation': 0.5}
    sim = bench.start(SIM, urdf=str(panda_urdf), initial_positions=AT_START, **settings)
    states = bench.record(JointState, 'joint_states')
    until(lambda: len(states) > 150, what='the states of a while')
    state = states.messages[-1]
    efforts = dict(zip(state.name, state.effort, strict=True))
    assert 15.0 < efforts['panda_joint4'] < 30.0, 'it carries the forearm'
    sag = abs(position(state, 'panda_joint4') - START['panda_joint4'])
    assert 1e-3 < sag < 5e-3, 'what is not compensated'
    assert len(state.velocity) == len(state.name)
    sim.wait_for(r'real-time factor \d', 60.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    values, _ = report(diagnostics)
    assert values['engine'] == 'mujoco'
    assert values['faults on request'] == values['last break-down'] == 'none'
    assert float(values['real-time factor']) > 0.0
    assert_rate(states, 500.0)


def test_a_robot_that_mujoco_refuses_ends_the_program_with_a_reason(bench, panda_urdf, tmp_path):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    text = panda_urdf.read_text().replace(
        'name="panda_joint1" type="revolute"', 'name="panda_joint1" type="floating"'
    )
    file = tmp_path / 'floating.urdf'
    file.write_text(text)
    sim = bench.start(SIM, ready=None, urdf=str(file), engine='mujoco')
    sim.wait_for('cannot simulate planar and floating joints; take first_order', 60.0)
    assert 'Traceback' not in sim.output


# Action of its hand, as clients of a gripper_action_controller call it


ACTION = 'gripper_action_controller/gripper_cmd'
FINGER = 'panda_finger_joint1'


class Hand:
    """A simulated Panda and a client of its hand."""

    def __init__(self, bench, sim, states):
        self.bench, self.sim, self.states = bench, sim, states
        self.client = ThreadSafeActionClient(bench.node, GripperCommand, ACTION)
        self.feedback = []
        until(self.client.server_is_ready, what='the action of the hand')

    def send(self, position):
        goal = GripperCommand.Goal()
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

    def wait_for_finger(self, position):
        """Wait for a state with the finger at a position [m]; earlier ones may be on their way."""
        self.states.wait(
            lambda state: abs(state.position[state.name.index(FINGER)] - position) < 1e-3,
            since=len(self.states),
        )


@pytest.fixture
def hand(shared_bench, sim, states):
    hand = Hand(shared_bench, sim, states)
    yield hand
    hand.client.destroy()


def test_the_hand_goes_where_it_is_told_and_says_so(hand):
    for position in (0.0, 0.04, 0.01):
        status, result = hand.end(hand.send(position))
        assert status == GoalStatus.STATUS_SUCCEEDED
        assert result.reached_goal
        assert not result.stalled
        assert result.position == pytest.approx(position, abs=1e-3)
        hand.wait_for_finger(position)
    assert any(0.011 < news.position < 0.039 for news in hand.feedback)


def test_a_hand_that_cannot_get_there_stalls_and_numbers_that_are_none_are_refused(hand):
    hand.end(hand.send(0.0))
    assert hand.bench.call(Trigger, 'ik_sim/reset', Trigger.Request()).success
    status, result = hand.end(hand.send(0.5))  # no command that the reset interrupts
    assert status == GoalStatus.STATUS_ABORTED
    assert result.stalled
    assert not result.reached_goal
    assert result.position == pytest.approx(0.04, abs=1e-3), 'the limit of the finger'
    assert hand.end(hand.send(float('nan')))[0] == GoalStatus.STATUS_ABORTED
    hand.sim.wait_for('command.position is nan; a finite number is right', 60.0)
    hand.wait_for_finger(0.04)


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
