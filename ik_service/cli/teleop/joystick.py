"""Axes and buttons of a joystick as motions of the arm."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Mapping, Sequence
import math

from ik_service.cli.teleop.keys import Motion

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
