"""Measures of the arm, and their HTML in the panel; every text from outside is escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from html import escape
import math
from typing import TypeVar

import numpy as np

from ik_service.common.quoting import shorten
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.joint_space import search_limits
from ik_service.kinematics.pose_error import pose_error
from ik_service.model.joint import JointType


@dataclass(frozen=True)
class JointPosition:
    """Position of a joint and its limits [rad] or [m], infinite without one."""

    name: str
    value: float
    unit: str
    lower: float
    upper: float

    @property
    def fraction(self) -> float | None:
        """Position between the lower limit (0) and the upper one (1); None without both."""
        lower, upper = (float(end) for end in search_limits(self.lower, self.upper))
        span = upper - lower
        if not 0.0 < span < math.inf:
            return None
        return min(max((self.value - lower) / span, 0.0), 1.0)

    @property
    def distance(self) -> float:
        """Distance to the nearer limit [rad] or [m]; negative beyond it, inf without limits."""
        return min(self.value - self.lower, self.upper - self.value)

    @property
    def limit_proximity(self) -> float:
        """Proximity to a limit: 0 in the middle half of the range, 1 at a limit and beyond."""
        fraction = self.fraction
        return 0.0 if fraction is None else max(0.0, 4.0 * abs(fraction - 0.5) - 1.0)


@dataclass(frozen=True)
class Lag:
    """Lag behind commands [rad] or [m], and time of the slowest joint to catch up [s]."""

    joint: str
    distance: float
    unit: str
    seconds: float


def joint_positions(chain: KinematicChain, q: np.ndarray) -> list[JointPosition]:
    """Return the positions of a chain's joints (n,) [rad] or [m], with their limits."""
    rows = zip(chain.joint_names, q, joint_units(chain), chain.lower, chain.upper, strict=True)
    return [
        JointPosition(name, float(value), unit, float(lower), float(upper))
        for name, value, unit, lower, upper in rows
    ]


def joint_units(chain: KinematicChain) -> tuple[str, ...]:
    """Return ``rad`` or ``m`` for every joint of a chain."""
    kinds = [chain.robot.joints[name].type for name in chain.joint_names]
    return tuple('m' if kind is JointType.PRISMATIC else 'rad' for kind in kinds)


def tracking_error(
    T: np.ndarray, T_target: np.ndarray, weights: Sequence[float] = (1.0,) * 6
) -> tuple[float, float]:
    """Distance [m] and angle [rad] of ``T`` (4, 4) from its target, about axes with a weight."""
    error = pose_error(T, T_target) * (np.asarray(weights) > 0.0)
    return float(np.linalg.norm(error[:3])), float(np.linalg.norm(error[3:]))


def manipulability(jacobian: np.ndarray) -> tuple[float, float]:
    """Yoshikawa's (IJRR 4(2), 1985) √det(J Jᵀ) of (6, n), and the smallest singular value."""
    values = np.linalg.svd(jacobian, compute_uv=False)
    return float(np.prod(values)), float(values.min())


def lag(chain: KinematicChain, q: np.ndarray, q_command: np.ndarray, speeds: np.ndarray) -> Lag:
    """Lag of ``q`` behind ``q_command`` (n,), measured in the joints' finite speeds [s]."""
    behind = np.abs(q_command - q)
    worst = int(np.argmax(behind))
    seconds = np.divide(behind, speeds, out=np.zeros_like(behind), where=speeds > 0.0)
    unit = joint_units(chain)[worst]
    return Lag(chain.joint_names[worst], float(behind[worst]), unit, float(seconds.max()))


def random_reachable_pose(
    chain: KinematicChain, rng: np.random.Generator, floor: float = 0.05, margin: float = 0.1
) -> np.ndarray:
    """Pose T_base_tip (4, 4) within limits and margins, and if it can be above a floor [m]."""
    lower, upper = chain.sampling_bounds()
    inset = margin * (upper - lower)
    for _ in range(100):
        T = chain.forward(rng.uniform(lower + inset, upper - inset))
        if T[2, 3] >= floor:
            break
    return T


@dataclass(frozen=True)
class SolveReport:
    """Figures of a node's last solve [s, m, rad]; None or empty where unknown."""

    iterations: int
    searches: int
    solve_time: float
    status: str = ''
    solver: str = ''
    source: str = ''
    position_error: float | None = None
    orientation_error: float | None = None


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
_LONGEST_NAME = 20  # characters of a name in a table


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
    """Return a status as a coloured box, with room for the headline and so many lines more."""
    color, ground = _COLORS[text.level], _GROUNDS[text.level]
    room = f'box-sizing:content-box;min-height:{1.45 * (1 + lines):g}em'
    return (
        f'<div style="{_FONT};margin:0.25em 0.75em 0.75em;padding:0.5em 0.75em;'
        f'border-left:3px solid {color};background:{ground};border-radius:3px;{room}">'
        f'<b style="color:{color}">{escape(text.headline)}</b>'
        f'<span style="color:{_DETAIL};display:block">{escape(text.detail)}</span></div>'
    )


def with_notices(status: StatusText, contacts: Sequence[str], pause: str) -> StatusText:
    """Add the bodies in contact, of which three pairs are named, and why the demo is paused."""
    notices = [f'collision: {pair}' for pair in contacts[:_MOST_CONTACTS]]
    if len(contacts) > _MOST_CONTACTS:
        notices.append(f'and {len(contacts) - _MOST_CONTACTS} more')
    if pause:
        notices.append(f'the demo is paused: {pause}')
    if not notices:
        return status
    lines = (
        [status.headline, *notices] if status.level is Level.BAD else [*notices, status.headline]
    )
    level = Level.BAD if contacts or status.level is Level.BAD else Level.WAITING
    return StatusText(level, lines[0], '; '.join(filter(None, (*lines[1:], status.detail))))


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
            _of(behind, lambda b: f'{b.seconds * 1e3:.0f} ms, {_name(b.joint)}'),
        ),
        (
            'manipulability',
            _of(figures.manipulability, _number),
            _of(figures.smallest_singular_value, lambda s: f'σ<sub>min</sub> {_number(s)}'),
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
    names = [joint.name for joint in positions]
    rows = ''.join(
        f'<tr><td style="white-space:nowrap;max-width:9em;overflow:hidden;'
        f'text-overflow:ellipsis">{_name(joint.name, names)}</td>'
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
    return f'{1e3 * value:z.1f} mm' if unit == 'm' else f'{math.degrees(value):z.1f}°'


def time_text(seconds: float) -> str:
    """Return a short time [s] in milliseconds or microseconds."""
    return f'{1e3 * seconds:.2f} ms' if seconds >= 1e-3 else f'{1e6 * seconds:.0f} µs'


def framed(content: str) -> str:
    """Return HTML in the font and margin of the panel."""
    return f'<div style="{_FONT};margin:0.25em 0.75em">{content}</div>'


def _name(name: str, among: Sequence[str] = ()) -> str:
    """Return the name of a joint, of a long one both ends, and the whole of it as the tooltip."""
    return f'<span title="{escape(name)}">{escape(shorten(name, _LONGEST_NAME, among))}</span>'


def _number(value: float) -> str:
    return f'{value:.4f}' if 0.001 <= value < 1e4 or value < 1e-12 else f'{value:.2e}'


def _digits(value: float) -> str:
    if value < 0.001:
        return '&lt; 0.001'
    return f'{value:.3f}' if value < 10.0 else f'{value:.1f}' if value < 1e7 else f'{value:.2e}'


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
