"""Names of links and joints in error messages, cut to a readable length."""

from __future__ import annotations

from collections.abc import Iterable
import difflib

_LONGEST_NAME = 80
_LONGEST_PATH = 300
_MOST_NAMES = 40


def named(kind: str, name: str) -> str:
    """
    Return an element as messages name it, such as ``joint 'shoulder'``; long names are cut.

    :param kind: kind of the element, such as ``joint``.
    :param name: its name.
    """
    shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + '…'
    return f'{kind} {shown!r}'


def named_file(path: str) -> str:
    """
    Return a file as messages name it, such as ``file '/tmp/arm.urdf'``; of a long path the end.

    :param path: its path.
    """
    shown = path if len(path) <= _LONGEST_PATH else '…' + path[-_LONGEST_PATH:]
    return f'file {shown!r}'


def listed(names: Iterable[str]) -> str:
    """
    Return names as messages list them, the first forty of them.

    :param names: the names.
    """
    names = list(names)
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    return ', '.join(shown) + (', …' if len(names) > _MOST_NAMES else '')


def suggested(name: str, valid: Iterable[str]) -> str:
    """
    Return the valid names that look most like a wrong one, as a part of a message.

    :param name: the wrong name.
    :param valid: the valid names.
    """
    valid = list(valid)
    near = difflib.get_close_matches(name[:_LONGEST_NAME], valid, 3, 0.5)
    if near:
        return f'closest: {listed(near)}'
    return f'valid: {listed(valid) or "none"}'
