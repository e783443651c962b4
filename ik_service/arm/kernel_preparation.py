"""Compilation of the kernels that a service needs before it is offered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
import threading

from ik_service.exceptions import CompilationError


class KernelPreparation:
    """
    Compilation of kernels, once, whatever the arm. Thread-safe.

    :param on_ready: called once, in a thread of its own, when they are ready.
    :param on_error: called with an exception that ends the preparation; the next :meth:`begin`
        tries again.
    :param pause: before another try where the compiler had no place [s].
    """

    def __init__(
        self,
        on_ready: Callable[[], object],
        on_error: Callable[[Exception], object],
        pause: float = 5.0,
    ) -> None:
        self._on_ready, self._on_error = on_ready, on_error
        self._pause = pause
        self._turn, self._report = threading.Lock(), threading.Lock()
        self._is_ready = False
        self._ended = threading.Event()

    def begin(self, compiled: Callable[[], object]) -> None:
        """
        Begin the compilation, in a thread of its own; nothing happens where it is done.

        :param compiled: compiles them, or loads their code; returns when they are ready.
        """
        if not self._is_ready:
            work = partial(self._prepare, compiled)
            threading.Thread(target=work, name='kernel preparation', daemon=True).start()

    def end(self) -> None:
        """From now on, nothing is called any more."""
        with self._report:
            self._ended.set()

    def _prepare(self, compiled: Callable[[], object]) -> None:
        with self._turn:
            while not (self._is_ready or self._ended.is_set()):
                try:
                    compiled()
                except CompilationError:  # the compiler is busy with others, or ends
                    self._ended.wait(self._pause)
                    continue
                except Exception as error:
                    self._tell(partial(self._on_error, error))
                    return
                self._is_ready = True
                self._tell(self._on_ready)

    def _tell(self, news: Callable[[], object]) -> None:
        with self._report:
            if not self._ended.is_set():
                news()
