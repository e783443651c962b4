"""Notice of others who stop the arm or move it, for the demo, which yields to them."""

from __future__ import annotations

from collections.abc import Mapping

PAUSE_TOPIC = 'ik_demo/pause'
"""Topic on which the demo says why it is paused; an empty text while it is not."""
RESUME_SERVICE = 'ik_demo/resume'  # service with which it goes on

STOPPED = 'the arm was stopped'
TARGET = 'another client has published a target'
MOTION = 'a trajectory or a servo command moves the arm'

STOPS, MOTIONS = 'stops', 'motions besides targets'
_COUNTS = {STOPS: STOPPED, MOTIONS: MOTION}
"""Counts in the node's diagnostics, and the meaning of their growth; the first weighs most."""


class TakeOver:
    """Reason for the demo to yield; empty while it need not."""

    def __init__(self) -> None:
        self.reason = ''
        self._counts: dict[str, int] = {}
        self._own = dict.fromkeys(_COUNTS, 0)

    def take_target(self) -> None:
        """Note a target of another client."""
        self.reason = self.reason or TARGET

    def expect(self, name: str, times: int = 1) -> None:
        """
        Note that the demo itself stops or moves the arm, which is going to be counted.

        :param name: :data:`STOPS` or :data:`MOTIONS`.
        :param times: how often; −1 where an expected event has not come.
        """
        self._own[name] = max(0, self._own[name] + times)

    def take_counts(self, values: Mapping[str, str]) -> None:
        """Note the counts of the part ``motions`` of the node's diagnostics, by name."""
        for name, reason in reversed(_COUNTS.items()):
            text = values.get(name, '')
            if text.isdecimal():
                grown = int(text) - self._counts.get(name, int(text))
                self._counts[name] = int(text)
                own = min(max(grown, 0), self._own[name])  # the demo's own doing
                self._own[name] -= own
                if grown > own:
                    self.reason = reason

    def end(self) -> None:
        """Let the demo go on."""
        self.reason = ''
