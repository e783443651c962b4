"""Poses along straight lines between way points: :func:`straight_lines`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
import math

import numpy as np
from numpy.typing import ArrayLike

from ik_service.common.arguments import real_array
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.pose_error import check_transform, check_transforms, pose_error

TURN_PER_METRE = 3.5
"""Rotation in a step [rad] for each metre of its largest length, as with MoveIt."""
MOST_POSES = 20_000
"""Poses of a path, at most."""
_SMALLEST = 1e-9  # length [m] and angle [rad] of a line that has none


@dataclass(frozen=True)
class StraightLines:
    """
    Poses along straight lines.

    :ivar poses: (N, 4, 4) the start, and the poses of each line after its start; read-only.
    :ivar progress: (N,) the number of way points that are passed, and the part of the next line,
        at each pose.
    """

    poses: np.ndarray
    progress: np.ndarray


def straight_lines(
    start: ArrayLike, waypoints: ArrayLike, max_step: float, max_turn: float | None = None
) -> StraightLines:
    """
    Return poses along the straight lines from a pose through way points.

    The origin moves straight, and the rotation is that about a fixed axis by the smaller angle
    (spherical linear interpolation), in steps of equal size on each line. A way point that equals
    the one before it adds no pose.

    :param start: (4, 4) the first pose.
    :param waypoints: (k, 4, 4) the poses to pass.
    :param max_step: largest motion of the origin from one pose to the next [m].
    :param max_turn: largest rotation [rad]; 3.5 rad for each metre of ``max_step`` when left out.
    :raises ArgumentError: an argument is not finite or no pose, or the poses would be more than
        :data:`MOST_POSES`.
    """
    first = check_transform(start, 'start')
    others = real_array(waypoints, 'waypoints')
    if others.size:
        others = check_transforms(others, 'waypoints')
    points = np.concatenate([first[None], others.reshape(-1, 4, 4)])
    step = _size('max_step', max_step)
    turn = TURN_PER_METRE * step if max_turn is None else _size('max_turn', max_turn)
    twists = [pose_error(T, T_next) for T, T_next in pairwise(points)]
    counts = [_count(twist, step, turn) for twist in twists]
    if 1 + sum(counts) > MOST_POSES:
        raise ArgumentError(
            'max_step',
            f'of {step:g} m, with up to {turn:g} rad, makes {1 + sum(counts):.3g} poses of '
            f'{len(twists)} lines; at most {MOST_POSES} are supported',
        )
    poses, progress = [points[:1]], [np.zeros(1)]
    for i, (twist, count) in enumerate(zip(twists, counts, strict=True)):
        if count == 0:  # the way point equals the one before, and is passed with it
            progress[-1][-1] = i + 1
            continue
        parts = np.arange(1, int(count) + 1) / count
        poses.append(_line(points[i], twist, parts))
        poses[-1][-1] = points[i + 1]
        progress.append(i + parts)
    found = np.concatenate(poses)
    found.setflags(write=False)
    return StraightLines(found, np.concatenate(progress))


def _count(twist: np.ndarray, step: float, turn: float) -> float:
    """Return the number of steps of a line, 0 without length; a float, as it may be huge."""
    length, angle = math.hypot(*twist[:3]), math.hypot(*twist[3:])
    if length <= _SMALLEST and angle <= _SMALLEST:
        return 0.0
    return max(1.0, float(np.floor(max(length / step, angle / turn) * (1.0 - 1e-12))) + 1.0)


def _line(T: np.ndarray, twist: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Return the poses at some parts of a line, (k, 4, 4), by Rodrigues' formula."""
    poses = np.tile(T, (len(parts), 1, 1))
    poses[:, :3, 3] += parts[:, None] * twist[:3]
    angle = float(np.linalg.norm(twist[3:]))
    if angle > _SMALLEST:
        x, y, z = twist[3:] / angle
        K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        sines = np.sin(parts * angle)[:, None, None]
        halves = np.sin(0.5 * parts * angle)[:, None, None]
        turned = np.eye(3) + sines * K + 2.0 * halves * halves * (K @ K)
        poses[:, :3, :3] = turned @ T[:3, :3]
    return poses


def _size(name: str, value: float) -> float:
    number = real_array(value, name)
    if number.shape != () or not 0.0 < number < math.inf:
        raise ArgumentError(name, f'has to be a finite number above 0, not {safe_repr(value)}')
    return float(number)
