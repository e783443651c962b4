"""Browser view of the demo, in a process of its own; the demo also runs without it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec

from ik_service.cli.demo.processes import ros_arguments
from ik_service.cli.demo.text import say
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.exceptions import MissingExtraError

_PATIENCE = 30.0  # with its start [s]
_GRACE = 0.5  # for its end: it holds nothing that could be lost [s]


@contextmanager
def viewer_program(wanted: bool, robot: Mapping[str, str]) -> Iterator[ChildProcess | None]:
    """
    Run the viewer for a ``with`` block.

    :param wanted: whether to run it.
    :param robot: its parameters about the robot.
    :returns: its process; None when it is not wanted or viser is not installed.
    """
    if not wanted or find_spec('viser') is None:
        yield None
        return
    arguments = ros_arguments({**robot, 'make_reach': True})
    with ChildProcess('the viewer', 'ik_service.extras.viewer.main', arguments) as child:
        try:
            yield child
        finally:
            child.end(_GRACE)


def announce(viewer: ChildProcess | None, wanted: bool) -> None:
    """
    Print the address of the viewer, or why there is none.

    :param viewer: its process; None where it does not run.
    :param wanted: whether it was to run.
    """
    if viewer is None:
        if wanted:
            say(f'Viewer    none: {MissingExtraError("viser", "viewer")}')
        return
    try:
        address = viewer.wait_for(r'ready: (\S+)', _PATIENCE)[1]
    except ChildFailedError as error:
        last = error.output.rstrip().rpartition('\n')[2]
        say(f'Viewer    none: it did not start: {last}')
    else:
        say(f'Viewer    {address}   drag the arrows, and the arm follows')
