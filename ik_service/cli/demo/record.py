"""What the arm of the demo does, taken down for a moving picture."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.demo.text import progress, say
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.kinematics.chain import KinematicChain

if TYPE_CHECKING:
    from ik_service.ros.demo.demo_client import DemoClient
    from ik_service.viewer.scene.film import Moment

_PERIOD = 0.02  # between two moments [s]


def check_record(path: Path) -> None:
    """
    Make sure, before anything starts, that a film can be written.

    :raises MissingExtraError: the library that writes it is not installed.
    :raises ArgumentError: the file cannot be written, or its name does not end in ``.gif``.
    """
    import ik_service.viewer.scene.film  # noqa: F401 - raises MissingExtraError

    if path.suffix.lower() != '.gif':
        raise ArgumentError('--record', f'the name of the file has to end in .gif, not {path}')
    if not path.absolute().parent.is_dir():
        raise ArgumentError('--record', f'there is no folder {path.absolute().parent}')


class Recorder:
    """
    Takes down the joint states for the time of a ``with`` block.

    :param client: hears the joint states.
    :param target: returns where the tip shall be, (4, 4) T_base_tip; None without a target.
    :ivar moments: what was taken down.
    """

    def __init__(self, client: DemoClient, target: Callable[[], np.ndarray | None]) -> None:
        self._client, self._target = client, target
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name='recorder', daemon=True)
        self.moments: list[Moment] = []

    def __enter__(self) -> Recorder:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        from ik_service.viewer.scene.film import Moment

        start = time.monotonic()
        try:
            while not self._ended.wait(_PERIOD):
                joints = self._client.next_state().positions
                self.moments.append(Moment(time.monotonic() - start, joints, self._target()))
        except IkServiceError:  # the demo itself meets it too, and tells
            return


def write_record(path: Path, chain: KinematicChain, recorder: Recorder) -> None:
    """
    Draw what was taken down, and print what came of it.

    :raises ArgumentError: nothing was taken down, or the file cannot be written.
    """
    from ik_service.viewer.scene.film import write_film

    def show(share: float) -> None:
        progress(f'drawing {path.name}: {100 * share:.0f} %')

    links = (chain.base_link, chain.tip_link)
    start = time.monotonic()
    try:
        count = write_film(path, chain.robot, links, recorder.moments, show)
    except OSError as error:
        raise ArgumentError('--record', f'{path} cannot be written: {error}') from error
    size = path.stat().st_size / 1e6
    say(f'{path}: {count} pictures, {size:.1f} MB, drawn in {time.monotonic() - start:.0f} s')
