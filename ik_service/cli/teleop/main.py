"""Main function of ``ik_teleop``: an arm driven by hand, with the keyboard or a joystick."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, ExitStack
from math import nan
import os
import select
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

from ik_service.cli.interrupts import check_interrupts
from ik_service.cli.ros_arguments import split_ros_arguments
from ik_service.cli.teleop.joystick import DEFAULT_AXES, DEFAULT_DEADMAN, Joystick, parse_axes
from ik_service.cli.teleop.keys import DEFAULT_SPEED, Keys, Motion
from ik_service.cli.teleop.text import KEYS_TEXT, line, motion_text, say, show
from ik_service.common.ros_installation import require_ros
from ik_service.exceptions import IkServiceError

if TYPE_CHECKING:
    from ik_service.ros.servo.teleop_client import TeleopClient


_ESCAPE = '\x1b'


@contextmanager
def single_keys() -> Iterator[None]:
    """Let keys arrive at once and unseen for the time of a ``with`` block."""
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C stays one
        yield
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def keys_within(seconds: float) -> str | None:
    """
    Return the keys that were pressed, waiting for the first; without those of the cursor.

    :param seconds: how long to wait [s].
    :returns: the characters; None when the terminal has gone.
    """
    descriptor = sys.stdin.fileno()
    if not select.select([descriptor], [], [], seconds)[0]:
        return ''
    try:
        read = os.read(descriptor, 1024)
    except OSError:
        return None
    if not read:
        return None
    text = read.decode(errors='ignore')
    return text.partition(_ESCAPE)[0]


_EPILOG = f"""
keys:
{KEYS_TEXT}

--ros-args at the end leads to other names, such as those of MoveIt Servo:

  ik_teleop --speed 0.1
  ik_teleop --joy --axes x=1,y=0,z=4,yaw=3 --deadman 4
  ik_teleop --ros-args -r __ns:=/servo_node
"""


def parse(arguments: Sequence[str]) -> tuple[Namespace, list[str]]:
    """
    Return the options, and the arguments for ROS.

    :param arguments: the command line after the program's name.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    own, ros = split_ros_arguments(arguments)
    parser = ArgumentParser(
        prog='ik_teleop',
        description='Drives an arm by hand: publishes delta_twist_cmds and delta_joint_cmds for '
        'ik_node.',
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--speed',
        type=_share,
        default=DEFAULT_SPEED,
        help='share of the full speed to begin with (default: %(default)g)',
    )
    parser.add_argument(
        '--tip-link',
        default='',
        metavar='LINK',
        help='link whose axes t switches to (default: the tip of the node)',
    )
    parser.add_argument('--joy', action='store_true', help='a joystick, from the topic joy, too')
    parser.add_argument(
        '--axes',
        type=parse_axes,
        default=DEFAULT_AXES,
        metavar='AXES',
        help='numbers of the axes of the joystick that move along x, y, z and about them, roll, '
        'pitch, yaw; a minus reverses one (default: %(default)s)',
    )
    parser.add_argument(
        '--deadman',
        type=int,
        default=DEFAULT_DEADMAN,
        metavar='BUTTON',
        help='number of the button that has to be held; -1: none (default: %(default)s)',
    )
    return parser.parse_args(own), ros


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = nan
    if not 0.0 < value <= 1.0:
        raise ArgumentTypeError(f'has to be above 0, 1 at most, not {text}')
    return value


_PERIOD = 0.02  # between two commands [s]
_SHOWN_EVERY = 0.2  # [s]
_REST = Motion()


class NoTerminalError(IkServiceError):
    """There is neither a keyboard nor a joystick."""


def main(arguments: Sequence[str]) -> int:
    """
    Run the program until ``q`` or Ctrl-C.

    :param arguments: the command line after the program's name.
    :returns: the exit code: 0.
    :raises IkServiceError: there is no terminal, or no ROS 2.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    options, ros_arguments = parse(arguments)
    keyboard = sys.stdin.isatty()
    if not (keyboard or options.joy):
        raise NoTerminalError('the keyboard is read from a terminal; --joy takes a joystick')
    require_ros()
    from ik_service.ros.servo.teleop_client import teleop_client

    session = Session(options)
    on_joystick = session.on_joystick if options.joy else None
    with ExitStack() as stack:
        client = stack.enter_context(teleop_client(ros_arguments, on_joystick))
        client.tip_link = options.tip_link
        if keyboard:
            say(KEYS_TEXT)
            stack.enter_context(single_keys())
        session.run(client, keyboard)
    say('')
    return 0


class Session:
    """
    Keys and joystick turned into commands.

    :param options: the options of the command line.
    """

    def __init__(self, options: Namespace) -> None:
        self._keys = Keys(options.speed)
        self._joystick = Joystick(options.axes, options.deadman) if options.joy else None
        self._moved = False
        self._said = ''
        self._shown_at = -float('inf')

    def on_joystick(self, axes: Sequence[float], buttons: Sequence[int]) -> None:
        """
        Take in a message of the joystick.

        :param axes: deflections, −1 to 1.
        :param buttons: 1 for those that are pressed.
        """
        assert self._joystick is not None
        self._joystick.take(axes, buttons, time.monotonic())

    def run(self, client: TeleopClient, keyboard: bool) -> None:
        """
        Send commands until ``q``, or the end of the terminal.

        :param client: sends them.
        :param keyboard: whether there is a terminal.
        """
        while True:
            check_interrupts()
            pressed = self._pressed(keyboard)
            now = time.monotonic()
            if pressed is None or 'q' in pressed:
                self._send(client, None)
                return
            for key in pressed:
                if key == '?' or not self._keys.press(key, now):
                    say(KEYS_TEXT)
            motion = self._keys.motion(now) or self._joystick_motion(now)
            self._send(client, motion)
            self._show(client, motion, now)

    def _pressed(self, keyboard: bool) -> str | None:
        if keyboard:
            return keys_within(_PERIOD)
        time.sleep(_PERIOD)
        return ''

    def _joystick_motion(self, now: float) -> Motion | None:
        joystick = self._joystick
        return None if joystick is None else joystick.motion(now, self._keys.speed)

    def _send(self, client: TeleopClient, motion: Motion | None) -> None:
        """Send a motion; once one more, that asks for rest, and then nothing."""
        if motion is None:
            if self._moved:
                client.send_twist(_REST.twist, False)
            self._moved = False
            return
        self._moved = True
        if motion.joint >= 0:
            client.send_joint(motion.joint, motion.speed)
        else:
            client.send_twist(motion.twist, self._keys.in_tip)

    def _show(self, client: TeleopClient, motion: Motion | None, now: float) -> None:
        if now - self._shown_at < _SHOWN_EVERY:
            return
        self._shown_at = now
        fault = self._fault(client)
        if fault and fault != self._said:
            say(fault)
        self._said = fault
        show(line(motion_text(motion, client.joints), self._keys, client.status))

    def _fault(self, client: TeleopClient) -> str:
        """Return what is wrong, as a sentence; empty for nothing."""
        if self._keys.in_tip and not client.tip_link:
            return 'the tip is not known: --tip-link names it; the axes are those of the base'
        joystick = self._joystick.fault if self._joystick is not None else ''
        return joystick or client.fault
