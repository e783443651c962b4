"""Services, faults, diagnostics and physics of the simulated arm over real DDS."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

SIM = 'ik_service.ros.sim.main'
START = {'panda_joint2': -0.785, 'panda_joint4': -2.356, 'panda_joint6': 1.571}


def start(bench, panda_urdf, **parameters):
    positions = ', '.join(f'{name}={value}' for name, value in START.items())
    parameters = {'initial_positions': positions, **parameters}
    sim = bench.start(SIM, urdf=str(panda_urdf), **parameters)
    states = bench.record(JointState, 'joint_states')
    states.wait()
    return sim, states


def position(message, joint='panda_joint2'):
    return message.position[message.name.index(joint)]


def report(diagnostics, timeout=5.0):
    """Return the values of the next report, and its sentence."""
    (status,) = diagnostics.next(timeout).status
    assert status.name == 'ik_sim: simulation'
    return {item.key: item.value for item in status.values}, status.message


def test_reset_and_pause(bench, panda_urdf):
    sim, states = start(bench, panda_urdf)
    assert 'engine first_order' in sim.output
    command = bench.publisher(JointState, 'joint_command')
    command.publish(JointState(name=['panda_joint2'], position=[0.2]))
    states.wait(lambda message: position(message) > -0.4)
    assert bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=True)).success
    time.sleep(0.1)
    states.clear()
    time.sleep(0.3)
    still = {position(message) for message in states.messages}
    assert len(states) > 10, 'states are published all the same'
    assert len(still) == 1
    bench.call(SetBool, 'ik_sim/pause', SetBool.Request(data=False))
    states.wait(lambda message: abs(position(message) - 0.2) < 1e-3)
    answer = bench.call(Trigger, 'ik_sim/reset', Trigger.Request())
    assert (answer.success, answer.message) == (True, 'the arm is where it started')
    time.sleep(0.3)
    assert position(states.next()) == pytest.approx(-0.785, abs=1e-4), 'and stays there'


def test_reset_without_a_robot_is_refused(bench, ros_context):
    bench.start(SIM, ready='waiting')
    answer = bench.call(Trigger, 'ik_sim/reset', Trigger.Request())
    assert (answer.success, answer.message) == (False, 'there is no robot yet')


def test_physics_at_500_hz_with_velocities_and_efforts(bench, panda_urdf):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    sim, states = start(bench, panda_urdf, engine='mujoco', rate=500.0, gravity_compensation=0.5)
    time.sleep(0.3)
    state = states.next()
    efforts = dict(zip(state.name, state.effort, strict=True))
    assert 15.0 < efforts['panda_joint4'] < 30.0, 'it carries the forearm'
    sag = abs(position(state, 'panda_joint4') - START['panda_joint4'])
    assert 1e-3 < sag < 5e-3, 'what is not compensated'
    assert len(state.velocity) == len(state.name)
    sim.wait_for(r'real-time factor \d', 20.0)
    diagnostics = bench.record(DiagnosticArray, 'diagnostics')
    values, _ = report(diagnostics)
    assert values['engine'] == 'mujoco'
    assert values['faults on request'] == values['last break-down'] == 'none'
    assert float(values['real-time factor']) > 0.5
    states.clear()
    time.sleep(1.0)
    stamps = [m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in states.messages]
    # On a busy machine many are left out.
    assert np.percentile(np.diff(stamps), 10) == pytest.approx(1 / 500.0, rel=0.2)


def test_faults_can_be_changed_and_invalid_ones_are_refused_with_a_reason(bench, panda_urdf):
    _, states = start(bench, panda_urdf)
    good = {'faults.noise': 0.01, 'faults.stuck_joint': 'panda_joint1'}
    assert all(result.successful for result in bench.set_parameters('ik_sim', **good))
    time.sleep(0.2)
    states.clear()
    time.sleep(0.3)
    assert np.std([position(message) for message in states.messages]) > 0.003
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


def test_a_robot_that_mujoco_refuses_ends_the_program_with_a_reason(bench, panda_urdf, tmp_path):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    text = panda_urdf.read_text().replace(
        'name="panda_joint1" type="revolute"', 'name="panda_joint1" type="floating"'
    )
    file = tmp_path / 'floating.urdf'
    file.write_text(text)
    sim = bench.start(SIM, ready=None, urdf=str(file), engine='mujoco')
    sim.wait_for('cannot simulate planar and floating joints; take first_order', 20.0)
    assert 'Traceback' not in sim.output
