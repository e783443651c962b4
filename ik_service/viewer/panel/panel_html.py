"""What the panel shows, as HTML; every word from outside is escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
import math
from typing import Any

from ik_service.viewer.panel.measures import JointPosition, Lag
from ik_service.viewer.panel.connection_status import Level, ConnectionStatus
from ik_service.viewer.panel.solve_figures import SolveFigures

_NONE = '<span style="color:#adb5bd">–</span>'
_COLORS = {Level.GOOD: '#2b8a3e', Level.WAITING: '#e67700', Level.BAD: '#c92a2a'}
_GROUNDS = {Level.GOOD: '#ebfbee', Level.WAITING: '#fff9db', Level.BAD: '#fff5f5'}
_FONT = 'font-size:0.8125em;line-height:1.45;font-variant-numeric:tabular-nums'
_FAINT = 'color:#868e96'


@dataclass(frozen=True)
class Figures:
    """
    The live numbers; None where there is nothing to measure.

    :ivar position_error: of the tip from the target [m].
    :ivar orientation_error: [rad].
    :ivar solve: what the last solve took.
    :ivar verdict: the last answer of ``compute_ik`` in a sentence.
    :ivar reached: whether that answer was a solution.
    :ivar lag: of the arm behind its commands.
    :ivar manipulability: of the posture.
    :ivar smallest_singular_value: of its Jacobian.
    """

    position_error: float | None = None
    orientation_error: float | None = None
    solve: SolveFigures | None = None
    verdict: str = ''
    reached: bool = True
    lag: Lag | None = None
    manipulability: float | None = None
    smallest_singular_value: float | None = None


def banner(connection_status: ConnectionStatus) -> str:
    """Return the state of the node and the arm as a coloured box."""
    color, ground = _COLORS[connection_status.level], _GROUNDS[connection_status.level]
    return (
        f'<div style="{_FONT};margin:0.25em 0.75em 0.75em;padding:0.5em 0.75em;'
        f'border-left:3px solid {color};background:{ground};border-radius:3px">'
        f'<b style="color:{color}">{escape(connection_status.headline)}</b><br>'
        f'<span style="color:#495057">{escape(connection_status.detail) or "&nbsp;"}</span></div>'
    )


def note(text: str) -> str:
    """Return a remark in a few words of warning colour."""
    return _framed(f'<span style="color:{_COLORS[Level.WAITING]}">{escape(text)}</span>')


def figures_table(figures: Figures) -> str:
    """Return the live numbers as a table."""
    solve, behind = figures.solve, figures.lag
    rows = [
        ('position error', _of(figures.position_error, length_text), ''),
        ('orientation error', _of(figures.orientation_error, angle_text), ''),
        (
            'solve',
            _of(solve, lambda s: f'{s.iterations} iterations'),
            _of(solve, lambda s: f'{_searches(s.searches)}, {time_text(s.milliseconds)}'),
        ),
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
    return _framed(f'<table>{body}</table>{_verdict(figures)}')


def joints_table(places: Sequence[JointPosition]) -> str:
    """Return the joints between their limits: a bar each, and the distance to the nearer one."""
    rows = ''.join(
        f'<tr><td style="white-space:nowrap;max-width:9em;overflow:hidden;'
        f'text-overflow:ellipsis" title="{escape(place.name)}">{escape(place.name)}</td>'
        f'<td style="text-align:right;white-space:nowrap">{quantity_text(place.value, place.unit)}'
        f'</td><td style="width:38%;padding:0 0.5em">{_bar(place)}</td>'
        f'<td style="text-align:right;white-space:nowrap;color:{proximity_color(place.limit_proximity)}">'
        f'<b>{_room(place)}</b></td></tr>'
        for place in places
    )
    head = (
        f'<tr style="{_FAINT};text-align:left"><td>joint</td><td style="text-align:right">at</td>'
        '<td></td><td style="text-align:right;white-space:nowrap">to limit</td></tr>'
    )
    return _framed(f'<table style="width:100%">{head}{rows}</table>')


def proximity_color(limit_proximity: float) -> str:
    """Return a colour for the nearness to a limit: green at 0, amber at 1/2, red at 1."""
    limit_proximity = min(max(limit_proximity, 0.0), 1.0)
    return f'hsl({round(140 * (1.0 - limit_proximity))},65%,{round(34 + 8 * limit_proximity)}%)'


def length_text(meters: float) -> str:
    """Return a length, in millimetres."""
    return f'{_digits(1e3 * meters)} mm'


def angle_text(radians: float) -> str:
    """Return an angle, in degrees."""
    return f'{_digits(math.degrees(radians))}°'


def quantity_text(value: float, unit: str) -> str:
    """Return a joint's position or a part of it; ``unit`` is ``rad`` or ``m``."""
    return f'{1e3 * value:.1f} mm' if unit == 'm' else f'{math.degrees(value):.1f}°'


def time_text(milliseconds: float) -> str:
    """Return a short time."""
    return f'{milliseconds:.2f} ms' if milliseconds >= 1.0 else f'{1e3 * milliseconds:.0f} µs'


def _framed(content: str) -> str:
    return f'<div style="{_FONT};margin:0.25em 0.75em">{content}</div>'


def _digits(value: float) -> str:
    if value < 0.001:
        return '&lt; 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}'


def _of(value: object | None, text: Callable[[Any], str]) -> str:
    return _NONE if value is None else text(value)


def _searches(count: int) -> str:
    return '1 search' if count == 1 else f'{count} searches'


def _verdict(figures: Figures) -> str:
    if not figures.verdict or figures.reached:
        return ''
    return f'<div style="color:{_COLORS[Level.WAITING]}">{escape(figures.verdict)}</div>'


def _room(place: JointPosition) -> str:
    return '∞' if math.isinf(place.distance) else quantity_text(place.distance, place.unit)


def _bar(place: JointPosition) -> str:
    if place.share is None:
        return ''
    color = proximity_color(place.limit_proximity)
    return (
        '<div style="position:relative;height:0.5em;background:#e9ecef;border-radius:0.25em">'
        f'<div style="position:absolute;left:calc({100 * place.share:.1f}% - 0.25em);'
        f'width:0.5em;height:0.5em;border-radius:0.25em;background:{color}"></div></div>'
    )
