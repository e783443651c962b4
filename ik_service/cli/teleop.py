"""Main function of ``ik_teleop``: an arm driven by hand, with the keyboard or a joystick."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, ExitStack, suppress
from dataclasses import dataclass
import math
import os
import select
import shutil
import signal
import sys
import termios
import time
import tty
from typing import TYPE_CHECKING

from ik_service.cli.parser import Parser
from ik_service.cli.ros import split_ros_arguments
from ik_service.common.arguments import checked_option
from ik_service.common.resources import require_ros
from ik_service.exceptions import IkServiceError

if TYPE_CHECKING:
    from ik_service.ros.clients.teleop_client import TeleopClient


SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # shares of the full speed to choose from

DEFAULT_SPEED = 0.2  # share of the full speed

# Signed axis of the twist, linear before angular, counted from 1.
AXES: Mapping[str, int] = dict(
    zip('wsadrfuoikjl', (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6), strict=True)
)
"""Axis that a key moves the tip along, 1 to 3, or about, 4 to 6; negative: backwards."""

AXIS_NAMES = ('x', 'y', 'z', 'about x', 'about y', 'about z')

_TAP = 0.12  # time for which a key that is pressed once counts [s]
_REPEAT = 0.15  # time between two repeats of a key that is held, at most [s]
_DELAY = 0.8  # time until the keyboard begins to repeat, at most [s]


@dataclass(frozen=True)
class Motion:
    """
    Motion that is asked for, in shares of the full speed.

    :ivar twist: six numbers, linear before angular; all 0 for a joint.
    :ivar joint: number of the joint, counted from 0; −1 for none.
    :ivar speed: its speed, −1 to 1.
    """

    twist: tuple[float, ...] = (0.0,) * 6
    joint: int = -1
    speed: float = 0.0


class Keys:
    """
    State of the keyboard, as far as a terminal reports it: keys come again while they are held.

    :param speed: share of the full speed, 0 to 1; the nearest of :data:`SPEEDS` is taken.
    :ivar in_tip: whether directions are those of the tip; otherwise those of the base.
    """

    def __init__(self, speed: float = DEFAULT_SPEED) -> None:
        self.speed = min(SPEEDS, key=lambda choice: abs(choice - speed))
        self.in_tip = False
        self.backwards = False
        self._key = ''
        self._pressed_at = self._until = -float('inf')

    def press(self, key: str, now: float) -> bool:
        """Take in a key."""
        if key in AXES or key in '123456789':
            again = key == self._key and now - self._pressed_at < _DELAY
            self._key, self._pressed_at = key, now
            self._until = now + (_REPEAT if again else _TAP)
            return True
        self.release()
        if key in '+=-_':
            faster = key in '+='
            index = SPEEDS.index(self.speed) + (1 if faster else -1)
            self.speed = SPEEDS[min(max(index, 0), len(SPEEDS) - 1)]
        elif key == 't':
            self.in_tip = not self.in_tip
        elif key == 'v':
            self.backwards = not self.backwards
        else:
            return key == ' '
        return True

    def release(self) -> None:
        """Count no key as held."""
        self._key, self._until = '', -float('inf')

    def motion(self, now: float) -> Motion | None:
        """Return the motion that is asked for; None while no key is held."""
        if now > self._until:
            return None
        if self._key in AXES:
            axis = AXES[self._key]
            twist = [0.0] * 6
            twist[abs(axis) - 1] = self.speed if axis > 0 else -self.speed
            return Motion(tuple(twist))
        speed = -self.speed if self.backwards else self.speed
        return Motion(joint=int(self._key) - 1, speed=speed)


KEYS_TEXT = """\
   w / s  forward, back  (x)        u / o  roll   (about x)     1 … 9  joints
   a / d  left, right    (y)        i / k  pitch  (about y)     v      joints backwards
   r / f  up, down       (z)        j / l  yaw    (about z)     space  stop
   + / -  speed                     t      axes of base or tip  ?      these keys
   q      quit                      The arm moves while a key is held."""


def motion_text(motion: Motion | None, joints: tuple[str, ...]) -> str:
    """Return a motion in words; None is none."""
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


def line(motion: str, keys: Keys, status: str, tip_link: str) -> str:
    """Return the status line; directions are those of the base where no tip is known."""
    axes = 'tip' if keys.in_tip and tip_link else 'base'
    return f'{motion:<14}  {100 * keys.speed:3.0f} %  axes of the {axes:<4}  {status}'


def show(text: str) -> None:
    """Show a line in place of the one before; without a terminal, nothing."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f'\r\033[K{text[:width]}', end='', flush=True)


def say(text: str) -> None:
    """Print lines that stay."""
    clear = '\r\033[K' if sys.stdout.isatty() else ''
    print(f'{clear}{text}', flush=True)


AXIS_WORDS = ('x', 'y', 'z', 'roll', 'pitch', 'yaw')
DEFAULT_AXES = 'x=1,y=0,z=4,yaw=3'
"""Both sticks of a gamepad, as the driver ``joy`` numbers them: left x and y, right z and yaw."""

DEFAULT_DEADMAN = 4  # button above the left trigger of most gamepads

