"""Program ``ik_node``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import sys

from ik_service.ros.common.runtime import GRACE, ros, run, StopRequest

_SWITCH_INTERVAL = 5e-4
"""
Longest time that a thread keeps the interpreter from the others [s].

A tenth of Python's default: a command that is due waits at most so long for a callback.
"""


def main(args: list[str] | None = None) -> None:
    """
    Run the node until SIGINT or SIGTERM.

    :param args: the command line after the program's name; ``None`` takes it from ``sys.argv``.
    """
    sys.exit(run(lambda stop: _program(args, stop), 'ik_node'))


def _program(args: list[str] | None, stop: StopRequest) -> None:
    with ros(args), _switch_interval(_SWITCH_INTERVAL):
        # Only now, so that signals are caught while it is imported.
        from ik_service.following.motion_limits import LONGEST_RAMP
        from ik_service.ros.ik.ik_node import IkNode

        node = IkNode()
        try:
            node.start()
            with node.running():
                stop.grace = GRACE + LONGEST_RAMP  # a moving arm comes to rest first
                stop.wait()
        finally:
            node.destroy_node()


@contextmanager
def _switch_interval(seconds: float) -> Iterator[None]:
    """Change the interpreter's switch interval for the time of a ``with`` block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


if __name__ == '__main__':
    main()
