"""Values of others in our messages: quoted, and cut to a length that can be read."""

from __future__ import annotations

from collections.abc import Callable

LONGEST = 200
"""Characters of foreign text that a message repeats, at most."""


def cut(text: str) -> str:
    """Return a text as it is, or its beginning when it is long."""
    return text if len(text) <= LONGEST else f'{text[:LONGEST]}…'


def echo(text: str) -> str:
    """Return a text as a message quotes it, such as ``'shoulder'``; a long one is cut."""
    if len(text) <= LONGEST:
        return repr(text)
    return f'{text[:LONGEST]!r}… ({len(text)} characters)'


def shown(value: object, text_of: Callable[[object], str] = repr) -> str:
    """
    Return the text of any value for a message, cut when it is long.

    :param text_of: what makes the text; may fail, as Python does for a number of 5,000 digits.
    """
    if isinstance(value, str) and text_of is repr:
        return echo(value)
    try:
        text = text_of(value)
    except Exception:
        return f'a {type(value).__name__} that cannot be shown'
    return cut(text)
