"""HTML of the panel; every text from outside is escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
import math
from typing import TypeVar

from ik_service.extras.viewer.panel.measures import JointPosition, Lag, SolveReport


class Level(Enum):
    """Severity of a status."""

    GOOD = 'good'
    WAITING = 'waiting'
    BAD = 'bad'


@dataclass(frozen=True)
class StatusText:
    """Text about a state; the detail is a sentence, or empty."""

    level: Level
    headline: str
    detail: str = ''


T = TypeVar('T')

# Colours of a light and of a dark page.
_COLORS = {
    Level.GOOD: 'light-dark(#2b8a3e,#69db7c)',
    Level.WAITING: 'light-dark(#b35900,#ffc078)',
    Level.BAD: 'light-dark(#c92a2a,#ff8787)',
}
_GROUNDS = {
    Level.GOOD: 'light-dark(#ebfbee,#1d3324)',
    Level.WAITING: 'light-dark(#fff9db,#3a2f15)',
    Level.BAD: 'light-dark(#fff5f5,#3b2020)',
}
_DETAIL = 'light-dark(#495057,#ced4da)'
_TRACK = 'light-dark(#e9ecef,#495057)'
_NONE = '<span style="color:light-dark(#adb5bd,#868e96)">–</span>'
_FONT = 'font-size:0.8125em;line-height:1.45;font-variant-numeric:tabular-nums'
_FAINT = 'color:light-dark(#6c757d,#adb5bd)'
_MOST_CONTACTS = 3
_MOST_REMARKS = 20


@dataclass(frozen=True)
class Figures:
    """Live values; None where there is nothing to measure; errors of the tip in [m] and [rad]."""

    position_error: float | None = None
    orientation_error: float | None = None
    solve: SolveReport | None = None
    message: str = ''
    is_reachable: bool = True
    lag: Lag | None = None
    manipulability: float | None = None
    smallest_singular_value: float | None = None


def banner(text: StatusText, lines: int = 1) -> str:
    """Return a status as a coloured box, always with room for so many lines of detail."""
    color, ground = _COLORS[text.level], _GROUNDS[text.level]
    room = f'display:block;min-height:{1.45 * lines:g}em'
    return (
        f'<div style="{_FONT};margin:0.25em 0.75em 0.75em;padding:0.5em 0.75em;'
        f'border-left:3px solid {color};background:{ground};border-radius:3px">'
        f'<b style="color:{color}">{escape(text.headline)}</b>'
        f'<span style="color:{_DETAIL};{room}">{escape(text.detail)}</span></div>'
    )


def collision_lines(contacts: Sequence[str], remarks: Sequence[str]) -> str:
    """Return the pairs of bodies in contact, and remarks; beyond three, pairs are only counted."""
    lines = [f'collision: {escape(text)}' for text in contacts[:_MOST_CONTACTS]]
    more = len(contacts) - len(lines)
    if more:
        lines.append(f'and {more} more')
    found = ''.join(f'<b style="color:{_COLORS[Level.BAD]}">{line}</b><br>' for line in lines)
    told = ''.join(escape(remark) + '<br>' for remark in remarks)
    told = f'<span style="color:{_COLORS[Level.WAITING]}">{told}</span>'
    return framed(f'<div style="padding-bottom:0.5em">{found}{told}</div>')


def remark_lines(remarks: Sequence[str]) -> str:
    """Return remarks about the robot, behind a line that counts them and opens them."""
    shown = [escape(remark) for remark in remarks[:_MOST_REMARKS]]
    if len(remarks) > len(shown):
        shown.append(f'and {len(remarks) - len(shown)} more, in the log')
    count = '1 remark' if len(remarks) == 1 else f'{len(remarks)} remarks'
    lines = ''.join(f'<li style="overflow-wrap:anywhere">{line}</li>' for line in shown)
    return framed(
        f'<details style="padding-bottom:0.5em"><summary style="cursor:pointer;'
        f'color:{_COLORS[Level.WAITING]}">{count} about the robot</summary>'
        f'<ul style="margin:0.25em 0;padding-left:1.25em">{lines}</ul></details>'
    )


def figures_table(figures: Figures) -> str:
    """Return the live values as a table."""
    solve, behind = figures.solve, figures.lag
    rows = [
        (
            'position error',
            _of(figures.position_error, length_text),
            'no target' if figures.position_error is None else '',
        ),
        ('orientation error', _of(figures.orientation_error, angle_text), ''),
        ('solve', _of(solve, lambda s: f'{s.iterations} iterations'), _of(solve, _effort)),
        (
            'following lag',
            _of(behind, lambda b: quantity_text(b.distance, b.unit)),
            _of(behind, lambda b: f'{b.seconds * 1e3:.0f} ms, {escape(b.joint)}'),
        ),
        (
            'manipulability',
            _of(figures.manipulability, lambda w: f'{w:.4f}'),
            _of(figures.smallest_singular_value, lambda s: f'σ<sub>min</sub> {s:.3f}'),
        ),
    ]
    body = ''.join(
        f'<tr><td style="{_FAINT};white-space:nowrap">{label}</td>'
        f'<td style="text-align:right;white-space:nowrap;padding:0 0.75em"><b>{value}</b></td>'
        f'<td style="{_FAINT};white-space:nowrap">{"" if more == _NONE else more}</td></tr>'
        for label, value, more in rows
    )
    return framed(f'<table>{body}</table>{_reason(figures)}')


def joints_table(positions: Sequence[JointPosition]) -> str:
    """Return the joints as a table: a bar between the limits, and the distance to the nearer."""
    rows = ''.join(
        f'<tr><td style="white-space:nowrap;max-width:9em;overflow:hidden;'
        f'text-overflow:ellipsis" title="{escape(joint.name)}">{escape(joint.name)}</td>'
        f'<td style="text-align:right;white-space:nowrap">{quantity_text(joint.value, joint.unit)}'
        f'</td><td style="width:38%;padding:0 0.5em">{_bar(joint)}</td>'
        f'<td style="text-align:right;white-space:nowrap"><b style="color:'
        f'{proximity_color(joint.limit_proximity)}">{_distance(joint)}</b></td></tr>'
        for joint in positions
    )
    head = (
        f'<tr style="{_FAINT};text-align:left"><td>joint</td><td style="text-align:right">at</td>'
        '<td></td><td style="text-align:right;white-space:nowrap">to limit</td></tr>'
    )
    return framed(f'<table style="width:100%">{head}{rows}</table>')


def proximity_color(limit_proximity: float) -> str:
    """Return the colour of a proximity to a limit: green at 0, amber at 1/2, red at 1."""
    proximity = min(max(limit_proximity, 0.0), 1.0)
    hue, lightness = round(140 * (1.0 - proximity)), round(34 + 8 * proximity)
    return f'light-dark(hsl({hue},65%,{lightness}%),hsl({hue},65%,{lightness + 24}%))'


def length_text(meters: float) -> str:
    """Return a length [m] in millimetres."""
    return f'{_digits(1e3 * meters)} mm'


def angle_text(radians: float) -> str:
    """Return an angle [rad] in degrees."""
    return f'{_digits(math.degrees(radians))}°'


def quantity_text(value: float, unit: str) -> str:
    """Return a joint's position, or a difference, [rad] or [m], in degrees or millimetres."""
    return f'{1e3 * value:.1f} mm' if unit == 'm' else f'{math.degrees(value):.1f}°'


