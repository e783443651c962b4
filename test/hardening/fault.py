"""Faults and their registry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """
    Something that goes wrong.

    :ivar name: as it stands in tables.
    :ivar happen: lets it happen, on a stage where the arm is under way.
    :ivar parameters: of the node, beside those that all have.
    :ivar alone: whether it needs a node of its own.
    :ivar stops: whether the node has to stop, and to stay where it is afterwards.
    :ivar watch: how long to look at what comes of it [s].
    :ivar says: a part of what the node has to say, in small letters; empty for nothing.
    :ivar short: whether it is among those of every test run.
    """

    name: str
    happen: Callable
    parameters: dict = field(default_factory=dict)
    alone: bool = False
    stops: bool = True
    watch: float = 1.5
    says: str = ''
    short: bool = True
    by_topic: bool = False


FAULTS: dict[str, Fault] = {}


def fault(name, **how):
    """Register a function as a fault."""

    def register(function):
        FAULTS[name] = Fault(name, function, **how)
        return function

    return register