_DEAD_ZONE = 0.08  # deflection of an axis below which it counts as centred
_LONGEST = 0.25  # time for which a message counts [s]; the driver repeats it more often


def parse_axes(text: str) -> dict[int, tuple[int, float]]:
    """
    Return the motions that the axes of a joystick command.

    :param text: such as ``'x=1,y=-0,yaw=3'``: number of the axis, with a minus to reverse it.
    :returns: number of the axis and its sign, by the index in a twist.
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
        if AXIS_WORDS.index(word) in axes:
            raise ArgumentTypeError(f'{word} stands twice')
        sign = -1.0 if number.startswith('-') else 1.0
        axes[AXIS_WORDS.index(word)] = int(number.lstrip('-')), sign
    return axes


class Joystick:
    """
    State of a joystick.

    :param axes: number and sign of the joystick's axis by the index in a twist.
    :param deadman: number of the button that has to be held; −1 for none.
    :ivar fault: the fault of its messages; empty for none.
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
        """Take in a message of the driver: the deflections, −1 to 1."""
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
        """Return the motion that is asked for; None while the button is not held."""
        if not self._held or now - self._at > _LONGEST:
            return None
        twist = [0.0] * 6
        for index, (number, sign) in self._axes.items():
            twist[index] = sign * speed * _beyond_dead_zone(self._values[number])
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

    def resume(*_: object) -> None:
        with suppress(termios.error):  # it has gone
            tty.setcbreak(descriptor)

    # A shell gives a program that goes on after Ctrl-Z its own settings of the terminal.
    before_that = signal.signal(signal.SIGCONT, resume)
    try:
        tty.setcbreak(descriptor)  # Ctrl-C stays one
        yield
    finally:
        signal.signal(signal.SIGCONT, before_that)
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
    """Return the options, and the arguments for ROS; raises SystemExit for a wrong line."""
    own, ros = split_ros_arguments(arguments)
    parser = Parser(
        prog='ik_teleop',
        description='Drives an arm by hand: publishes delta_twist_cmds and delta_joint_cmds for '
        'ik_node.',
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        '--speed',
        type=checked_option(
            float, lambda share: 0.0 < share <= 1.0, 'has to be above 0, 1 at most, not {}'
        ),
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
        type=checked_option(int, lambda button: button >= -1, 'has to be -1 at least, not {}'),
        default=DEFAULT_DEADMAN,
        metavar='BUTTON',
        help='number of the button that has to be held; -1: none (default: %(default)s)',
    )
    return parser.parse_args(own), ros


_PERIOD = 0.02  # between two commands [s]
_SHOWN_EVERY = 0.2  # [s]


class NoTerminalError(IkServiceError):
    """There is neither a keyboard nor a joystick."""


def main(arguments: Sequence[str]) -> int:
    """
    Run the program until ``q`` or Ctrl-C.

    :raises IkServiceError: there is no terminal, or no ROS 2.
    :raises SystemExit: the command line is wrong, or asked for help.
    """
    options, ros_arguments = parse(arguments)
    keyboard = sys.stdin.isatty()
    if not (keyboard or options.joy):
        raise NoTerminalError('the keyboard is read from a terminal; --joy takes a joystick')
    require_ros()
    from ik_service.ros.clients.teleop_client import teleop_client

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
    """Keys and joystick turned into commands."""

    def __init__(self, options: Namespace) -> None:
        self._keys = Keys(options.speed)
        self._joystick = Joystick(options.axes, options.deadman) if options.joy else None
        self._sent: Motion | None = None
        self._said = ''
        self._shown_at = -float('inf')

    def on_joystick(self, axes: Sequence[float], buttons: Sequence[int]) -> None:
        """Take in a message of the joystick: the deflections, −1 to 1."""
        assert self._joystick is not None
        self._joystick.take(axes, buttons, time.monotonic())

    def run(self, client: TeleopClient, keyboard: bool) -> None:
        """Send commands until ``q``, or the end of the terminal."""
        while True:
            pressed = self._pressed(keyboard)
            now = time.monotonic()
            if pressed is None or 'q' in pressed:
                self._send(client, None)
                return
            for key in pressed:
                if key == '?' or not self._keys.press(key, now):
                    say(KEYS_TEXT)
            motion = self._keys.motion(now)
            if motion is None and self._joystick is not None:
                motion = self._joystick.motion(now, self._keys.speed)
            self._send(client, motion)
            self._show(client, motion, now)

    def _pressed(self, keyboard: bool) -> str | None:
        if keyboard:
            return keys_within(_PERIOD)
        time.sleep(_PERIOD)
        return ''

    def _send(self, client: TeleopClient, motion: Motion | None) -> None:
        """Send a motion; once one more, that asks for rest, and then nothing."""
        sent, self._sent = self._sent, motion
        if motion is None:
            if sent is None:
                return
            motion = Motion(joint=sent.joint)  # of the same kind, as others may be refused
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
        text = motion_text(motion, client.joints)
        show(line(text, self._keys, client.status, client.tip_link))

    def _fault(self, client: TeleopClient) -> str:
        if self._keys.in_tip and not client.tip_link:
            return 'the tip is not known: --tip-link names it; the axes are those of the base'
        joystick = self._joystick.fault if self._joystick is not None else ''
        return joystick or client.fault
