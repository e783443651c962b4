"""Injected faults between a follower and its arm: lost and late messages, a stuck joint, noise."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math
from typing import Generic, TypeVar

import numpy as np

from ik_service.exceptions import OptionError

T = TypeVar('T')


@dataclass(frozen=True)
class FaultSettings:
    """
    Faults to inject; none by default.

    :ivar lost_commands: share of the commands that never arrive, 0 to 1.
    :ivar lost_states: share of the joint states that are never sent, 0 to 1.
    :ivar command_delay: delay of the commands [s].
    :ivar state_delay: delay of the joint states [s].
    :ivar stuck_joint: a joint that does not move; empty for none.
    :ivar noise: standard deviation of the error of measured positions [rad] or [m].
    :ivar seed: seed of the random numbers; the same seed makes the same faults.
    :raises OptionError: naming the setting whose value cannot be.
    """

    lost_commands: float = 0.0
    lost_states: float = 0.0
    command_delay: float = 0.0
    state_delay: float = 0.0
    stuck_joint: str = ''
    noise: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ('lost_commands', 'lost_states'):
            self._check(name, 0.0 <= getattr(self, name) <= 1.0, 'from 0 to 1')
        for name in ('command_delay', 'state_delay', 'noise', 'seed'):
            self._check(name, 0.0 <= getattr(self, name) < math.inf, 'at least 0')

    def _check(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise OptionError(name, f'has to be {wanted}, not {getattr(self, name)!r}')

    def __str__(self) -> str:
        """Return the faults that are present, or ``none``."""
        present = {
            name: value
            for name, value in vars(self).items()
            if name != 'seed' and value != getattr(FaultSettings, name)
        }
        return ', '.join(f'{name} {value}' for name, value in present.items()) or 'none'


class FaultyChannel(Generic[T]):
    """Channel that loses and delays messages, but keeps their order."""

    def __init__(self, random: np.random.Generator) -> None:
        self._random = random
        self._waiting: deque[tuple[float, T]] = deque()

    def send(self, message: T, now: float, lost: float, delay: float) -> None:
        """
        Send a message.

        :param now: on any clock [s].
        :param lost: probability that it never arrives, 0 to 1.
        :param delay: time after which it arrives [s].
        """
        if lost > 0.0 and self._random.random() < lost:
            return
        self._waiting.append((now + delay, message))

    def receive(self, now: float) -> list[T]:
        """Take the messages that have arrived, the oldest first."""
        arrived = []
        while self._waiting and self._waiting[0][0] <= now:
            arrived.append(self._waiting.popleft()[1])
        return arrived
