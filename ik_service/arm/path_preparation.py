"""Compilation of the kernels of the path service."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import threading

from ik_service.arm.arm import Arm
from ik_service.exceptions import CompilationError
from ik_service.kinematics.chain import KinematicChain
from ik_service.trajectory.compilation import CartesianPathKernels


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
