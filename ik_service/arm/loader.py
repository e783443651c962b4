"""Builds arms off to the side, so that the node goes on with the one it has."""

from __future__ import annotations

from collections.abc import Callable
import threading

from ik_service.arm.arm import Arm, SolverSettings

Make = Callable[[], Arm]


class ArmLoader:
    """
    Builds and warms arms in a thread of its own; of several waiting, only the newest is built.

    :param settings: returns the solver's settings as they are now.
    :param on_loaded: called in that thread with an arm whose kernels are compiled.
    :param on_refused: called in that thread with what the making of an arm raised.
    """

    def __init__(
        self,
        settings: Callable[[], SolverSettings],
        on_loaded: Callable[[Arm], None],
        on_refused: Callable[[Exception], None],
    ) -> None:
        self._settings = settings
        self._on_loaded = on_loaded
        self._on_refused = on_refused
        self._news = threading.Condition()
        self._waiting: Make | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._run, name='loader', daemon=True)
        self._thread.start()

    def submit(self, make: Make) -> None:
        """
        Build an arm as soon as possible.

        :param make: makes it; replaces one that still waits.
        """
        with self._news:
            self._waiting = make
            self._news.notify()

    def end(self) -> None:
        """Build nothing more, and tell nothing more."""
        with self._news:
            self._ended = True
            self._news.notify()

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._ended or self._waiting is not None)
                if self._ended:
                    return
                make, self._waiting = self._waiting, None
            try:
                arm = make()
                arm.limb('', self._settings()).solver.warm_up()
                if not self._ended:
                    self._on_loaded(arm)
            except Exception as error:  # a bad description must not end the loader
                if not self._ended:
                    self._on_refused(error)
