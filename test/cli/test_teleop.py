"""The program ik_teleop."""

from argparse import ArgumentTypeError
from contextlib import suppress
import os
import pty
import signal
import subprocess
import sys
import termios
from types import SimpleNamespace
from unittest.mock import patch

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import ServoStatus
from support.harness import START_TIMEOUT, until

from ik_service.cli.teleop import (
    Joystick,
    Keys,
    line,
    Motion,
    parse,
    parse_axes,
    Session,
    SPEEDS,
)


def test_a_key_counts_while_it_repeats_and_no_longer():
    keys = Keys(0.5)
    keys.press('w', 0.0)
    assert keys.motion(0.05).twist == (0.5, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert keys.motion(0.3) is None, 'the keyboard has not repeated it yet'
    for at in (0.5, 0.53, 0.56):
        keys.press('w', at)
    assert keys.motion(0.65) is not None
    assert keys.motion(0.75) is None


def test_joints_go_forwards_and_backwards():
    keys = Keys(1.0)
    keys.press('3', 0.0)
    motion = keys.motion(0.0)
    assert (motion.joint, motion.speed) == (2, 1.0)
    keys.press('v', 0.1)
    assert keys.motion(0.1) is None, 'another direction needs another press'
    keys.press('3', 0.2)
    assert keys.motion(0.2).speed == -1.0


def test_the_axes_shown_are_those_of_the_base_where_no_tip_is_known():
    keys = Keys(1.0)
    keys.press('t', 0.0)
    assert 'axes of the base' in line('at rest', keys, '', tip_link='')
    assert 'axes of the tip' in line('at rest', keys, '', tip_link='hand')


def test_space_and_every_other_key_stop_and_speeds_have_ends():
    keys = Keys(0.2)
    keys.press('w', 0.0)
    assert keys.press(' ', 0.01)
    assert keys.motion(0.02) is None
    assert not keys.press('x', 0.03)
    for _ in range(20):
        keys.press('+', 0.1)
    assert keys.speed == SPEEDS[-1] == 1.0
    for _ in range(20):
        keys.press('-', 0.1)
    assert keys.speed == SPEEDS[0] > 0.0


@pytest.fixture
def joystick():
    return Joystick(parse_axes('x=1,y=-0,yaw=2'), deadman=1)


def test_a_joystick_moves_the_arm_only_with_its_button_held(joystick):
    assert 'joy_node' in joystick.fault
    joystick.take([-1.0, 1.0, 0.5], [0, 0], 0.0)
    assert joystick.motion(0.0, 0.5) is None
    joystick.take([-1.0, 1.0, 0.05], [0, 1], 0.0)
    assert joystick.motion(0.1, 0.5).twist == (0.5, 0.5, 0.0, 0.0, 0.0, 0.0)
    assert joystick.motion(1.0, 0.5) is None, 'it has fallen silent'
    assert not joystick.fault


def test_a_joystick_without_the_axes_or_the_button_is_said(joystick):
    joystick.take([0.0], [0, 1], 0.0)
    assert 'there is no number 2' in joystick.fault
    assert joystick.motion(0.0, 0.5) is None
    joystick.take([0.0, 0.0, float('nan')], [1], 0.0)
    assert '1 buttons' in joystick.fault


def test_a_deflection_that_is_no_number_counts_as_none(joystick):
    joystick.take([float('nan'), float('inf'), 9.0], [0, 1], 0.0)
    assert joystick.motion(0.0, 0.5).twist == (0.0, 0.0, 0.0, 0.0, 0.0, 0.5)


@pytest.mark.parametrize('text', ['w=1', 'x', 'x=one', 'x=1;y=2', 'x=1,x=2', ''])
def test_axes_that_cannot_be_are_named(text):
    with pytest.raises(ArgumentTypeError):
        parse_axes(text)


def test_a_button_that_cannot_be_is_refused(capsys):
    with pytest.raises(SystemExit):
        parse(['--joy', '--deadman', '-2'])
    assert 'has to be -1 at least, not -2' in capsys.readouterr().err


@pytest.mark.parametrize('speed', ['x', '0', '-0.1', '1.5', 'nan', ''])
def test_a_speed_that_is_no_share_is_refused(speed, capsys):
    with pytest.raises(SystemExit):
        parse(['--speed', speed])
    assert f'--speed: has to be above 0, 1 at most, not {speed}' in capsys.readouterr().err


pytestmark = pytest.mark.dds


class Terminal:
    """The program in a terminal of its own."""

    def __init__(self, bench, *words):
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        code = 'import sys; from ik_service.cli.programs import ik_teleop; sys.exit(ik_teleop())'
        names = ['--ros-args', '-r', f'__ns:={bench.namespace}']
        self.process = subprocess.Popen(
            [sys.executable, '-c', code, *words, *names], stdin=slave, stdout=slave, stderr=slave
        )
        self.slave = slave
        self.output = ''
        os.set_blocking(self.master, False)

    def press(self, keys):
        os.write(self.master, keys.encode())

    def has_shown(self, text):
        with suppress(BlockingIOError):
            self.output += os.read(self.master, 65536).decode(errors='ignore')
        return text in self.output

    def wait_for(self, text):
        until(lambda: self.has_shown(text), START_TIMEOUT, f'{text!r} in the terminal')

    def end(self):
        """Wait for the end; return the exit code, and whether the terminal is as before."""
        until(lambda: (self.has_shown(''), self.process.poll() is not None)[1], what='the end')
        return self.process.returncode, termios.tcgetattr(self.slave) == self.before

    def close(self):
        self.process.terminate()  # killed, it can crash the client: a fault of Fast DDS 2.14
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(START_TIMEOUT)
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal(bench):
    opened = []

    def start(*words):
        opened.append(Terminal(bench, *words))
        return opened[-1]

    yield start
    for terminal in opened:
        terminal.close()


@pytest.fixture
def twists(bench):
    from geometry_msgs.msg import TwistStamped

    return bench.record(TwistStamped, 'delta_twist_cmds')


def test_keys_move_the_arm_while_they_are_held_and_q_restores_the_terminal(terminal, twists):
    program = terminal('--speed', '0.5')
    program.wait_for('ready')
    assert not twists.messages, 'nothing is sent before a key is pressed'
    program.press('w')
    moving = twists.wait(lambda message: message.twist.linear.x == 0.5)
    assert moving.header.stamp.sec > 0
    twists.wait(lambda message: message.twist.linear.x == 0.0)
    silent = len(twists)
    program.press('+j')
    twists.wait(lambda message: message.twist.angular.z == 0.75, since=silent)
    twists.wait(lambda message: message.twist.angular.z == 0.0, since=silent)
    silent = len(twists)
    program.press('?')
    program.wait_for('space  stop')
    assert len(twists) == silent
    program.press('q')
    assert program.end() == (0, True)


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_a_signal_restores_the_terminal(terminal, number):
    program = terminal()
    program.wait_for('no node')
    program.process.send_signal(number)
    assert program.end() == (0, True)
    assert 'Traceback' not in program.output


def test_keys_arrive_at_once_again_after_the_program_was_suspended(terminal):
    program = terminal()
    program.wait_for('no node')
    termios.tcsetattr(program.slave, termios.TCSANOW, program.before)  # as a shell does
    program.process.send_signal(signal.SIGCONT)
    until(lambda: not termios.tcgetattr(program.slave)[3] & termios.ICANON)
    program.press('q')
    assert program.end() == (0, True)


def test_a_joint_is_stopped_by_a_command_for_joints():
    sent = []
    client = SimpleNamespace(
        send_twist=lambda twist, in_tip: sent.append(twist),
        send_joint=lambda joint, speed: sent.append((joint, speed)),
    )
    session = Session(parse([])[0])
    for motion in (Motion(joint=2, speed=0.5), None, None, Motion((0.1, *[0.0] * 5)), None, None):
        session._send(client, motion)
    assert sent == [(2, 0.5), (2, 0.0), (0.1, *[0.0] * 5), (0.0,) * 6]


def test_a_node_that_sends_no_status_is_said(bench):
    from rcl_interfaces.srv import GetParameters
    from rclpy.parameter import Parameter
    from rclpy.task import Future

    from ik_service.ros.clients import teleop_client

    node, now = bench.node, SimpleNamespace(monotonic=lambda: now.at, at=100.0)
    with patch.object(teleop_client, 'time', now):
        client = teleop_client.TeleopClient(node)
        bench.record(TwistStamped, 'delta_twist_cmds')
        until(lambda: client.status == 'ready')
        client.send_twist((0.0,) * 6, in_tip=False)
        assert client.status == 'ready'
        now.at += 1.1
        assert client.status == 'no status comes from the node'
        client._on_status(ServoStatus(message='no warnings'))
        assert client.status == 'no warnings'
        answer, units = Future(), client._linear
        values = [Parameter('a', value=value) for value in ('speed_units', 1.0, None, 1.0)]
        values = [value.get_parameter_value() for value in values]
        answer.set_result(GetParameters.Response(values=values))
        client._on_parameters(answer)
        assert client._linear == units, 'of a node that has not all of the units'


def test_without_a_node_it_says_what_may_be_wrong(terminal):
    program = terminal()
    program.wait_for('nobody listens to')
    program.press('q')
    program.wait_for('ROS_DOMAIN_ID')
    assert program.end()[0] == 0


def test_a_joystick_drives_without_a_terminal(bench, twists):
    from sensor_msgs.msg import Joy

    program = bench.start(
        'ik_service.cli.programs', 'ik_teleop', '--joy', '--deadman', '0', ready=None
    )
    joy = bench.publisher(Joy, 'joy', timeout=START_TIMEOUT)
    held = Joy(axes=[0.0, 1.0, 0.0, 0.0, 0.0], buttons=[1])

    def drives():
        joy.publish(held)
        return any(message.twist.linear.x > 0.1 for message in twists.messages)

    until(drives, START_TIMEOUT, 'a twist')
    assert program.end() == 0


def test_joints_of_the_node_are_driven_by_number_and_in_its_units(bench, terminal, panda_urdf):
    from control_msgs.msg import JointJog
    from support.ros.nodes import start_panda

    start_panda(bench, command_in_type='speed_units', **{'scale.joint': 0.3})
    jogs = bench.record(JointJog, 'delta_joint_cmds')
    program = terminal()
    program.wait_for('ready')

    def driven():
        program.press('3')
        program.has_shown('')
        return any(
            message.joint_names == ['panda_joint3'] and message.velocities[0] == 0.2 * 0.3
            for message in jogs.messages
        )

    until(driven, START_TIMEOUT, 'a motion of the joint, in the units of the node')


def test_without_a_terminal_it_says_so(bench):
    done = subprocess.run(
        [sys.executable, '-m', 'ik_service.cli.programs', 'ik_teleop'],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert 'read from a terminal; --joy' in done.stderr
