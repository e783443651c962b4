"""Text about a state, with its severity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """Severity of a status."""

    GOOD = 'good'
    WAITING = 'waiting'
    BAD = 'bad'


@dataclass(frozen=True)
class StatusText:
    """
    Text about a state.

    :ivar level: its severity.
    :ivar headline: in a few words.
    :ivar detail: in a sentence; may be empty.
    """

    level: Level
    headline: str
    detail: str = ''
