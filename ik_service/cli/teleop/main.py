"""Main function of ``ik_teleop``: an arm driven by hand, with the keyboard or a joystick."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack
import math
from math import nan
import os
import select
import shutil
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

from ik_service.cli.interrupts import check_interrupts
from ik_service.cli.ros_arguments import split_ros_arguments
from ik_service.cli.teleop.keys import AXIS_NAMES, DEFAULT_SPEED, Keys, Motion
from ik_service.common.ros_installation import require_ros
from ik_service.exceptions import IkServiceError

if TYPE_CHECKING:
    from ik_service.ros.motion.servo.teleop_client import TeleopClient


KEYS_TEXT = """\
   w / s  forward, back  (x)        u / o  roll   (about x)     1 … 9  joints
   a / d  left, right    (y)        i / k  pitch  (about y)     v      joints backwards
   r / f  up, down       (z)        j / l  yaw    (about z)     space  stop
   + / -  speed                     t      axes of base or tip  ?      these keys
   q      quit                      The arm moves while a key is held."""


def motion_text(motion: Motion | None, joints: tuple[str, ...]) -> str:
    """
    Return a motion in words.

    :param motion: the motion; None for none.
    :param joints: names of the joints.
    """
    if motion is None:
        return 'at rest'
    if motion.joint >= 0:
        name = joints[motion.joint] if motion.joint < len(joints) else f'joint {motion.joint + 1}'
        return f'{name} {"+" if motion.speed > 0 else "−"}'
    parts = [
        f'{name} {"+" if value > 0 else "−"}'
        for name, value in zip(AXIS_NAMES, motion.twist, strict=True)
        if value
    ]
    return ', '.join(parts) or 'at rest'


def line(motion: str, keys: Keys, status: str) -> str:
    """
    Return the line about what happens.

    :param motion: the motion in words.
    :param keys: speed and axes.
    :param status: what the node says, or what is wrong.
    """
    axes = 'tip' if keys.in_tip else 'base'
    return f'{motion:<14}  {100 * keys.speed:3.0f} %  axes of the {axes:<4}  {status}'


def show(text: str) -> None:
    """
    Show a line in place of the one before; without a terminal, nothing.

    :param text: the line.
    """
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f'\r\033[K{text[:width]}', end='', flush=True)


def say(text: str) -> None:
    """
    Print lines that stay.

    :param text: the lines.
    """
    clear = '\r\033[K' if sys.stdout.isatty() else ''
    print(f'{clear}{text}', flush=True)


AXIS_WORDS = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
DEFAULT_AXES = 'x=1,y=0,z=4,yaw=3'
"""Both sticks of a gamepad, as the driver ``joy`` numbers them: left x and y, right z and yaw."""

DEFAULT_DEADMAN = 4
"""Button above the left trigger of most gamepads."""

_DEAD_ZONE = 0.08
"""Deflection of an axis below which it counts as centred."""

_LONGEST = 0.25
"""Time for which a message counts [s]; the driver repeats it more often."""


def parse_axes(text: str) -> dict[int, tuple[int, float]]:
    """
    Return which axis of a joystick moves what.

    :param text: such as ``'x=1,y=-0,yaw=3'``: number of the axis, with a minus to reverse it.
    :returns: number of the axis and its sign, by the place in a twist.
    :raises argparse.ArgumentTypeError: naming the part that cannot be.
    """
    axes = {}
    for part in text.split(','):
        word, _, number = part.strip().partition('=')
        if word not in AXIS_WORDS or not number.lstrip('-').isdecimal():
            raise ArgumentTypeError(
                f'{part.strip()!r} is not one of {", ".join(AXIS_WORDS)} with the number of an '
                f'axis, such as x=1, or x=-1 to reverse it'
            )
        sign = -1.0 if number.startswith('-') else 1.0
        axes[AXIS_WORDS.index(word)] = int(number.lstrip('-')), sign
    return axes


class Joystick:
    """
    State of a joystick.

    :param axes: number and sign of the joystick's axis by the place in a twist.
    :param deadman: number of the button that has to be held; −1 for none.
    :ivar fault: what is wrong with its messages; empty for nothing.
    """

    def __init__(self, axes: Mapping[int, tuple[int, float]], deadman: int) -> None:
        self._axes, self._deadman = axes, deadman
        self._values: Sequence[float] = ()
        self._held = False
        self._at = -math.inf
        self.fault = (
            'no message on the topic joy yet: is the driver running (ros2 run joy joy_node)?'
        )

    def take(self, axes: Sequence[float], buttons: Sequence[int], now: float) -> None:
        """
        Take in a message of the driver.

        :param axes: deflections, −1 to 1.
        :param buttons: 1 for those that are pressed.
        :param now: on a monotonic clock [s].
        """
        wanted = max((number for number, _ in self._axes.values()), default=-1)
        self.fault = ''
        if wanted >= len(axes):
            self.fault = f'the joystick has {len(axes)} axes, and there is no number {wanted}'
        elif self._deadman >= len(buttons):
            self.fault = (
                f'the joystick has {len(buttons)} buttons, and there is no number {self._deadman}'
            )
        self._values, self._at = tuple(axes), now
        self._held = not self.fault and (self._deadman < 0 or bool(buttons[self._deadman]))

    def motion(self, now: float, speed: float) -> Motion | None:
        """
        Return what is asked for; None while the button is not held.

        :param now: on the clock of :meth:`take` [s].
        :param speed: share of the full speed for a full deflection.
        """
        if not self._held or now - self._at > _LONGEST:
            return None
        twist = [0.0] * 6
        for place, (number, sign) in self._axes.items():
            twist[place] = sign * speed * _beyond_dead_zone(self._values[number])
        return Motion(tuple(twist))


def _beyond_dead_zone(deflection: float) -> float:
    """Return a deflection without the dead zone, still −1 to 1."""
    if not math.isfinite(deflection):
        return 0.0
    beyond = max(min(abs(deflection), 1.0) - _DEAD_ZONE, 0.0) / (1.0 - _DEAD_ZONE)
    return math.copysign(beyond, deflection)


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
    from ik_service.ros.motion.servo.teleop_client import teleop_client

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
