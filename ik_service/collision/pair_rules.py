"""Which pairs of links are not checked with each other, in words and as lines of an SRDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ik_service.collision.checker import CollisionChecker

_MOST = 100  # pairs of one reason that are named


def left_out_text(checker: CollisionChecker) -> str:
    """Return which pairs, links and joints are left out of checks, and why; '' for none."""
    reasons: dict[str, list[str]] = {}
    for pair, reason in checker.disabled_pairs.items():
        reasons.setdefault(reason or 'by the SRDF', []).append(' – '.join(sorted(pair)))
    description = checker.robot.description
    seen, solid = (
        dict.fromkeys(link for link, _ in description.elements_of_links(tag))
        for tag in ('visual', 'collision')
    )
    bare = [link for link in seen if link not in solid]
    if bare:
        reasons['visible, but without a collision shape'] = bare
    still = [joint.name for joint in checker.robot.joints.values() if joint.fault]
    if still:
        reasons['joints that cannot be used, and are taken to stand at 0'] = still
    return '; '.join(f'{reason}: {_listed(links)}' for reason, links in reasons.items())


def home_text(checker: CollisionChecker) -> str:
    """Return which pairs of links collide at home, and how to allow it; '' for none."""
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
    """Return the line of an SRDF that disables the checks of a pair of links, with a reason."""
    from xml.sax.saxutils import quoteattr  # imports the network library

    a, b = (quoteattr(link) for link in pair)
    return f'<disable_collisions link1={a} link2={b} reason={quoteattr(reason)}/>'


def srdf_lines(pairs: Mapping[frozenset[str], str]) -> list[str]:
    """Return the lines of an SRDF for pairs that are not checked, by pair with their reasons."""
    return [srdf_line(sorted(pair), reason) for pair, reason in pairs.items()]


def _listed(words: Sequence[str]) -> str:
    more = f' and {len(words) - _MOST} more' if len(words) > _MOST else ''
    return ', '.join(words[:_MOST]) + more
