"""Dead man's switch of the buttons, and the repetition of commands while one is held."""

from __future__ import annotations

from collections.abc import Callable
import math
import threading
import time

from ik_service.extras.viewer.teleop.servo_link import HandMotion

HOLD_RATE = 10.0
"""Rate at which a page says that a button is held [Hz]."""

GRACE = 0.3
"""Time after the last such message from which on the button counts as released [s]."""

NUDGE = 0.25
"""Time that one click moves the arm [s]."""

_PERIOD = 0.03  # of the commands; the node stops the arm without one for 0.1 s [s]
_NOBODY = -1


class HeldMotion:
    """
    Motion that a page asks for as long as one of its buttons is held. Thread-safe.

    It ends by itself when the page says nothing any more. A button that is held while motion is
    refused or stopped moves nothing until it was released. One page moves the arm at a time.

    :ivar obstacle: why the arm may not be moved by hand; empty where it may.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.news = threading.Condition()
        self._motion: HandMotion | None = None
        self._owner, self._is_stopped = _NOBODY, False
        self._until = self._least = 0.0
        self._blocked_until = -math.inf
        self.obstacle = 'there is no IK node'

    def allow(self, obstacle: str) -> None:
        """
        Allow or forbid motion; a running motion ends when it is forbidden.

        :param obstacle: why the arm may not be moved by hand; empty where it may.
        """
        with self.news:
            self.obstacle = obstacle
            if obstacle:
                self._motion, self._is_stopped = None, True

    def press(self, owner: int, motion: HandMotion) -> str:
        """
        Take the message that a button is held; the first one counts as a click at least.

        :returns: why nothing moves; empty when it does.
        """
        with self.news:
            now = self._clock()
            current = self._current(now)
            refusal = self._refusal(owner, current, now)
            if refusal:
                return refusal
            if current != motion:
                self._least = now + NUDGE
            self._motion, self._owner, self._until = motion, owner, now + GRACE
            self._is_stopped = False
            self.news.notify_all()
            return ''

    def click(self, owner: int, motion: HandMotion) -> str:
        """
        Take the message that a button was released or, by the keyboard, clicked.

        :returns: as :meth:`press`.
        """
        with self.news:
            if self._current(self._clock()) is None or owner != self._owner:
                refusal = self.press(owner, motion)
                if refusal:
                    return refusal
            self._until = self._least
            return ''

    def stop(self) -> None:
        """End the motion now, and let no button that is held begin it again."""
        with self.news:
            self._motion, self._is_stopped = None, True
            self._blocked_until = self._clock() + GRACE

    def leave(self, owner: int) -> None:
        """End the motion of a page that has gone."""
        with self.news:
            if owner == self._owner:
                self._motion = None

    @property
    def current(self) -> HandMotion | None:
        """The motion that goes on; None without any."""
        with self.news:
            return self._current(self._clock())

    @property
    def is_stopped(self) -> bool:
        """Whether the last motion was stopped or forbidden, and not released."""
        return self._is_stopped

    def _current(self, now: float) -> HandMotion | None:
        if self._motion is not None and now >= self._until:
            self._motion = None
        return self._motion

    def _refusal(self, owner: int, current: HandMotion | None, now: float) -> str:
        if self.obstacle or now < self._blocked_until:
            self._blocked_until = now + GRACE
            return self.obstacle or 'stopped: release the button first'
        if current is not None and owner != self._owner:
            return 'another page moves the arm'
        return ''


class CommandRepeater:
    """
    Thread that repeats the command of a motion as long as it goes on.

    It is a thread of its own, so that nothing else in the viewer delays commands.

    :param publish: called with each command, in that thread.
    """

    def __init__(self, held: HeldMotion, publish: Callable[[HandMotion], object]) -> None:
        self._held, self._publish = held, publish
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='commands by hand', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the motion and the thread."""
        with self._held.news:
            self._ended = True
            self._held.stop()
            self._held.news.notify_all()
        self._thread.join()

    def _run(self) -> None:
        last: HandMotion | None = None
        while not self._ended:
            with self._held.news:
                motion = self._held.current
                if motion is None and last is None and not self._ended:
                    self._held.news.wait()
                    continue
                is_released = motion is None and not self._held.is_stopped
            if motion is not None:
                self._publish(motion)
                time.sleep(_PERIOD)
            elif is_released and last is not None:
                self._publish(last.rest)  # a node comes to rest sooner than without it
            last = motion
