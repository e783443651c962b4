"""Arguments for ROS on the command line of a program."""

from __future__ import annotations

from collections.abc import Sequence


def split_ros_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """
    Return the arguments of the program, and those from ``--ros-args`` to ``--``.

    :param arguments: the command line after the program's name.
    """
    words = list(arguments)
    if '--ros-args' not in words:
        return words, []
    begin = words.index('--ros-args')
    end = words.index('--', begin) + 1 if '--' in words[begin:] else len(words)
    return words[:begin] + words[end:], words[begin:end]
