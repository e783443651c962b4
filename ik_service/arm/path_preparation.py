"""Threads and kernels of paths, apart from what a moving arm needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
import os
import threading
from typing import TypeVar

from ik_service.exceptions import CompilationError
from ik_service.kinematics.chain import KinematicChain
from ik_service.trajectory.compilation import CartesianPathKernels

THREADS = 2
"""Requests that are worked on at once."""
_NICE = 5

Answer = TypeVar('Answer')


class PathWorkers:
    """Threads that give way to all others, and so do the threads that they start."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, 'paths', _give_way)

    def run(self, work: Callable[[], Answer]) -> Answer:
        """
        Return what some work returns, once a thread is free for it; or raise what it raises.

        :param work: the work.
        """
        return self._pool.submit(work).result()


def _give_way() -> None:
    """Lower the priority of this thread; on Linux that is possible for one alone."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


class PathPreparation:
    """
    Compilation of the kernels of paths, which are the same for all arms. Thread-safe.

    :param compiled: compiles them, or loads their code; returns when they are ready.
    :param on_ready: called once, in a thread of its own, when they are.
    :param on_error: called with an exception that ends the preparation; the next :meth:`begin`
        tries again.
    :param pause: before another try where the compiler had no place [s].
    """

    def __init__(
        self,
        compiled: Callable[[CartesianPathKernels], object],
        on_ready: Callable[[], object],
        on_error: Callable[[Exception], object],
        pause: float = 5.0,
    ) -> None:
        self._compile, self._on_ready, self._on_error = compiled, on_ready, on_error
        self._pause = pause
        self._turn, self._report = threading.Lock(), threading.Lock()
        self._is_ready = False
        self._ended = threading.Event()

    def begin(self, chain: KinematicChain) -> None:
        """
        Begin the compilation, in a thread of its own; nothing happens where it is done.

        :param chain: any chain.
        """
        if not self._is_ready:
            work = partial(self._prepare, chain)
            threading.Thread(target=work, name='path preparation', daemon=True).start()

    def end(self) -> None:
        """From now on, nothing is called any more."""
        with self._report:
            self._ended.set()

    def _prepare(self, chain: KinematicChain) -> None:
        with self._turn:
            while not (self._is_ready or self._ended.is_set()):
                try:
                    self._compile(CartesianPathKernels(chain))
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
