"""Text of others in our messages: quoted, and cut to a length that can be read."""

from __future__ import annotations

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
