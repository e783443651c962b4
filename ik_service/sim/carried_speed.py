"""Speeds with which the set-points of drives go on until the next command comes."""

from __future__ import annotations

import numpy as np

_TIMEOUT = 0.1
"""Time after which the speed of a command that has no successor no longer counts [s]."""

_WEIGHT = 0.2
"""Weight of the last interval between two commands in the usual one."""

_SPARE = 0.01
"""Share of each way that may be gone in addition."""

_MOST = 1.5
"""Way that may be gone until the next command, in ways from the command before to the last."""


class CarriedSpeed:
    """
    Speeds of m joints between commands.

    A drive believes the positions of its commands, and their speeds only as far as the positions
    bear them out. What the speeds lead to adds up to the ways between commanded positions, and
    1 % more; each way takes the usual interval between two commands at least. So speeds larger
    than those of the positions, and commands that come late, lead no farther than the positions.
    A way that is not used up is kept, half a way at most, for commands that come late.

    :param joints: m.
    """

    def __init__(self, joints: int) -> None:
        self._speed = np.zeros(joints)
        self._left = np.zeros(joints)  # of the ways
        self._age = np.full(joints, _TIMEOUT)  # of the last command
        self._interval = np.zeros(joints)  # 0 while it is not known

    def command(self, joints: list[int], way: np.ndarray, speed: np.ndarray) -> None:
        """
        Take in a command.

        :param joints: indices of the joints that it names.
        :param way: (m,) from the commanded positions before to the new ones [rad] or [m].
        :param speed: (m,) commanded speeds [rad/s] or [m/s].
        """
        way, speed, before = way[joints], speed[joints], self._speed[joints]
        passed, usual = self._age[joints], self._interval[joints]
        goes_on = passed < _TIMEOUT
        mixed = np.where(usual > 0.0, usual + _WEIGHT * (passed - usual), passed)
        interval = np.where(goes_on, mixed, 0.0)
        ahead = np.maximum(way * np.sign(speed), 0.0)
        kept = np.where(goes_on & (speed * before > 0.0), self._left[joints] + _SPARE * ahead, 0.0)
        left = np.minimum(kept + ahead, _MOST * ahead)
        borne_out = np.divide(left, interval, out=np.abs(speed), where=interval > 0.0)
        self._speed[joints] = np.copysign(np.minimum(np.abs(speed), borne_out), speed)
        self._left[joints], self._interval[joints], self._age[joints] = left, interval, 0.0

    def step(self, dt: float) -> np.ndarray:
        """
        Return the mean speeds (m,) during the next step [rad/s] or [m/s].

        :param dt: length of the step [s], above 0.
        """
        fastest = np.where(self._age < _TIMEOUT, np.abs(self._speed), 0.0)
        way = np.minimum(fastest * dt, self._left)
        self._left, self._age = self._left - way, self._age + dt
        return np.copysign(way / dt, self._speed)
