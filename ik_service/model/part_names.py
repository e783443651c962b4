"""How error messages name the parts of a robot description."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST_NAME = 80
_MOST_NAMES = 40


def named(kind: str, name: str) -> str:
    """Name an element, such as ``joint 'shoulder'``; an overlong name is cut."""
    shown = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + '…'
    return f'{kind} {shown!r}'


def listed(names: Iterable[str]) -> str:
    """List names for a message, the first forty of them."""
    names = list(names)
    shown = [name[:_LONGEST_NAME] for name in names[:_MOST_NAMES]]
    return ', '.join(shown) + (', …' if len(names) > _MOST_NAMES else '')
