"""Foreign values as text for messages: quoted, and truncated to a readable length."""

from __future__ import annotations

from collections.abc import Callable

MAX_LENGTH = 200
"""Characters of foreign text that a message repeats, at most."""


def truncate(text: str) -> str:
    """
    Return a text as it is, or its beginning when it is long.

    :param text: any text.
    """
    return text if len(text) <= MAX_LENGTH else f'{text[:MAX_LENGTH]}…'


def quote(text: str) -> str:
    """
    Return a text in quotation marks, such as ``'shoulder'``; a long one is truncated.

    :param text: any text.
    """
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
        text = text_of(value)
    except Exception:
        return f'a {type(value).__name__} that cannot be shown'
    return truncate(text)
