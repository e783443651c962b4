"""Content of the IK node's diagnostics that the page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import math

from ik_service.extras.viewer.panel.solve_report import SolveReport

_SOLVE = 'last_solve.'  # prefix of the keys that describe the last solve


@dataclass(frozen=True)
class Entry:
    """
    Status of one part of a node, from a diagnostics message.

    :ivar name: ``<node>: <part>``.
    :ivar is_warning: whether its level is above OK.
    :ivar message: its sentence.
    :ivar values: its values by key.
    """

    name: str
    is_warning: bool
    message: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class NodeReport:
    """
    State of the IK node; texts are empty where the diagnostics hold none.

    :ivar base_link: base link of the chain.
    :ivar tip_link: tip link of the chain.
    :ivar activity: what the node is doing, in a sentence.
    :ivar is_warning: whether that is a warning or an error.
    :ivar solve: figures of the last solve; None without any.
    """

    base_link: str = ''
    tip_link: str = ''
    activity: str = ''
    is_warning: bool = False
    solve: SolveReport | None = None


def read_report(entries: Iterable[Entry], node: str) -> NodeReport | None:
    """
    Return the state that a node reports; None when the message is from another node.

    :param entries: the parts of the message.
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
    current = following or robot
    return NodeReport(
        base_link=robot.values.get('base_link', '') if robot else '',
        tip_link=robot.values.get('tip_link', '') if robot else '',
        activity=current.message if current else '',
        is_warning=current.is_warning if current else False,
        solve=_last_solve(parts.values()),
    )


def _last_solve(parts: Iterable[Entry]) -> SolveReport | None:
    """Return the newest solve that a node's parts report."""
    reported = [part.values for part in parts if f'{_SOLVE}iterations' in part.values]
    if not reported:
        return None
    return _read_solve(max(reported, key=lambda v: _number(v, 'stamp') or 0.0))


def _read_solve(values: Mapping[str, str]) -> SolveReport | None:
    """Return the solve that a part reports; None when a number is missing or wrong."""
    iterations, searches = _number(values, 'iterations'), _number(values, 'searches')
    solve_time = _number(values, 'solve_time')
    if iterations is None or searches is None or solve_time is None:
        return None
    texts = {key: values.get(f'{_SOLVE}{key}', '') for key in ('status', 'solver', 'source')}
    return SolveReport(
        int(iterations),
        int(searches),
        solve_time,
        position_error=_number(values, 'position_error'),
        orientation_error=_number(values, 'orientation_error'),
        **texts,
    )


def _number(values: Mapping[str, str], key: str) -> float | None:
    """Return a number of the last solve; None when it is missing, negative or not finite."""
    try:
        number = float(values[f'{_SOLVE}{key}'])
    except (KeyError, ValueError):
        return None
    return number if 0.0 <= number < math.inf else None
