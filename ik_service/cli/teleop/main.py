"""Main function of ``ik_teleop``: an arm driven by hand, with the keyboard or a joystick."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import ExitStack
import sys
import time
from typing import TYPE_CHECKING

from ik_service.cli.interrupts import check_interrupts
from ik_service.cli.teleop.arguments import parse
from ik_service.cli.teleop.joystick import Joystick
from ik_service.cli.teleop.keys import Keys, Motion
from ik_service.cli.teleop.terminal import keys_within, single_keys
from ik_service.cli.teleop.text import KEYS_TEXT, line, motion_text, say, show
from ik_service.common.ros_installation import require_ros
from ik_service.exceptions import IkServiceError

if TYPE_CHECKING:
    from ik_service.ros.servo.teleop_client import TeleopClient

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
