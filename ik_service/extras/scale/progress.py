"""Progress of a large batch: a bar with rate and time left, or a function that is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import sys
from typing import Protocol, TYPE_CHECKING

if TYPE_CHECKING:
    from tqdm import tqdm


class Progress(Protocol):
    """Receiver of what has been done."""

    def skip(self, count: int) -> None:
        """
        Count targets that an earlier call has solved; they do not belong to the rate.

        :param count: number of targets.
        """

    def advance(self, count: int) -> None:
        """
        Count targets that have been solved now.

        :param count: number of targets.
        """


@contextmanager
def progress_of(
    choice: bool | str | Callable[[int, int | None], object], count: int | None
) -> Iterator[Progress]:
    """
    Show the progress during a ``with`` block.

    :param choice: True for a bar, which appears on a terminal only, or the name of one; False for
        nothing; or a function that is called with the number of targets done, and of all.
    :param count: number of all targets; None when it is not known.
    """
    if callable(choice):
        yield _Told(choice, count)
        return
    try:
        from tqdm import tqdm
    except ImportError:
        choice = False
    if not choice or sys.stderr is None or getattr(sys.stderr, 'closed', False):  # of a daemon
        yield _Told(lambda done, count: None, count)
        return
    # Averaged over the whole run, as parts of the space take longer than others.
    name = choice if isinstance(choice, str) else None
    with tqdm(
        desc=name, total=count, unit=' poses', unit_scale=True, smoothing=0, disable=None
    ) as bar:
        yield _Told(lambda done, count: None, count) if bar.disable else _Bar(bar)


class _Told:
    def __init__(self, tell: Callable[[int, int | None], object], count: int | None) -> None:
        self._tell = tell
        self._count = count
        self._done = 0

    def skip(self, count: int) -> None:
        self.advance(count)

    def advance(self, count: int) -> None:
        self._done += count
        self._tell(self._done, self._count)


class _Bar:
    def __init__(self, bar: tqdm) -> None:
        self._bar = bar

    def skip(self, count: int) -> None:
        self._bar.initial += count
        self._bar.update(count)

    def advance(self, count: int) -> None:
        self._bar.update(count)
