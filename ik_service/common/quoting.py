"""Foreign values and names as text for messages: quoted, and truncated to a readable length."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
import difflib

MAX_LENGTH = 200  # characters of foreign text that a message repeats, at most


def truncate(text: str) -> str:
    """Return a text as it is, or its beginning when it is long."""
    return text if len(text) <= MAX_LENGTH else f'{text[:MAX_LENGTH]}…'


def shorten(name: str, longest: int, among: Iterable[str] = ()) -> str:
    """
    Return a name, or both ends of a long one: names of one robot often begin alike.

    :param name: the name.
    :param longest: number of characters, at most.
    :param among: names beside it, of which none shall look like it.
    """
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    begin, end = name[:half], name[half + 1 - longest :]
    alike = [other for other in among if other.startswith(begin) and other.endswith(end)]
    columns = enumerate(zip(name, *alike, strict=False))
    first = next((i for i, letters in columns if len({*letters}) > 1), None)
    if first is not None:
        return f'…{name[first : first + longest - 2]}…'
    return f'{begin}…{end}'


def quote(text: str) -> str:
    """Return a text in quotation marks, such as ``'shoulder'``; a long one is truncated."""
    if len(text) <= MAX_LENGTH:
        return repr(text)
    return f'{text[:MAX_LENGTH]!r}… ({len(text)} characters)'


def safe_repr(value: object, text_of: Callable[[object], str] = repr) -> str:
    """
    Return the text of any value, truncated when it is long; never raises.

    :param value: any value.
    :param text_of: makes the text; may fail, as Python does for a number of 5,000 digits.
    """
    if isinstance(value, str) and text_of is repr:
        return quote(value)
    try:
        # Lists of numbers in messages and parameters of ROS are arrays.
        text = text_of(value.tolist() if isinstance(value, array) else value)
    except Exception:
        return f'a {type(value).__name__} that cannot be shown'
    return truncate(text)


_ALIKE = 0.6  # share of two names that has to be the same, so that one may be meant by the other
_SHORTEST_PART = 2  # characters of a name that may be meant by one with a prefix or suffix more
_LONGEST_NAME = 80  # characters of a name
_LONGEST_PATH = 300  # characters of a path
_MOST_NAMES = 40  # names of a list


def named(kind: str, name: str) -> str:
    """Return an element as messages name it, such as ``joint 'shoulder'``; long names are cut."""
    shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + '…'
    return f'{kind} {shown!r}'


def named_file(path: str) -> str:
    """Return a file as messages name it: ``file '/tmp/arm.urdf'``; of a long path the end."""
    return f'file {shown_path(path)!r}'


def shown_path(path: object) -> str:
    """Return a path as it is, or the end of a long one."""
    text = str(path)
    return text if len(text) <= _LONGEST_PATH else '…' + text[-_LONGEST_PATH:]


def counted(count: int, noun: str) -> str:
    """Return a number of things, such as ``1 joint`` or ``6 joints``."""
    return f'{count} {noun}{"" if count == 1 else "s"}'


def listed(names: Iterable[str]) -> str:
    """Return names as messages list them, the first forty of them."""
    names = list(names)
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    return ', '.join(shown) + (', …' if len(names) > _MOST_NAMES else '')


def suggested(name: str, valid: Iterable[str]) -> str:
    """Return the valid names that look most like a wrong one, as a part of a message."""
    valid = list(valid)
    near = difflib.get_close_matches(name[:_LONGEST_NAME], valid, 3, 0.5)
    if near:
        return f'closest: {listed(near)}'
    return f'valid: {listed(valid) or "none"}'


def nearest(name: str, names: Iterable[str]) -> str:
    """
    Return the name that is most like another; empty where none is.

    One that has a part more, or a prefix less, such as ``left_``, goes before all others.

    :param name: the name.
    :param names: those to choose from.
    """
    name, names = truncate(name), [truncate(other) for other in names]
    long = [other for other in names if len(other) >= _SHORTEST_PART <= len(name)]
    whole = [other for other in long if name in other or name.endswith(other)]
    if whole:
        return min(whole, key=len)
    return next(iter(difflib.get_close_matches(name, names, 1, _ALIKE)), '')


def meant(name: str, names: Iterable[str]) -> str:
    """Return the remark on the name that may be meant by a wrong one; empty where none is like."""
    near = nearest(name, names)
    return f' (is {near} meant?)' if near else ''
