"""What the IK node says of itself in its diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """
    A part of a diagnostics message.

    :ivar name: ``<node>: <part>``.
    :ivar worry: whether it is a warning or an error.
    :ivar message: its sentence.
    :ivar values: its values by key.
    """

    name: str
    worry: bool
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class NodeReport:
    """
    What matters to a viewer; texts are empty where nothing is said.

    :ivar base_link: where the chain starts.
    :ivar tip_link: where it ends.
    :ivar doing: what the node is doing, in a sentence.
    :ivar worry: whether that is a warning or an error.
    :ivar target: how the solve for the target in force went.
    """

    base_link: str = ''
    tip_link: str = ''
    doing: str = ''
    worry: bool = False
    target: str = ''


def read_report(entries: Iterable[Entry], node: str) -> NodeReport | None:
    """
    Return what a node reports; None when the message is not from it.

    :param node: the node's name, without its namespace.
    """
    parts = {
        entry.name.removeprefix(f'{node}: '): entry
        for entry in entries
        if entry.name.startswith(f'{node}: ')
    }
    if not parts:
        return None
    robot, following = parts.get('robot description'), parts.get('following')
    about = following or robot
    return NodeReport(
        base_link=robot.values.get('base_link', '') if robot else '',
        tip_link=robot.values.get('tip_link', '') if robot else '',
        doing=about.message if about else '',
        worry=about.worry if about else False,
        target=following.values.get('target', '') if following else '',
    )
