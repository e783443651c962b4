"""Output of `ik_solve`, as text for people and as JSON: request, outcome, iterations, solvers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
import csv
from dataclasses import asdict
from enum import Enum
import json
import math
from pathlib import Path

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
from ik_service.cli.solve.request import PathRequest, Request
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.quoting import counted
from ik_service.paths.search.result import PathResult
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_spec

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
    return document(
        request,
        solved,
        target={
            'from': request.origin,
            'random_seed': request.random_seed,
            **_pose(request.T_base_target),
            'orientation_free': not request.has_orientation,
        },
        seed=request.seed,
        avoid_collisions=request.collisions is not None,
        options={**asdict(request.options), 'record_trace': traced},
        **answer,
        notes=request.notes,
    )


def document(request: ArmRequest, solved: bool, **members: object) -> str:
    """Return an answer as JSON, with the arm it is for."""
    chain = request.chain
    answer = {
        'format': FORMAT,
        'ik_service': __version__,
        'solved': solved,
        'robot': {
            'name': chain.robot.name,
            'urdf': str(request.urdf),
            'base_link': chain.base_link,
            'tip_link': chain.tip_link,
            'locked': chain.locked,
        },
        'joints': [
            {
                'name': name,
                'type': chain.robot.joints[name].type.value,
                'unit': 'm' if slides else 'rad',
                'lower': chain.lower[i],
                'upper': chain.upper[i],
            }
            for i, (name, slides) in enumerate(zip(chain.joint_names, request.slides, strict=True))
        ],
        **members,
    }
    return json.dumps(_plain(answer), indent=2, allow_nan=False)


def _result(outcome: SolverOutcome, traced: bool) -> dict[str, object]:
    result, trace = outcome.result, outcome.trace
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
        'trace': {
            'search': trace.search,
            'q': trace.q,
            'step': trace.step,
            'position_error_m': trace.position_error,
            'orientation_error_rad': trace.orientation_error,
        }
        if traced
        else None,
    }


def _pose(T: np.ndarray) -> dict[str, object]:
    return {
        'position': T[:3, 3],
        'quaternion_xyzw': quaternion_xyzw_from_rotation(T[:3, :3]),
        'matrix': T,
    }


def _plain(value: object) -> object:
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
    joints = counted(chain.n, 'joint')
    lines = labelled(
        'Robot', f'{chain.robot.name}: {joints}, {chain.base_link} → {chain.tip_link}'
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
    weights = options.task_weights
    off = deviation_text(weights, result.position_error, result.orientation_error)
    within = deviation_text(weights, options.position_tolerance, options.orientation_tolerance)
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


def deviation_text(weights: Sequence[float], position: float, orientation: float) -> str:
    """Return the errors of a pose [m] and [rad], without those that task weights leave free."""
    parts = []
    if any(weights[:3]):
        parts.append(distance_text(position))
    if any(weights[3:]):
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
    name = 'approach' if search >= outcome.approach else str(search + 1)
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


_HEADING = ('joint', 'from', 'to', '', 'limits', 'to the limit', '', 'largest step')
# Digits behind the point of a joint value in a file [rad] or [m].
_DIGITS = 9


def path_lines(
    request: PathRequest, path: PathResult, timed: JointTrajectory | None = None
) -> list[str]:
    """Return the request and the path, as lines."""
    lines = robot_lines(request)
    lines += labelled('Path', _path_text(request))
    lines += labelled('Start', _start_text(request))
    for note in request.notes:
        lines += labelled('Note', note)
    count = len(path.q)
    lines += labelled('Result', f'{path.status.name}: {path.end.text}')
    lines += labelled('Reached', f'{path.reached} of {count} poses, {100.0 * path.fraction:.3g} %')
    if path.reached:
        position, orientation = (
            errors[: path.reached].max()
            for errors in (path.position_error, path.orientation_error)
        )
        off = deviation_text(request.options.ik.task_weights, position, orientation)
        lines += labelled('Off by', f'{off} at most')
        lines += labelled('Step', _step_text(request, path))
    lines += labelled('Time', f'{time_text(path.solve_time)} in the search')
    if timed is not None:
        lines += labelled('Duration', _duration_text(request, timed))
    return [*lines, '', *_joint_table(request, path)] if path.reached else lines


def path_json(request: PathRequest, path: PathResult, timed: JointTrajectory | None = None) -> str:
    """Return the request and the path as JSON; units as those of the other answers."""
    trajectory = None
    if timed is not None:
        trajectory = {
            'times_s': timed.times,
            'positions': timed.positions,
            'velocities': timed.velocities,
            'accelerations': timed.accelerations,
        }
    end = {**asdict(path.end), 'text': path.end.text}
    return document(
        request,
        path.success,
        path={
            'file': request.file,
            'poses': len(path.q),
            'orientation_free': not any(request.options.ik.task_weights[3:]),
        },
        seed=request.seed,
        end=request.end,
        avoid_collisions=request.collisions is not None,
        options=asdict(request.options),
        reached=path.reached,
        fraction=path.fraction,
        ending=end,
        largest_step=path.largest_step,
        solve_time_s=path.solve_time,
        times_s=request.targets.times,
        trajectory=trajectory,
        q=path.q[: path.reached],
        position_error_m=path.position_error[: path.reached],
        orientation_error_rad=path.orientation_error[: path.reached],
        notes=request.notes,
    )


def write_joints(
    file: Path, request: PathRequest, path: PathResult, timed: JointTrajectory | None = None
) -> None:
    """
    Write the joint values, a line for each pose that is reached, or for each point in time.

    :param file: the CSV file. Its first line names the columns: the joints, after t where the
        poses have times; of a path with times t, the joints, and the velocity of each.
    :raises OSError: it cannot be written.
    """
    names: Sequence[str] = request.chain.joint_names
    values, times = path.q[: path.reached], request.targets.times
    if timed is not None and timed.velocities is not None:
        names = ('t', *names, *(f'{name}_velocity' for name in names))
        values = np.column_stack([timed.times, timed.positions, timed.velocities])
    elif times is not None:
        names, values = ('t', *names), np.column_stack([times[: path.reached], values])
    with file.open('w', newline='', encoding='utf-8') as stream:
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(names)
        for row in values.tolist():
            writer.writerow([repr(round(value, _DIGITS) + 0.0) for value in row])


def largest_step(path: PathResult) -> tuple[int, int]:
    """Return the row before the largest step of a joint, and the number of the joint."""
    steps = np.abs(np.diff(path.q[: path.reached], axis=0))
    row, joint = np.unravel_index(np.argmax(steps), steps.shape)
    return int(row), int(joint)


def _path_text(request: PathRequest) -> str:
    poses = request.targets.poses
    length = float(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).sum())
    count = f'{counted(len(poses), "pose")} of {request.file}'
    free = '' if any(request.options.ik.task_weights[3:]) else ', any orientation'
    return f'{count}, {distance_text(length)} long{free}'


def _start_text(request: PathRequest) -> str:
    text = 'at the seed, or within a step of it'
    if request.seed is None:
        text = 'at any solution of the first pose'
    elif request.options.start == 'free':
        text = 'at any solution of the first pose, best near the seed'
    return text if request.end is None else f'{text}; the end is given'


def _duration_text(request: PathRequest, timed: JointTrajectory) -> str:
    """Return the duration of a trajectory, and the joint that is nearest to its velocity."""
    velocities = np.abs(np.asarray(timed.velocities))
    shares = velocities.max(axis=0) / request.chain.velocity
    joint = int(np.argmax(shares))
    return (
        f'{time_text(timed.duration)}; {request.chain.joint_names[joint]} comes to '
        f'{100.0 * shares[joint]:.0f} % of its velocity'
    )


def _step_text(request: PathRequest, path: PathResult) -> str:
    if path.reached < 2:
        return 'none'
    row, joint = largest_step(path)
    bound = number_text(request.options.max_step, 4)
    size = number_text(path.largest_step, 4)
    unit = 'm' if request.slides[joint] else 'rad'
    name = request.chain.joint_names[joint]
    return f'{size} {unit} at most, {name} from pose {row} to {row + 1} (limit {bound})'


def _joint_table(request: PathRequest, path: PathResult) -> list[str]:
    """Return range, limits, smallest distance from them and largest step of every joint."""
    chain, q = request.chain, path.q[: path.reached]
    steps = np.abs(np.diff(q, axis=0)).max(axis=0, initial=0.0)
    rows: list[Sequence[str]] = [_HEADING]
    for i, (name, slides) in enumerate(zip(chain.joint_names, request.slides, strict=True)):
        low, high = float(q[:, i].min()), float(q[:, i].max())
        lower, upper = float(chain.lower[i]), float(chain.upper[i])
        nearest = low if low - lower < upper - high else high
        rows.append(
            (
                name,
                number_text(low, 4),
                number_text(high, 4),
                'm' if slides else 'rad',
                limits_text(lower, upper, slides),
                *margin_text(nearest, lower, upper, slides),
                motion_text(steps[i], slides).lstrip('+'),
            )
        )
    return table(rows, left=(0, 3, 4))
