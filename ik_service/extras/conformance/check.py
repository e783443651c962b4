"""A check of a server, and its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ik_service.extras.conformance.answers import CheckFailedError
from ik_service.extras.conformance.subject import Subject


class Verdict(Enum):
    """Finding of a check."""

    PASS = 'pass'
    FAIL = 'fail'
    NOT_SUPPORTED = 'not supported'
    NOT_RUN = 'not run'


@dataclass(frozen=True)
class Check:
    """
    A check of a server.

    :ivar summary: the request, and the required response.
    :ivar run: sends the request, and returns the measured result, in a few words; raises
        :class:`CheckFailedError` or
        :class:`~ik_service.extras.conformance.answers.NotSupportedError`.
    :ivar source: where the expectation comes from.
    :ivar moveit: why the published source of MoveIt's server is expected to fail; empty where it
        is expected to pass.
    :ivar rough: whether a request of it may end a weak server.
    """

    name: str
    section: str
    summary: str
    run: Callable[[Subject], str]
    source: str
    moveit: str = ''
    rough: bool = False


class Section(list[Check]):
    """Checks of one section, in their order."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def check(
        self, source: str, *, summary: str = '', moveit: str = '', rough: bool = False
    ) -> Callable[[Callable[[Subject], str]], Callable[[Subject], str]]:
        """Return a decorator that adds a function as a :class:`Check`, with its docstring."""

        def add(run: Callable[[Subject], str]) -> Callable[[Subject], str]:
            text = summary or ' '.join((run.__doc__ or '').split()).removesuffix('.')
            name = run.__name__.strip('_').replace('_', '-')
            self.append(Check(name, self.name, text, run, source, moveit, rough))
            return run

        return add


@dataclass(frozen=True)
class Outcome:
    """Outcome of a check: figures or the reason as a note, time [s], and the failure, if any."""

    check: Check
    verdict: Verdict
    note: str
    seconds: float = 0.0
    failure: CheckFailedError | None = None
