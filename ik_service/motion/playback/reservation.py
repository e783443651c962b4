"""Reservation of joints for a controller that moves them by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ik_service.motion.goal import MotionGoal, REST, Step, Tick
from ik_service.motion.settings import FollowerState


class Reservation(MotionGoal):
    """
    Goal that keeps others from moving the arm while a controller does; nothing is commanded.

    :param why: returns why nothing else may move the arm; must not block.
    :param on_end: called with the reason when something else ends it; must not block.
    :param on_replaced: called when another trajectory replaces it; must not block.
    """

    kind = 'trajectory'

    def __init__(
        self,
        why: Callable[[], str],
        on_end: Callable[[str], object],
        on_replaced: Callable[[], object] = lambda: None,
    ) -> None:
        self._why, self._on_end, self._on_replaced = why, on_end, on_replaced
        self._withdrawn = False

    @property
    def claim(self) -> str:
        """Reason nothing else may move the arm, also after something has ended the goal."""
        return '' if self._withdrawn else self._why()

    def withdraw(self) -> None:
        """Let others move the arm from now on."""
        self._withdrawn = True

    @property
    def ready(self) -> bool:
        """Never: commands of before come to rest."""
        return False

    @property
    def busy(self) -> bool:
        """Always, until it is released."""
        return True

    def step(self, tick: Tick) -> Step:
        """Return rest."""
        return REST

    def state(self, commanded: np.ndarray | None, resting: bool) -> FollowerState:
        """Return the follower's state."""
        return FollowerState.TRAJECTORY

    def replaced(self, kind: str) -> None:
        """Note that another trajectory has replaced it."""
        self.withdraw()
        self._on_replaced()

    def ended(self, reason: str) -> None:
        """Note the end."""
        self._on_end(reason)
