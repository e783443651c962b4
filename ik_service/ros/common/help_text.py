"""Help of the programs that are ROS nodes."""

from __future__ import annotations

from collections.abc import Sequence
import sys

_TEXT = """usage: {name} [--ros-args [-p PARAMETER:=VALUE] [--params-file FILE] [-r FROM:=TO] …]

{summary}

It runs until Ctrl-C. Its settings are ROS parameters: docs/{page} tells about
them, and while it runs so do ros2 param list and ros2 param describe."""


def shows_help(
    arguments: Sequence[str] | None, name: str, summary: str, page: str = 'node.md'
) -> bool:
    """
    Print the help of a program where it is asked for.

    :param arguments: the command line after the program's name; that of the process for None.
    :param name: name of the program.
    :param summary: what it does, in a sentence.
    :param page: of the documentation, which has its parameters.
    :returns: whether it was asked for.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    own = words[: words.index('--ros-args')] if '--ros-args' in words else words
    if not {'-h', '--help'} & {*own}:
        return False
    print(_TEXT.format(name=name, summary=summary, page=page))
    return True
