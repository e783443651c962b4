"""Definition of a fault, and the list of all faults."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Fault:
    """
    Fault between node and arm.

    :ivar name: its name in tables.
    :ivar happen: makes it happen, on a stage where the arm is moving.
    :ivar parameters: parameters of the node, beside those that all have.
    :ivar alone: whether it needs a node of its own.
    :ivar stops: whether the node has to stop, and to stay where it is afterwards.
    :ivar watch: how long the commands are recorded afterwards [s].
    :ivar says: text that the node has to log, in small letters; empty for none.
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
