"""Keys of the keyboard as motions of the arm, for as long as they are held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
"""Shares of the full speed to choose from."""

DEFAULT_SPEED = 0.2

# Signed axis of the twist, linear before angular, counted from 1.
AXES: Mapping[str, int] = {
    'w': 1,
    's': -1,
    'a': 2,
    'd': -2,
    'r': 3,
    'f': -3,
    'u': 4,
    'o': -4,
    'i': 5,
    'k': -5,
    'j': 6,
    'l': -6,
}
"""Axis that a key moves the tip along, 1 to 3, or about, 4 to 6; negative: backwards."""

AXIS_NAMES = ('x', 'y', 'z', 'about x', 'about y', 'about z')

_TAP = 0.12
"""Time for which a key that is pressed once counts [s]."""

_REPEAT = 0.15
"""Time between two repeats of a key that is held, at most [s]."""

_DELAY = 0.8
"""Time until the keyboard begins to repeat, at most [s]."""


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
    State of the keyboard, as far as a terminal tells: keys come again while they are held.

    :param speed: share of the full speed, 0 to 1; the nearest of :data:`SPEEDS` is taken.
    :param in_tip: whether directions are those of the tip; otherwise those of the base.
    :ivar speed: share of the full speed.
    :ivar in_tip: whether directions are those of the tip.
    :ivar backwards: whether joints are moved backwards.
    """

    def __init__(self, speed: float = DEFAULT_SPEED, in_tip: bool = False) -> None:
        self.speed = min(SPEEDS, key=lambda choice: abs(choice - speed))
        self.in_tip = in_tip
        self.backwards = False
        self._key = ''
        self._pressed_at = self._until = -float('inf')

    def press(self, key: str, now: float) -> bool:
        """
        Take in a key.

        :param key: one character.
        :param now: on a monotonic clock [s].
        :returns: whether it means something here.
        """
        if key in AXES or key in '123456789':
            again = key == self._key and now - self._pressed_at < _DELAY
            self._key, self._pressed_at = key, now
            self._until = now + (_REPEAT if again else _TAP)
            return True
        self.release()
        if key in '+=-_':
            faster = key in '+='
            place = SPEEDS.index(self.speed) + (1 if faster else -1)
            self.speed = SPEEDS[min(max(place, 0), len(SPEEDS) - 1)]
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
        """
        Return what is asked for; None while no key is held.

        :param now: on the clock of :meth:`press` [s].
        """
        if now > self._until:
            return None
        if self._key in AXES:
            axis = AXES[self._key]
            twist = [0.0] * 6
            twist[abs(axis) - 1] = self.speed if axis > 0 else -self.speed
            return Motion(tuple(twist))
        speed = -self.speed if self.backwards else self.speed
        return Motion(joint=int(self._key) - 1, speed=speed)
