"""How ``ik_solve`` shows an answer to people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import math
import textwrap

import numpy as np

from ik_service.cli.solve.question import Question
from ik_service.cli.solve.run import Answer
from ik_service.common.transforms import rpy_from_rotation
from ik_service.solvers.registry import solver_spec

_LABEL = 10  # width of the first column
_WIDTH = 100  # of all of them
_AT_LIMIT = 1e-9  # [rad] or [m]
_FAR = 10.0  # a distance that is better said in metres [m]


def question_lines(question: Question) -> list[str]:
    """Return what is asked, as lines."""
    chain = question.chain
    joints = 'joint' if chain.n == 1 else 'joints'
    lines = row('Robot', f'{chain.robot.name}: {chain.n} {joints}, {_ends(question)}')
    lines += row('', str(question.urdf))
    if chain.locked:
        pairs = ', '.join(f'{name}={value:g}' for name, value in chain.locked.items())
        lines += row('Locked', pairs)
    lines += row('Target', pose_text(question.T_base_target, question.turns, *_freedom(question)))
    return lines


def answer_lines(question: Question, answer: Answer) -> list[str]:
    """Return the answer of a solver, as lines."""
    result, options = answer.result, question.options
    off = deviation_text(question, result.position_error, result.orientation_error)
    within = deviation_text(question, options.position_tolerance, options.orientation_tolerance)
    lines = row('Reached' if result.success else 'Closest', pose_text(answer.T_base_reached))
    lines += row('Off by', f'{off}   (tolerance {within})')
    lines += row('Result', f'{result.status.name}: {result.status.value}')
    lines += row('Solver', f'{answer.solver}: {solver_spec(answer.solver).summary}')
    if answer.remark:
        lines += row('', answer.remark)
    lines += row('Effort', effort_text(result.iterations, result.searches))
    lines += row('Time', _time_text(answer))
    return [*lines, '', *joint_table(question, answer)]


def note_lines(question: Question) -> list[str]:
    """Return the notes, as lines."""
    return [line for note in question.notes for line in row('Note', note)]


def row(label: str, text: str) -> list[str]:
    """Return a text with a label before it, wrapped."""
    indent = ' ' * _LABEL
    wrapped = textwrap.wrap(
        text, _WIDTH - _LABEL, drop_whitespace=False, break_on_hyphens=False
    ) or ['']
    first, *others = (line.strip() for line in wrapped)
    return [f'{label:<{_LABEL}}{first}'.rstrip(), *(f'{indent}{line}' for line in others)]


def pose_text(T: np.ndarray, turned: bool = True, *free: str) -> str:
    """
    Return a pose in words.

    :param T: (4, 4); the rotation is given as roll, pitch, yaw about fixed axes, as in URDF.
    :param turned: whether its orientation means anything.
    :param free: the axes along or about which it means nothing.
    """
    x, y, z = (plain(value, 4) for value in T[:3, 3])
    angles = 'any orientation'
    if turned:
        roll, pitch, yaw = (
            plain(math.degrees(angle), 2) for angle in rpy_from_rotation(T[:3, :3])
        )
        angles = f'roll {roll}  pitch {pitch}  yaw {yaw}°'
    text = f'x {x}  y {y}  z {z} m   {angles}'
    return f'{text}   (free: {", ".join(free)})' if free else text


def deviation_text(question: Question, position: float, orientation: float) -> str:
    """
    Return how far a pose is off, as far as that matters.

    :param position: [m].
    :param orientation: [rad].
    """
    parts = []
    if question.places:
        parts.append(distance_text(position))
    if question.turns:
        parts.append(f'{short(math.degrees(orientation))}°')
    return ', '.join(parts)


def effort_text(iterations: int, searches: int) -> str:
    """Return how much work it was."""
    return (
        f'{iterations} iteration{"" if iterations == 1 else "s"} in '
        f'{searches} search{"" if searches == 1 else "es"}'
    )


def joint_table(question: Question, answer: Answer) -> list[str]:
    """Return the joints: value, limits, what is left to the nearer one, way from the start."""
    chain, q = question.chain, answer.result.q
    rows = [('joint', 'value', '', 'limits', 'to the limit', '', 'from the seed')]
    for i, (name, slides) in enumerate(zip(chain.joint_names, question.slides, strict=True)):
        rows.append(
            (
                name,
                *both(q[i], slides),
                limits_text(chain.lower[i], chain.upper[i], slides),
                *_margin(q[i], chain.lower[i], chain.upper[i], slides),
                motion_text(answer.motion[i], slides),
            )
        )
    return table(rows, left=(0, 3))


def table(rows: Sequence[Sequence[str]], left: Iterable[int] = (0,)) -> list[str]:
    """
    Return rows of texts as lines with aligned columns.

    :param rows: the first is the heading.
    :param left: the columns that are aligned to the left; the others are to the right.
    """
    left = set(left)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        '  '.join(
            f'{text:<{width}}' if number in left else f'{text:>{width}}'
            for number, (text, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()
        for cells in rows
    ]


def both(value: float, slides: bool) -> tuple[str, str]:
    """Return a joint value in the unit of the URDF, and in degrees if it is an angle."""
    if slides:
        return f'{plain(value, 4)} m  ', ''
    return f'{plain(value, 4)} rad', f'{plain(math.degrees(value), 2)}°'


def motion_text(value: float, slides: bool) -> str:
    """Return how far a joint has moved."""
    number, digits, unit = (value, 4, ' m') if slides else (math.degrees(value), 2, '°')
    if abs(number) >= 1e5:
        return f'{number:+.3g}{unit}'
    return f'{round(number, digits) + 0.0:+.{digits}f}{unit}'


def limits_text(lower: float, upper: float, slides: bool) -> str:
    """Return the limits of a joint."""
    if lower == -math.inf and upper == math.inf:
        return 'none'
    low = '−∞' if lower == -math.inf else plain(lower, 4)
    high = '∞' if upper == math.inf else plain(upper, 4)
    return f'{low:>7} … {high:>7} {"m" if slides else "rad"}'


def distance_text(distance: float) -> str:
    """Return a distance [m] in millimetres, or in metres if it is long."""
    return f'{distance:.4g} m' if distance >= _FAR else f'{short(distance * 1e3)} mm'


def short(value: float) -> str:
    """Return a size with three digits, readable where it can be."""
    if value == 0.0 or 1e-3 <= value < 1e5:
        return f'{value:.3g}' if value < 1000.0 else f'{value:.0f}'
    return f'{value:.2g}'


def plain(value: float, digits: int) -> str:
    """Return a rounded number without the sign of a zero."""
    return f'{round(value, digits) + 0.0:.{digits}f}'


def _margin(value: float, lower: float, upper: float, slides: bool) -> tuple[str, str]:
    margin = min(value - lower, upper - value)
    if margin == math.inf:
        return '', ''
    if margin < -_AT_LIMIT:
        beyond = both(-margin, slides)
        return f'{beyond[0].strip()} beyond', beyond[1]
    if margin < _AT_LIMIT:
        return 'at the limit', ''
    return both(margin, slides)


def _time_text(answer: Answer) -> str:
    timing = answer.timing
    return (
        f'{time_text(timing.solver)} in the solver, {time_text(timing.call)} the whole call; '
        f'first call {time_text(timing.first)} (loads the solver)'
    )


def time_text(seconds: float) -> str:
    """Return a time in a unit in which it can be read."""
    if seconds >= 1.0:
        return f'{seconds:.3g} s'
    return f'{seconds * 1e3:.3g} ms' if seconds >= 1e-3 else f'{seconds * 1e6:.3g} µs'


def _ends(question: Question) -> str:
    return f'{question.chain.base_link} → {question.chain.tip_link}'


def _freedom(question: Question) -> list[str]:
    """Name the axes that are free, unless the whole orientation is."""
    names = ('x', 'y', 'z', 'about x', 'about y', 'about z')
    weights = question.options.task_weights[: 6 if question.turns else 3]
    return [name for name, weight in zip(names, weights, strict=False) if weight == 0.0]
