"""Time that is shown of a motion, which stands or runs."""

from __future__ import annotations


class Playback:
    """
    Time of a motion that is shown. To be used from one thread.

    :ivar duration: of the motion [s]; 0 without one.
    :ivar time: that is shown of it [s].
    :ivar is_playing: whether it runs.
    """

    def __init__(self) -> None:
        self.duration = self.time = 0.0
        self.is_playing = False
        self._stepped_at = 0.0

    def load(self, duration: float) -> None:
        """
        Begin another motion, which stands at its start.

        :param duration: of it [s]; 0 for none.
        """
        self.duration, self.time, self.is_playing = duration, 0.0, False

    def seek(self, time: float) -> None:
        """
        Stand at a time.

        :param time: within the motion [s].
        """
        self.time, self.is_playing = min(max(time, 0.0), self.duration), False

    def toggle(self, now: float) -> None:
        """
        Run on, at the end from the start again, or stand.

        :param now: on the monotonic clock [s].
        """
        self.is_playing = not self.is_playing and self.duration > 0.0
        self._stepped_at = now
        if self.is_playing and self.time >= self.duration:
            self.time = 0.0

    def step(self, now: float) -> None:
        """
        Run on to the present; it stands when it has come to the end.

        :param now: on the monotonic clock [s].
        """
        if self.is_playing:
            self.time = min(self.time + now - self._stepped_at, self.duration)
            self._stepped_at = now
            self.is_playing = self.time < self.duration
