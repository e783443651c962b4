"""Sentences about the pairs of links that are not checked, and those that collide at home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker

_MOST = 100  # pairs of one reason that are named


def left_out_text(checker: CollisionChecker) -> str:
    """
    Return which pairs of links are not checked with each other, and why; empty for none.

    :param checker: the checker.
    """
    reasons: dict[str, list[str]] = {}
    for pair, reason in checker.disabled_pairs.items():
        reasons.setdefault(reason or 'by the SRDF', []).append(' – '.join(sorted(pair)))
    return '; '.join(f'{reason}: {_listed(pairs)}' for reason, pairs in reasons.items())


def home_text(checker: CollisionChecker) -> str:
    """
    Return which pairs of links collide at home, and how to allow it; empty for none.

    :param checker: the checker.
    """
    pairs = checker.home_contacts
    if not pairs:
        return ''
    named = _listed([f'{a} with {b}' for a, b in pairs])
    lines = ' '.join(srdf_line(pair) for pair in pairs[:_MOST])
    return (
        'the robot collides in the middle of the limits of its joints (others at 0): '
        f'{named}. Where that is no true collision, an SRDF that disables pairs, those that are '
        f'not checked now among them, can allow it with {lines}'
    )


def srdf_line(pair: Sequence[str], reason: str = 'Default') -> str:
    """
    Return the line of an SRDF that disables the checks of a pair of links.

    :param pair: their names.
    :param reason: why, for the reader.
    """
    a, b = (quoteattr(link) for link in pair)
    return f'<disable_collisions link1={a} link2={b} reason={quoteattr(reason)}/>'


def srdf_lines(pairs: Mapping[frozenset[str], str]) -> list[str]:
    """
    Return the lines of an SRDF for pairs that are not checked.

    :param pairs: the reasons by pair, such as those of a checker.
    """
    return [srdf_line(sorted(pair), reason) for pair, reason in pairs.items()]


def _listed(words: Sequence[str]) -> str:
    more = f' and {len(words) - _MOST} more' if len(words) > _MOST else ''
    return ', '.join(words[:_MOST]) + more
