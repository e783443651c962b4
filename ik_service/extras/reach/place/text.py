"""Text and JSON output of ``ik_place``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
import math

import numpy as np

from ik_service.cli.formatting import (
    angle_text,
    distance_text,
    labelled,
    number_text,
    pose_text,
    table,
)
from ik_service.cli.solve.output import document, free_axes, robot_lines
from ik_service.common.quaternions import quaternion_xyzw_from_rotation
from ik_service.common.quoting import counted
from ik_service.extras.reach.place.request import PlaceRequest
from ik_service.extras.reach.placement import Placement, PlaceSearch

_HEADING = ('', 'x [m]', 'y [m]', 'z [m]', 'yaw [°]', 'reached', 'share', 'quality', 'score')
_MOST_MISSED = 10  # poses that are not reached, in the text


def place_lines(request: PlaceRequest, search: PlaceSearch) -> list[str]:
    """Return the request and the places found, as lines."""
    lines = robot_lines(request)
    lines += labelled('Poses', f'{len(search.poses)} of {request.file}{_free_text(request)}')
    lines += labelled('Base', region_text(search, _digits(request)))
    lines += labelled('Compared', compared_text(request, search))
    for note in request.notes:
        lines += labelled('Note', note)
    lines += labelled('Result', result_text(search))
    if search.best.share < 1.0 and (note := _few_joints_text(request)):
        lines += labelled('Note', note)
    rows: list[Sequence[str]] = [_HEADING]
    rows += [_row(*numbered, _digits(request)) for numbered in enumerate(search.placements, 1)]
    lines += ['', *table(rows)]
    missed = np.flatnonzero(~search.best.reached)
    return lines if not len(missed) else [*lines, '', *_missed_lines(request, search, missed)]


def place_json(request: PlaceRequest, search: PlaceSearch) -> str:
    """Return the request and the places found as JSON; angles are in radians."""
    region = search.region
    return document(
        request,
        search.best.share == 1.0,
        poses={'file': request.file, 'T_world_tip': search.poses},
        region={**asdict(region), 'corners': list(region.corners)},
        candidates={
            'count': len(search.places),
            'spacing': search.spacing,
            'from_map': request.inverse_map is not None,
            'poses_looked_at': len(search.looked_at),
            'best_share': search.scores.share.max(),
        },
        avoid_collisions=request.collisions is not None,
        options=asdict(request.options),
        places=[_place(placement) for placement in search.placements],
        notes=request.notes,
    )


def _digits(request: PlaceRequest) -> int:
    """Return the decimal places of lengths [m], more for arms of less than a decimetre."""
    reach = float(request.chain.arrays.reach[3])
    return 3 if reach >= 0.1 or reach == 0.0 else 2 - math.floor(math.log10(reach))


def region_text(search: PlaceSearch, digits: int = 3) -> str:
    """Return where the base may stand, with so many decimal places of lengths [m]."""
    region = search.region
    spans = [f'{name} {_span(getattr(region, name), digits)}' for name in 'xyz']
    yaw = 'any heading'
    if not region.turns_fully:
        yaw = f'heading {_span(np.degrees(region.yaw), 1)}°'
    inside = f', inside {len(region.corners)} corners' if region.corners else ''
    tilt = ''
    if any(region.mounting):
        angles = ', '.join(number_text(math.degrees(a), 1) for a in region.mounting)
        tilt = f', mounted at roll, pitch, yaw {angles}°'
    return f'{"  ".join(spans)} m{inside}, {yaw}{tilt}'


def compared_text(request: PlaceRequest, search: PlaceSearch) -> str:
    """Return how many places were compared, and how."""
    how = 'by inverse kinematics' if request.inverse_map is None else 'with the map'
    count = len(search.places)
    text = f'{count:,} place{"" if count == 1 else "s"} {how}'
    if search.spacing > 0.0:
        text += f', {distance_text(search.spacing)} apart'
    if len(search.looked_at) < len(search.poses):
        text += f', for {len(search.looked_at)} poses that differ most'
    if request.collisions is not None:
        text += '; the best ones without collisions of the robot with itself'
    return text


def result_text(search: PlaceSearch) -> str:
    """Return the result of a search, in a sentence."""
    count, best = len(search.poses), search.best
    full = sum(placement.share == 1.0 for placement in search.placements)
    if full:
        every = 'the pose is' if count == 1 else f'all {count} poses are'
        return f'{every} reached from {"this place" if full == 1 else f"each of {full} places"}'
    reached = int(best.reached.sum())
    if not reached:
        return 'no pose is reached from any of these places'
    return f'no place was found that reaches all poses; the best reaches {reached} of {count}'


def _few_joints_text(request: PlaceRequest) -> str:
    """Return why an arm reaches most poses from exact places only; empty where it does not."""
    joints, rows = len(request.chain.joint_names), np.count_nonzero(request.options.task_weights)
    if joints >= rows:
        return ''
    return (
        f'{counted(joints, "joint")} cannot meet {rows} conditions at will: '
        'most poses are reached from exact places only, which lie between those compared; free '
        'axes (--position-only, --set task_weights=…), or check places of your own (--region, '
        '--yaw)'
    )


def _free_text(request: PlaceRequest) -> str:
    if not any(request.options.task_weights[3:]):
        return ', in any orientation'
    free = free_axes(request.options)
    return f' (free along the axes of the base: {", ".join(free)})' if free else ''


def _row(number: int, placement: Placement, digits: int) -> tuple[str, ...]:
    x, y, z, yaw = placement.place
    return (
        str(number),
        *(number_text(value, digits) for value in (x, y, z)),
        number_text(math.degrees(yaw), 1),
        f'{int(placement.reached.sum())} of {len(placement.reached)}',
        f'{100.0 * placement.share:.3g} %',
        number_text(placement.quality, 3),
        number_text(placement.score, 4),
    )


def _missed_lines(request: PlaceRequest, search: PlaceSearch, missed: np.ndarray) -> list[str]:
    best, turned = search.best, any(request.options.task_weights[3:])
    rows: list[Sequence[str]] = [('not reached from 1', 'pose', 'closest', 'why')]
    for number in missed[:_MOST_MISSED].tolist():
        off = distance_text(best.position_error[number])
        if turned:
            off += f', {angle_text(best.orientation_error[number])}'
        reason = best.status[number].value
        if best.collision[number] is not None:
            reason += f': {" and ".join(best.collision[number])}'
        pose = pose_text(search.poses[number], turned, digits=_digits(request))
        rows.append((str(number + 1), pose, off, reason))
    lines = table(rows, left=(1, 3))
    more = len(missed) - _MOST_MISSED
    return [*lines, f'… and {more} more (--output has all of them)'] if more > 0 else lines


def _place(placement: Placement) -> dict[str, object]:
    T = placement.T_world_base
    return {
        'x': placement.place[0],
        'y': placement.place[1],
        'z': placement.place[2],
        'yaw': placement.place[3],
        'quaternion_xyzw': quaternion_xyzw_from_rotation(T[:3, :3]),
        'T_world_base': T,
        'share': placement.share,
        'quality': placement.quality,
        'score': placement.score,
        'poses': [
            {
                'reached': reached,
                'status': status.name,
                'position_error': position,
                'orientation_error': orientation,
                'collision': collision,
                'q': q,
            }
            for reached, status, position, orientation, collision, q in zip(
                placement.reached, placement.status, placement.position_error,
                placement.orientation_error, placement.collision, placement.q, strict=True,
            )
        ],
    }  # fmt: skip


def _span(ends: Sequence[float] | np.ndarray, digits: int) -> str:
    first, last = (number_text(end, digits) for end in ends)
    return first if ends[0] == ends[1] else f'{first} … {last}'
