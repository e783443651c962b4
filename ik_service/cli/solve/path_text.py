"""Text and JSON output of ``ik_solve --path``, and its file of joint values."""

from __future__ import annotations

from collections.abc import Sequence
import csv
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ik_service.cli.formatting import (
    angle_text,
    distance_text,
    labelled,
    limits_text,
    motion_text,
    number_text,
    table,
    time_text,
)
from ik_service.cli.solve.output import document, margin_text, robot_lines
from ik_service.cli.solve.request import PathRequest
from ik_service.paths.search.result import PathResult
from ik_service.paths.trajectory.joint_trajectory import JointTrajectory

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
        lines += labelled('Off by', _errors_text(request, path))
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
    Write the joint values, a line for each pose that is reached.

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
    count = f'{len(poses)} pose{"" if len(poses) == 1 else "s"} of {request.file}'
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


def _errors_text(request: PathRequest, path: PathResult) -> str:
    weights, parts = request.options.ik.task_weights, []
    if any(weights[:3]):
        parts.append(distance_text(float(path.position_error[: path.reached].max())))
    if any(weights[3:]):
        parts.append(angle_text(float(path.orientation_error[: path.reached].max())))
    return f'{", ".join(parts)} at most'


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
