"""Waypoints of a path that is drawn with the gizmo, and their file."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
import json
import math

import numpy as np

from ik_service.common.transforms import rigid_transform, rotation_about_axis
from ik_service.exceptions import ArgumentError, IkServiceError
from ik_service.kinematics.pose_error import check_transforms, pose_error

MOST_POINTS = 99  # largest number of waypoints

_SAG = 2e-4  # largest distance of a circle from the chords that it is passed on as [m]
_FEWEST_CHORDS, _MOST_CHORDS = 36, 360  # of a circle
_STRAIGHT = 1e-3  # sine of the angle between three points below which no circle passes them
_SAME = (1e-4, 1e-3)  # distances of two poses that count as one [m], [rad]


class WaypointError(IkServiceError):
    """Waypoint that cannot be added, or points that no circle passes through."""


@dataclass(frozen=True)
class Drawing:
    """Waypoints T_base_tip (4, 4) [m], and the first of each three on a circle by its number."""

    points: tuple[np.ndarray, ...] = ()
    circles: frozenset[int] = frozenset()


class Waypoints:
    """Waypoints of a path, with the steps in which they were drawn. For one thread."""

    def __init__(self) -> None:
        self.drawing = Drawing()
        self._earlier: list[Drawing] = []

    def __len__(self) -> int:
        """Return the number of waypoints."""
        return len(self.drawing.points)

    def add(self, T_base_tip: np.ndarray) -> None:
        """Add a waypoint (4, 4) [m]; WaypointError for one more of the last, or too many."""
        drawing = self.drawing
        if len(drawing.points) >= MOST_POINTS:
            raise WaypointError(f'a path has {MOST_POINTS} waypoints at most')
        if drawing.points and is_near(T_base_tip, drawing.points[-1], _SAME):
            raise WaypointError(
                f'waypoint {len(drawing.points)} is here already: move the gizmo first'
            )
        self._put(Drawing((*drawing.points, T_base_tip.copy()), drawing.circles))

    def close_circle(self) -> None:
        """Make a full circle of the last three; raises WaypointError where that cannot be."""
        drawing = self.drawing
        first = len(drawing.points) - 3
        if first < 0 or any(first - circle < 3 for circle in drawing.circles):
            raise WaypointError('a circle needs three waypoints, all added after the last circle')
        circle_poses(*drawing.points[first:])
        self._put(Drawing(drawing.points, drawing.circles | {first}))

    def replace(self, drawing: Drawing) -> None:
        """Replace all waypoints; this too can be undone."""
        self._put(drawing)

    def undo(self) -> None:
        """Take the last step back, if there is one."""
        if self._earlier:
            self.drawing = self._earlier.pop()

    def clear(self) -> None:
        """Remove all waypoints; this too can be undone."""
        if self.drawing.points:
            self._put(Drawing())

    def forget(self) -> None:
        """Remove all waypoints and steps."""
        self.drawing, self._earlier = Drawing(), []

    def corners(self) -> np.ndarray:
        """Return the poses (k, 4, 4) that straight lines join, a circle as many short ones [m]."""
        points, corners, i = self.drawing.points, [], 0
        while i < len(points):
            is_circle = i in self.drawing.circles
            corners += [*circle_poses(*points[i : i + 3])] if is_circle else [points[i]]
            i += 3 if is_circle else 1
        return np.array(corners).reshape(-1, 4, 4)

    def _put(self, drawing: Drawing) -> None:
        self._earlier.append(self.drawing)
        self.drawing = drawing


def is_near(T: np.ndarray, T_other: np.ndarray, tolerances: tuple[float, float]) -> bool:
    """Whether two poses (4, 4) are within a distance [m] and an angle [rad] of each other."""
    error = pose_error(T, T_other)
    distance, angle = (float(np.linalg.norm(part)) for part in (error[:3], error[3:]))
    return distance <= tolerances[0] and angle <= tolerances[1]


def circle_poses(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """
    Return poses on the circle through three positions, from the first once around to it.

    Of poses A, B and C (4, 4) [m], which are among the result (k, 4, 4); its chords are within 0.2
    mm of the circle, and it turns at a constant rate between them. Raises WaypointError for
    positions on one line, or too close to each other.
    """
    center, radius, normal = _circle(A[:3, 3], B[:3, 3], C[:3, 3])
    spoke = A[:3, 3] - center
    angles = [0.0, *(_angle(spoke, P[:3, 3] - center, normal) for P in (B, C)), 2.0 * math.pi]
    chords = math.pi / math.sqrt(2.0 * min(_SAG / radius, 0.5))
    chords = min(max(chords, _FEWEST_CHORDS), _MOST_CHORDS)
    poses = [A]
    for (start, end), (a, b) in zip(((A, B), (B, C), (C, A)), pairwise(angles), strict=True):
        count = max(1, math.ceil(chords * (b - a) / (2.0 * math.pi)))
        for share in np.linspace(0.0, 1.0, count + 1)[1:]:
            R = _between(start, end, float(share))
            turned = rotation_about_axis(normal, a + float(share) * (b - a)) @ spoke
            poses.append(rigid_transform(R, center + turned))
    return np.array(poses)


def _circle(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
    """Return centre, radius and normal of a circle, about which it goes from a to b to c."""
    u, v = b - a, c - a
    cross = np.cross(u, v)
    area, lengths = float(np.linalg.norm(cross)), float(np.linalg.norm(u) * np.linalg.norm(v))
    if area <= _STRAIGHT * lengths or np.linalg.norm(c - b) < _SAME[0]:
        raise WaypointError('the last three waypoints are on one line: no circle passes them')
    # Circumscribed circle of a triangle with a corner at the origin.
    offset = np.cross((u @ u) * v - (v @ v) * u, cross) / (2.0 * area * area)
    return a + offset, float(np.linalg.norm(offset)), cross / area


def _angle(spoke: np.ndarray, other: np.ndarray, normal: np.ndarray) -> float:
    """Return the angle from a spoke to another one about the normal, 0 to 2π [rad]."""
    angle = math.atan2(float(np.cross(spoke, other) @ normal), float(spoke @ other))
    return angle % (2.0 * math.pi)


def _between(start: np.ndarray, end: np.ndarray, share: float) -> np.ndarray:
    """Return the rotation (3, 3) at a share of the shortest turn between two poses."""
    turn = pose_error(start, end)[3:]
    angle = float(np.linalg.norm(turn))
    if angle < 1e-12:
        return start[:3, :3]
    return rotation_about_axis(turn / angle, share * angle) @ start[:3, :3]


NAME = 'waypoints.json'
LONGEST = 2**20  # longest file that is read [byte]

_CONTENT = 'it has to be JSON with base_link, tip_link, T_base_tip (N, 4, 4) and circles'
_FARTHEST = 1e6  # bound of a plausible coordinate [m]


def waypoints_text(drawing: Drawing, base_link: str, tip_link: str) -> str:
    """Return waypoints as the text of a file."""
    content = {
        'base_link': base_link,
        'tip_link': tip_link,
        'T_base_tip': [T.tolist() for T in drawing.points],
        'circles': sorted(drawing.circles),
    }
    return json.dumps(content, indent=1)


def read_waypoints(content: bytes, base_link: str, tip_link: str) -> Drawing:
    """Read the waypoints of a file; ArgumentError if it is damaged, or belongs to other links."""
    if len(content) > LONGEST:
        raise ArgumentError(NAME, f'is longer than {LONGEST:,} bytes')
    try:
        found = json.loads(content)
        ends = found['base_link'], found['tip_link']
        T = np.array(found['T_base_tip'], dtype=float).reshape(-1, 4, 4)
        circles = frozenset(int(number) for number in found['circles'])
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ArgumentError(NAME, f'is no file of waypoints: {_CONTENT}') from error
    drawing = Drawing(tuple(T), circles)
    try:
        _check(drawing)
    except WaypointError as error:
        raise ArgumentError(NAME, f'holds a circle that is none: {error}') from error
    except ValueError as error:
        raise ArgumentError(NAME, f'is no file of waypoints: {error}') from error
    if ends != (base_link, tip_link):
        raise ArgumentError(
            NAME,
            f'is of {str(ends[1])[:80]} in {str(ends[0])[:80]}; here it is {tip_link} in '
            f'{base_link}',
        )
    return drawing


def _check(drawing: Drawing) -> None:
    """Check that poses are rigid, and that circles have three points of their own each."""
    T = check_transforms(np.reshape(drawing.points, (-1, 4, 4)), 'T_base_tip')
    if np.abs(T).max(initial=0.0) > _FARTHEST or not 0 < len(T) <= MOST_POINTS:
        raise ValueError(f'1 to {MOST_POINTS} rigid transforms are needed')
    free = 0
    for first in sorted(drawing.circles):
        if not free <= first <= len(T) - 3:
            raise ValueError('a circle has no three points of its own')
        circle_poses(*T[first : first + 3])
        free = first + 3
