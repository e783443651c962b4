"""Output of `ik_solve`, as text for people and as JSON: request, outcome, iterations, solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from enum import Enum
import json
import math

import numpy as np

from ik_service import __version__
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
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_spec
from ik_service.solvers.result import IkTrace

FORMAT = 1  # number of the format; it grows when a name or a meaning in it changes


def json_text(request: Request, outcomes: Sequence[SolverOutcome | Refusal], traced: bool) -> str:
    """
    Return request and outcomes as JSON.

    Units are in the names; otherwise positions are in [m], and joint values in the ``unit`` of
    their joint, [rad] or [m]. Infinity and NaN are null.
    """
    solved = [outcome for outcome in outcomes if isinstance(outcome, SolverOutcome)]
    return _document(
        request,
        any(outcome.result.success for outcome in solved),
        traced,
        results=[_result(outcome, traced) for outcome in solved],
        refused=[asdict(outcome) for outcome in outcomes if isinstance(outcome, Refusal)],
    )


def solutions_json(request: Request, solutions: Solutions) -> str:
    """Return request and all solutions as JSON, with the units of :func:`json_text`."""
    return _document(
        request,
        len(solutions.q) > 0,
        False,
        solutions=[
            {'q': q, 'motion_from_seed': motion}
            for q, motion in zip(solutions.q, solutions.motion, strict=True)
        ],
        incomplete=solutions.incomplete,
        call_time_s=solutions.call_time,
    )


def _document(request: Request, solved: bool, traced: bool, **answer: object) -> str:
    """Return a request and the answer to it as JSON."""
    return document(
        request,
        solved,
        target=_target(request),
        seed=request.seed,
        avoid_collisions=request.collisions is not None,
        options={**asdict(request.options), 'record_trace': traced},
        **answer,
        notes=request.notes,
    )


def document(request: ArmRequest, solved: bool, **members: object) -> str:
    """Return an answer as JSON, with the arm it is for."""
    head = {
        'format': FORMAT,
        'ik_service': __version__,
        'solved': solved,
        'robot': _robot(request),
        'joints': _joints(request),
    }
    plain = _plain({**head, **members})
    return json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)


def _robot(request: ArmRequest) -> dict[str, object]:
    chain = request.chain
    return {
        'name': chain.robot.name,
        'urdf': str(request.urdf),
        'base_link': chain.base_link,
        'tip_link': chain.tip_link,
        'locked': chain.locked,
    }


def _joints(request: ArmRequest) -> list[dict[str, object]]:
    chain = request.chain
    return [
        {
            'name': name,
            'type': chain.robot.joints[name].type.value,
            'unit': 'm' if slides else 'rad',
            'lower': chain.lower[i],
            'upper': chain.upper[i],
        }
        for i, (name, slides) in enumerate(zip(chain.joint_names, request.slides, strict=True))
    ]


def _target(request: Request) -> dict[str, object]:
    return {
        'from': request.origin,
        'random_seed': request.random_seed,
        **_pose(request.T_base_target),
        'orientation_free': not request.has_orientation,
    }


def _result(outcome: SolverOutcome, traced: bool) -> dict[str, object]:
    result = outcome.result
    return {
        'solver': outcome.solver,
        'remark': outcome.remark,
        'success': result.success,
        'status': result.status,
        'reason': result.reason,
        'hint': result.hint,
        'collision': result.collision,
        'q': result.q,
        'reached': _pose(outcome.T_base_reached),
        'position_error_m': result.position_error,
        'orientation_error_rad': result.orientation_error,
        'iterations': result.iterations,
        'searches': result.searches,
        'motion_from_seed': outcome.motion,
        'solve_time_s': result.solve_time,
        'call_time_s': outcome.call_time,
        'first_call_time_s': outcome.first_call_time,
        'timed_calls': outcome.timed_calls,
        'trace': _trace(outcome.trace) if traced else None,
    }


def _trace(trace: IkTrace) -> dict[str, object]:
    return {
        'search': trace.search,
        'q': trace.q,
        'step': trace.step,
        'position_error_m': trace.position_error,
        'orientation_error_rad': trace.orientation_error,
    }


def _pose(T: np.ndarray) -> dict[str, object]:
    return {
        'position': T[:3, 3],
        'quaternion_xyzw': quaternion_xyzw_from_rotation(T[:3, :3]),
        'matrix': T,
    }


def _plain(value: object) -> object:
    """Return a value in the types of JSON."""
    if isinstance(value, dict):
        return {str(key): _plain(member) for key, member in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(member) for member in value]
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, type(None))) else str(value)


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
    for k, (q, motion) in enumerate(zip(solutions.q, solutions.motion, strict=True), 1):
        rows.append((str(k), *(number_text(value, 4) for value in q), *_largest(request, motion)))
    return [*lines, '', *table(rows, left=(len(names) + 2,))]


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
    times = (result.solve_time, outcome.call_time, outcome.first_call_time)
    solver, call, first = map(time_text, times)
    text = f'{solver} in the solver, {call} the whole call; first call {first} (loads the solver)'
    lines += labelled('Time', text)
    return [*lines, '', *joint_table(request, outcome)]


def comparison_lines(request: Request, outcomes: Sequence[SolverOutcome | Refusal]) -> list[str]:
    """Return the outcomes of several solvers, as the lines of a table with notes below."""
    answered = [outcome for outcome in outcomes if isinstance(outcome, SolverOutcome)]
    rows = [_COMPARISON_HEADING, *(_comparison_row(request, outcome) for outcome in answered)]
    lines = ['', *table(rows, left=(0, 1, 7)), '']
    repeats = min(outcome.timed_calls for outcome in answered)
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
        time_text(result.solve_time),
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


def free_axes(options: IkOptions) -> list[str]:
    """Return names of the free axes; those of the orientation only where not all of it is free."""
    names = ('x', 'y', 'z', 'about x', 'about y', 'about z')
    weights = options.task_weights[: 6 if any(options.task_weights[3:]) else 3]
    return [name for name, weight in zip(names, weights, strict=False) if weight == 0.0]
