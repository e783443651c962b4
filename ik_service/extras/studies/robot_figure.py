"""Drawing of a whole robot from the boxes, cylinders and spheres of its URDF, far parts first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
import math
from typing import TYPE_CHECKING

import numpy as np

from ik_service.drawing.figures import INK
from ik_service.kinematics.link_poses import link_poses
from ik_service.model.geometry.link_geometry import Geometry, parsed_element
from ik_service.model.geometry.solids import Box, Cylinder, Sphere
from ik_service.robot import Robot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RIM = np.linspace(0.0, 2.0 * math.pi, 33)[:-1]
# Direction towards the light along the axes of the view, of length 1.
_LIGHT = np.array([0.25, 0.72, 0.65])
_DARKEST = 0.72  # brightness of a face turned away from the light


@dataclass(frozen=True)
class View:
    """
    An orthographic view of the robot's root frame.

    :ivar azimuth: direction from which it is seen, from x towards y [rad].
    :ivar elevation: above the x-y plane [rad].
    """

    azimuth: float
    elevation: float

    @property
    def axes(self) -> np.ndarray:
        """(3, 3) rows: to the right, upwards, towards the eye."""
        c, s = math.cos(self.azimuth), math.sin(self.azimuth)
        u, v = math.cos(self.elevation), math.sin(self.elevation)
        return np.array([[-s, c, 0.0], [-c * v, -s * v, u], [c * u, s * u, v]])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project points (..., 3) of the root frame [m] into the view, (..., 2) [m]."""
        return points @ self.axes[:2].T


@dataclass(frozen=True)
class _Face:
    """Outline (k, 2) in the view, its depth towards the eye [m], and its colour."""

    outline: np.ndarray
    depth: float
    color: np.ndarray


def draw_robot(
    axes: Axes,
    robot: Robot,
    positions: Mapping[str, float],
    view: View,
    tint: tuple[float, float, float] | None = None,
    alpha: float = 1.0,
) -> None:
    """
    Draw a robot's visual shapes.

    :param axes: with equal scales, in metres.
    :param robot: read from a URDF of primitives.
    :param positions: joint positions by name [rad] or [m]; 0 where left out.
    :param view: from where it is seen.
    :param tint: colour instead of the shapes' own, such as for a previous posture.
    :param alpha: opacity.
    """
    from matplotlib.patches import Polygon

    for face in sorted(_faces(robot, positions, view), key=lambda face: face.depth):
        color = face.color if tint is None else np.array(tint)
        axes.add_patch(
            Polygon(
                face.outline,
                facecolor=color,
                edgecolor=np.clip(0.62 * color, 0.0, 1.0),
                linewidth=0.5,
                joinstyle='round',
                alpha=alpha,
                zorder=2,
            )
        )


def draw_target(axes: Axes, position: np.ndarray, view: View, color: str) -> None:
    """Mark a point (3,) of the root frame [m] in front of everything."""
    x, y = view.project(position)
    axes.plot(x, y, 'o', color=color, markersize=9, markeredgecolor='white', zorder=4)


def prepare(axes: Axes, width: tuple[float, float], height: tuple[float, float]) -> None:
    """Set the limits of axes [m], with equal scales and without ticks."""
    axes.set_xlim(*width)
    axes.set_ylim(*height)
    axes.set_aspect('equal')
    axes.set_axis_off()
    axes.title.set_color(INK)


def _faces(robot: Robot, positions: Mapping[str, float], view: View) -> list[_Face]:
    colors = dict(_colors(robot))
    poses = link_poses(robot, positions)
    faces = []
    for link, element in robot.description.elements_of_links('visual'):
        geometry, T_link_visual = parsed_element(element)
        material = element.find('material')
        T = poses[link] @ T_link_visual
        color = colors['' if material is None else material.get('name', '')]
        faces += _solid(geometry, view.axes @ T[:3], color)
    return faces


def _colors(robot: Robot) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the materials that visuals name, with red, green and blue, 0 to 1."""
    for material in robot.description.root.iterfind('material'):
        for color in material.iterfind('color'):
            rgba = color.get('rgba', '').split()
            yield material.get('name', ''), np.array([*map(float, rgba[:3])])


def _solid(geometry: Geometry, T: np.ndarray, color: np.ndarray) -> list[_Face]:
    """Outlines of a solid whose pose (3, 4) is given along the axes of the view."""
    if isinstance(geometry, Box):
        return _box(np.array(geometry.size) / 2, T, color)
    if isinstance(geometry, Cylinder):
        return _cylinder(geometry.radius, geometry.height / 2, T, color)
    assert isinstance(geometry, Sphere)  # of primitives only
    circle = geometry.radius * np.column_stack([np.cos(_RIM), np.sin(_RIM)])
    return [_Face(T[:2, 3] + circle, T[2, 3], color)]


def _box(half: np.ndarray, T: np.ndarray, color: np.ndarray) -> list[_Face]:
    faces = []
    for axis in range(3):
        side = 1.0 if T[2, axis] > 0.0 else -1.0  # the one that is seen
        corners = np.empty((4, 3))
        corners[:, axis] = side * half[axis]
        others = [i for i in range(3) if i != axis]
        corners[:, others] = half[others] * [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        outline = (corners @ T[:, :3].T + T[:, 3])[:, :2]
        faces.append(_Face(outline, T[2, 3], _lit(color, side * T[:, axis])))
    return faces


def _cylinder(radius: float, half: float, T: np.ndarray, color: np.ndarray) -> list[_Face]:
    rim = radius * np.column_stack([np.cos(_RIM), np.sin(_RIM), np.zeros_like(_RIM)])
    side = 1.0 if T[2, 2] > 0.0 else -1.0
    ends = np.array([-side * half, side * half])[:, None, None] * [0.0, 0.0, 1.0] + rim
    far, near = (ends @ T[:, :3].T + T[:, 3])[..., :2]
    return [
        _Face(_hull(np.vstack([far, near])), T[2, 3], 0.93 * color),
        _Face(near, T[2, 3], _lit(color, side * T[:, 2])),
    ]


def _lit(color: np.ndarray, normal: np.ndarray) -> np.ndarray:
    return color * (_DARKEST + (1.0 - _DARKEST) * max(0.0, float(normal @ _LIGHT)))


def _hull(points: np.ndarray) -> np.ndarray:
    """Convex hull of points (k, 2), by Andrew's monotone chain (1979)."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    halves = []
    for sequence in (ordered, ordered[::-1]):
        half: list[np.ndarray] = []
        for point in sequence:
            while len(half) > 1 and _turn(half[-2], half[-1], point) <= 0.0:
                half.pop()
            half.append(point)
        halves += half[:-1]
    return np.array(halves)


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Twice the area of a triangle, positive when it goes round anticlockwise."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
