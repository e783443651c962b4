"""Text output of ``ik_solve``: request, outcome, iterations, and solvers compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import math

import numpy as np

from ik_service.cli.formatting import (
    angle_text,
    distance_text,
    effort_text,
    joint_value_text,
    labelled,
    limits_text,
    motion_text,
    number_text,
    pose_text,
    table,
    time_text,
)
from ik_service.cli.solve.options import ArmRequest
from ik_service.cli.solve.outcome import Refusal, Solutions, SolverOutcome
from ik_service.cli.solve.request import Request
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_spec


def solution_lines(request: Request, solutions: Solutions) -> list[str]:
    """Return the solutions as the lines of a table, a row each."""
    names = request.chain.joint_names
    count = len(solutions.q)
    none = '0, there is none within the limits' if solutions.proved else '0, none was found'
    lines = labelled('Solutions', f'{count}, the nearest to the seed first' if count else none)
    if solutions.incomplete:
        lines += labelled('Note', solutions.incomplete)
    lines += labelled('Time', time_text(solutions.call_time))
    lines += labelled('Joints', ', '.join(f'{i + 1} {name}' for i, name in enumerate(names)))
    if count == 0:
        return lines
    rows: list[Sequence[str]] = [('', *(str(i + 1) for i in range(len(names))), 'motion', '')]
    found = zip(solutions.q, solutions.motion, strict=True)
    rows += [_solution_row(request, k, *row) for k, row in enumerate(found)]
    return [*lines, '', *table(rows, left=(len(names) + 2,))]


def _solution_row(request: Request, k: int, q: np.ndarray, motion: np.ndarray) -> tuple[str, ...]:
    """Return number, joint values [rad] or [m], and the largest motion from the seed."""
    return (str(k + 1), *(number_text(value, 4) for value in q), *_largest(request, motion))


def _largest(request: Request, motion: np.ndarray) -> tuple[str, str]:
    """Return the largest of motions of the joints (n,) [rad] or [m], and its joint."""
    i = int(np.argmax(np.abs(motion)))
    return motion_text(motion[i], request.slides[i]), request.chain.joint_names[i]


_AT_LIMIT = 1e-9  # [rad] or [m]
_HEAD, _TAIL = 12, 6  # iterations of a search that are shown
_FIRST, _LAST = 2, 1  # searches that are shown
_TRACE_HEADING = (
    'search', 'iteration', 'position error', 'orientation error', 'largest joint step'
)  # fmt: skip
_COMPARISON_HEADING = (
    'solver', 'result', 'off by', '', 'iterations', 'searches', 'time', 'largest motion'
)  # fmt: skip


def robot_lines(request: ArmRequest) -> list[str]:
    """Return robot, file and locked joints, as lines."""
    chain = request.chain
    joints = 'joint' if chain.n == 1 else 'joints'
    lines = labelled(
        'Robot', f'{chain.robot.name}: {chain.n} {joints}, {chain.base_link} → {chain.tip_link}'
    )
    lines += labelled('', str(request.urdf))
    if chain.locked:
        pairs = ', '.join(f'{name}={value:g}' for name, value in chain.locked.items())
        lines += labelled('Locked', pairs)
    return lines


def request_lines(request: Request) -> list[str]:
    """Return robot, target and notes, as lines."""
    lines = robot_lines(request)
    lines += labelled(
        'Target',
        pose_text(request.T_base_target, request.has_orientation, *free_axes(request.options)),
    )
    return [*lines, *(line for note in request.notes for line in labelled('Note', note))]


def outcome_lines(request: Request, outcome: SolverOutcome) -> list[str]:
    """Return the pose that a solver reached, its effort and its joint values, as lines."""
    result, options = outcome.result, request.options
    off = deviation_text(request, result.position_error, result.orientation_error)
    within = deviation_text(request, options.position_tolerance, options.orientation_tolerance)
    reached = result.success or result.collision is not None
    lines = labelled('Reached' if reached else 'Closest', pose_text(outcome.T_base_reached))
    lines += labelled('Off by', f'{off}   (tolerance {within})')
    lines += labelled('Result', f'{result.status.name}: {result.status.value}')
    if result.hint:
        lines += labelled('Hint', f'{result.hint} (--position-only)')
    if result.collision is not None:
        lines += labelled('Collision', ' and '.join(result.collision))
    elif result.success and request.collisions is not None and request.collisions.has_geometry:
        lines += labelled('Collision', 'none of the robot with itself')
    lines += labelled('Solver', f'{outcome.solver}: {solver_spec(outcome.solver).summary}')
    if outcome.remark:
        lines += labelled('', outcome.remark)
    lines += labelled('Effort', effort_text(result.iterations, result.searches))
    lines += labelled('Time', _time_text(outcome))
    return [*lines, '', *joint_table(request, outcome)]


def comparison_lines(request: Request, outcomes: Sequence[SolverOutcome | Refusal]) -> list[str]:
    """Return the outcomes of several solvers, as the lines of a table with notes below."""
    answered = [outcome for outcome in outcomes if isinstance(outcome, SolverOutcome)]
    rows = [_COMPARISON_HEADING, *(_comparison_row(request, outcome) for outcome in answered)]
    lines = ['', *table(rows, left=(0, 1, 7)), '']
    repeats = min(outcome.timing.repeats for outcome in answered)
    lines += labelled('Time', f'median in the solver, of {repeats} warm calls or more')
    lines += labelled('Motion', 'of the joint that moves most from the seed')
    for outcome in outcomes:
        if isinstance(outcome, Refusal):
            lines += labelled('Left out', f'{outcome.solver}: {outcome.reason}')
        elif outcome.remark:
            lines += labelled('Remark', f'{outcome.solver}: {outcome.remark}')
    return lines


def trace_lines(request: Request, outcome: SolverOutcome) -> list[str]:
    """Return the iterations, as lines: search by search, the middle of long ones left out."""
    rows: list[Sequence[str]] = [_TRACE_HEADING]
    gaps: dict[int, str] = {}  # rows left out before a row
    for item in _shown_iterations(outcome.trace.search):
        if isinstance(item, str):
            gaps[len(rows)] = item
        else:
            rows.append(_trace_row(request, outcome, *item))
    lines = table(rows, left=(0, 4))
    for line in sorted(gaps, reverse=True):
        lines.insert(line, gaps[line])
    if gaps:
        lines.append('(--json --trace shows all of them)')
    return lines


def _shown_iterations(search: np.ndarray) -> Iterator[tuple[int, int] | str]:
    """
    Choose the iterations to show, search by search.

    :param search: (k,) number of the search that each row of the trace belongs to.
    :returns: row of the trace and number of the iteration in its search; a text where some are
        left out.
    """
    numbers = np.unique(search).tolist()
    skipped = numbers[_FIRST : len(numbers) - _LAST] if len(numbers) > _FIRST + _LAST else []
    for number in numbers:
        rows = np.flatnonzero(search == number).tolist()
        if number in skipped:
            if number == skipped[-1]:
                steps = sum(int((search == n).sum()) - 1 for n in skipped)
                yield f'… {effort_text(steps, len(skipped))}'
            continue
        whole = len(rows) <= _HEAD + _TAIL + 1
        yield from ((row, k) for k, row in enumerate(rows) if whole or k < _HEAD)
        if not whole:
            yield f'… {len(rows) - _HEAD - _TAIL} iterations'
            yield from ((rows[k], k) for k in range(len(rows) - _TAIL, len(rows)))


def deviation_text(request: Request, position: float, orientation: float) -> str:
    """Return the errors of a pose [m] and [rad], without those that the task leaves free."""
    parts = []
    if request.has_position:
        parts.append(distance_text(position))
    if request.has_orientation:
        parts.append(angle_text(orientation))
    return ', '.join(parts)


def joint_table(request: Request, outcome: SolverOutcome) -> list[str]:
    """Return a table of the joints: value, limits, distance to the nearer, motion from seed."""
    chain, q = request.chain, outcome.result.q
    rows: list[Sequence[str]] = [
        ('joint', 'value', '', 'limits', 'to the limit', '', 'from the seed')
    ]
    for i, (name, slides) in enumerate(zip(chain.joint_names, request.slides, strict=True)):
        rows.append(
            (
                name,
                *joint_value_text(q[i], slides),
                limits_text(chain.lower[i], chain.upper[i], slides),
                *margin_text(q[i], chain.lower[i], chain.upper[i], slides),
                motion_text(outcome.motion[i], slides),
            )
        )
    return table(rows, left=(0, 3))


def _trace_row(
    request: Request, outcome: SolverOutcome, row: int, iteration: int
) -> tuple[str, ...]:
    trace = outcome.trace
    search = int(trace.search[row])
    name = 'approach' if search == outcome.approach else str(search + 1)
    return (
        name,
        str(iteration),
        distance_text(trace.position_error[row]) if request.has_position else 'free',
        angle_text(trace.orientation_error[row]) if request.has_orientation else 'free',
        '  '.join(_largest(request, trace.step[row])) if iteration else 'start',
    )


def _comparison_row(request: Request, outcome: SolverOutcome) -> tuple[str, ...]:
    result = outcome.result
    return (
        outcome.solver,
        'solved' if result.success else result.status.name,
        distance_text(result.position_error) if request.has_position else 'free',
        angle_text(result.orientation_error) if request.has_orientation else 'free',
        str(result.iterations),
        str(result.searches),
        time_text(outcome.timing.solver),
        '  '.join(_largest(request, outcome.motion)),
    )


def margin_text(value: float, lower: float, upper: float, slides: bool) -> tuple[str, str]:
    """Return the distance of a joint value from its nearer limit, in one unit or two."""
    margin = min(value - lower, upper - value)
    if margin == math.inf:
        return '', ''
    if margin < -_AT_LIMIT:
        beyond = joint_value_text(-margin, slides)
        return f'{beyond[0].strip()} beyond', beyond[1]
    if margin < _AT_LIMIT:
        return 'at the limit', ''
    return joint_value_text(margin, slides)


def _time_text(outcome: SolverOutcome) -> str:
    timing = outcome.timing
    return (
        f'{time_text(timing.solver)} in the solver, {time_text(timing.call)} the whole call; '
        f'first call {time_text(timing.first)} (loads the solver)'
    )


def free_axes(options: IkOptions) -> list[str]:
    """Return names of the free axes; those of the orientation only where not all of it is free."""
    names = ('x', 'y', 'z', 'about x', 'about y', 'about z')
    weights = options.task_weights[: 6 if any(options.task_weights[3:]) else 3]
    return [name for name, weight in zip(names, weights, strict=False) if weight == 0.0]
