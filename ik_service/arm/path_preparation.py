"""Threads and kernels of the path service, apart from what a moving arm needs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
import os
import threading
from typing import TypeVar

from ik_service.arm.arm import Arm
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
    Compilation of the kernels of paths. Thread-safe.

    :ivar compile: compiles them, or loads their code; returns when they are ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[CartesianPathKernels], object] = lambda kernels: kernels.warm_up()
        self._turn = threading.Lock()
        self._ready = False

    def begin(self, arm: Arm) -> None:
        """
        Begin the compilation, in a thread of its own.

        :param arm: the arm.
        """

        def prepare() -> None:
            with suppress(CompilationError):  # whoever needs them is told so by :meth:`finish`
                self.finish(arm.chain)

        threading.Thread(target=prepare, name='path preparation', daemon=True).start()

    def finish(self, chain: KinematicChain) -> None:
        """
        Return when the kernels are ready.

        :param chain: a chain; they are the same for all.
        :raises CompilationError: they could not be compiled.
        """
        with self._turn:
            if not self._ready:
                self.compile(CartesianPathKernels(chain))
                self._ready = True