def time_text(seconds: float) -> str:
    """Return a short time [s] in milliseconds or microseconds."""
    return f'{1e3 * seconds:.2f} ms' if seconds >= 1e-3 else f'{1e6 * seconds:.0f} µs'


def framed(content: str) -> str:
    """Return HTML in the font and margin of the panel."""
    return f'<div style="{_FONT};margin:0.25em 0.75em">{content}</div>'


def _digits(value: float) -> str:
    if value < 0.001:
        return '&lt; 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}'


def _of(value: T | None, text: Callable[[T], str]) -> str:
    return _NONE if value is None else text(value)


def _effort(solve: SolveReport) -> str:
    searches = '1 search' if solve.searches == 1 else f'{solve.searches} searches'
    details = ', '.join(filter(None, (solve.solver, solve.source, solve.status)))
    return f'<span title="{escape(details)}">{searches}, {time_text(solve.solve_time)}</span>'


def _reason(figures: Figures) -> str:
    """Return why the target is not reached, if it is not, in the room of two lines."""
    shown = '' if figures.is_reachable else escape(figures.message)
    # The room is always there, so that nothing below moves; the whole text is the tooltip.
    return (
        f'<div title="{shown}" style="color:{_COLORS[Level.WAITING]};height:2.9em;'
        'overflow:hidden;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:2">'
        f'{shown}</div>'
    )


def _distance(joint: JointPosition) -> str:
    return '∞' if math.isinf(joint.distance) else quantity_text(joint.distance, joint.unit)


def _bar(joint: JointPosition) -> str:
    if joint.fraction is None:
        return ''
    color = proximity_color(joint.limit_proximity)
    return (
        f'<div style="position:relative;height:0.5em;background:{_TRACK};border-radius:0.25em">'
        f'<div style="position:absolute;left:calc({100 * joint.fraction:.1f}% - 0.25em);'
        f'width:0.5em;height:0.5em;border-radius:0.25em;background:{color}"></div></div>'
    )
