"""
Pictures of boxes, cylinders and spheres, by casting rays: exact outlines, soft shadows, no meshes.

Lengths in metres, points and directions in the world's frame; the ground is the plane z = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numba
import numpy as np

from ik_service.kinematics.compile import cached

BOX, CYLINDER, SPHERE = range(3)

_NOTHING, _GROUND = -1, -2
_CLEARANCE = 1e-4  # of rays from the surface that they start on [m]
_SKY_SHARE = 0.55  # of the light on a level surface; the rest is the sun's
_SUN = (0.55, -0.55, 1.0)
_EXPOSURE, _GAMMA = 1.15, 0.55  # brightness of white = exposure · light to the power of gamma
_SUN_SPREAD = 0.12  # radius of the sun, seen from one unit away


@dataclass(frozen=True)
class Shape:
    """
    A solid.

    :ivar kind: BOX, CYLINDER (about its z axis) or SPHERE.
    :ivar half: (3,) half of its extent along its own axes [m].
    :ivar T_world_shape: (4, 4) pose of its centre.
    :ivar color: (3,) red, green and blue, 0 to 1.
    """

    kind: int
    half: np.ndarray
    T_world_shape: np.ndarray
    color: Sequence[float]


class Camera:
    """
    A camera that looks at a point, upright.

    :param eye: (3,) where it is.
    :param look_at: (3,) the point in the middle of the picture.
    :param width: of the picture at the distance of that point [m].
    :param pixels: (width, height) of the picture.
    """

    def __init__(
        self, eye: np.ndarray, look_at: np.ndarray, width: float, pixels: tuple[int, int]
    ) -> None:
        self.eye, self.pixels = eye, pixels
        self._pitch = width / pixels[0] / float(np.linalg.norm(look_at - eye))
        forward = _unit(look_at - eye)
        right = _unit(np.cross(forward, (0.0, 0.0, 1.0)))
        self._axes = np.array([right, np.cross(forward, right), forward])

    def project(self, points: np.ndarray) -> np.ndarray:
        """Return where points (..., 3) are seen: (..., 2) columns and rows, fractions included."""
        seen = (points - self.eye) @ self._axes.T
        middle = np.array(self.pixels) / 2 - 0.5
        return seen[..., :2] / seen[..., 2:] / self._pitch + middle

    def rays(self) -> np.ndarray:
        """Return the unit directions from the eye through the pixels, (height, width, 3)."""
        columns, rows = (np.arange(n) + 0.5 - n / 2 for n in self.pixels)
        x, y = np.meshgrid(columns * self._pitch, rows * self._pitch)
        return _unit(np.stack([x, y, np.ones_like(x)], axis=-1) @ self._axes)


@dataclass(frozen=True)
class Picture:
    """
    What a camera sees.

    :ivar color: (height, width, 3), 0 to 1.
    :ivar alpha: (height, width) 1 on solids, the darkness of the shadows on the ground, else 0.
    :ivar distance: (height, width) of the solids from the eye [m]; inf elsewhere.
    """

    color: np.ndarray
    alpha: np.ndarray
    distance: np.ndarray


def take_picture(
    camera: Camera,
    shapes: Sequence[Shape],
    ground_radius: float,
    lights: tuple[int, int] = (40, 80),
) -> Picture:
    """
    Take a picture of shapes, which throw shadows on each other and on the ground.

    :param ground_radius: how far from the origin shadows on the ground are drawn; they fade out
        towards it.
    :param lights: how many directions stand for the sun and for the sky; the time that a picture
        takes grows with them, and shadows get smoother.
    """
    kinds = np.array([shape.kind for shape in shapes])
    halves = np.array([shape.half for shape in shapes])
    inverse = np.array([np.linalg.inv(shape.T_world_shape)[:3] for shape in shapes])
    centres = np.array([shape.T_world_shape[:3, 3] for shape in shapes])
    spheres = np.column_stack([centres, np.linalg.norm(halves, axis=1) * 1.001])
    colors = np.array([[*shape.color] for shape in shapes], dtype=float)
    rays = camera.rays().reshape(-1, 3)
    index, distance, light = _cast(
        (kinds, halves, inverse, spheres), camera.eye, rays, _lights(*lights), ground_radius
    )
    light **= _GAMMA
    solid = index >= 0
    color = np.where(
        solid[:, None], _EXPOSURE * colors[np.maximum(index, 0)] * light[:, None], 0.0
    )
    shadow = np.where(index == _GROUND, 1.0 - light, 0.0)
    if ground_radius > 0.0:
        where = camera.eye + distance[:, None] * rays
        shadow *= np.clip(1.5 - 1.5 * np.hypot(where[:, 0], where[:, 1]) / ground_radius, 0.0, 1.0)
    size = camera.pixels[::-1]
    return Picture(
        np.clip(color, 0.0, 1.0).reshape(*size, 3),
        np.where(solid, 1.0, shadow).reshape(size),
        np.where(solid, distance, np.inf).reshape(size),
    )


def _lights(suns: int, skies: int) -> np.ndarray:
    """Return directions to lights and their strengths, (L, 4): a wide sun, and the sky."""
    sun = _unit(np.array(_SUN))
    aside = _unit(np.cross(sun, (0.0, 0.0, 1.0)))
    u, angle = _spiral(suns)
    offsets = np.outer(np.cos(angle), aside) + np.outer(np.sin(angle), np.cross(sun, aside))
    towards_sun = _unit(sun + _SUN_SPREAD * np.sqrt(u)[:, None] * offsets)
    u, angle = _spiral(skies)  # denser upwards: each is as bright on a level surface
    towards_sky = np.column_stack(
        [np.sqrt(u) * np.cos(angle), np.sqrt(u) * np.sin(angle), np.sqrt(1.0 - u)]
    )
    return np.vstack(
        [
            np.column_stack([towards_sun, np.full(suns, (1.0 - _SKY_SHARE) / suns / sun[2])]),
            np.column_stack([towards_sky, _SKY_SHARE / skies / towards_sky[:, 2]]),
        ]
    )


def _spiral(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return squared radii and angles of points that cover a disc evenly (Vogel 1979)."""
    numbers = np.arange(count) + 0.5
    return numbers / count, numbers * math.pi * (3.0 - math.sqrt(5.0))


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


# Kernels. A work array (4, 3) is passed on, since making arrays would take most of the time. Its
# rows: a ray's start and direction in a shape's frame, the normal where it enters, and that normal
# in the world's frame.


@cached
@numba.njit(nogil=True)
def _cast(scene, eye, rays, lights, ground_radius):  # noqa: ANN001, ANN202 - Numba infers them
    """Return for each ray what it hits, how far away, and how much light falls there."""
    index = np.full(len(rays), _NOTHING)
    distance = np.zeros(len(rays))
    light = np.ones(len(rays))
    work = np.zeros((4, 3))
    normal = work[3]
    for k in range(len(rays)):
        ray = rays[k]
        nearest, index[k] = _nearest(scene, eye, ray, False, work)
        down = -eye[2] / ray[2] if ray[2] < 0.0 else np.inf
        if down < nearest and np.hypot(eye[0] + down * ray[0], eye[1] + down * ray[1]) < (
            ground_radius
        ):
            nearest, index[k] = down, _GROUND
            normal[:] = (0.0, 0.0, 1.0)
        if index[k] != _NOTHING:
            distance[k] = nearest
            point = eye + nearest * ray + _CLEARANCE * normal
            light[k] = _light_at(scene, point, lights, work)
    return index, distance, light


@numba.njit(nogil=True)
def _light_at(scene, point, lights, work):  # noqa: ANN001, ANN202
    normal = work[3]
    total = 0.0
    for k in range(len(lights)):
        towards = lights[k]
        facing = normal[0] * towards[0] + normal[1] * towards[1] + normal[2] * towards[2]
        if facing > 0.0 and _nearest(scene, point, towards, True, work)[1] == _NOTHING:
            total += towards[3] * facing
    return total


@numba.njit(nogil=True)
def _nearest(scene, start, ray, any_will_do, work):  # noqa: ANN001, ANN202
    """Return how far away a ray enters which shape; set the normal unless any shape will do."""
    kinds, halves, inverse, spheres = scene
    x, y, z, dx, dy, dz = start[0], start[1], start[2], ray[0], ray[1], ray[2]
    nearest, found = np.inf, _NOTHING
    for i in range(len(kinds)):
        ax, ay, az = spheres[i, 0] - x, spheres[i, 1] - y, spheres[i, 2] - z
        along = ax * dx + ay * dy + az * dz
        beyond = ax * ax + ay * ay + az * az - spheres[i, 3] * spheres[i, 3]
        if beyond > along * along or (beyond > 0.0 and along < 0.0):
            continue
        t = _enter(kinds[i], halves[i], inverse[i], start, ray, work)
        if t < nearest:
            nearest, found = t, i
            if any_will_do:
                break
            for a in range(3):
                work[3, a] = (inverse[i, :, a] * work[2]).sum()
    return nearest, found


@numba.njit(nogil=True)
def _enter(kind, half, inverse, start, ray, work):  # noqa: ANN001, ANN202
    """Return how far away a ray enters a shape, inf where it does not."""
    o, d, normal = work[0], work[1], work[2]
    for a in range(3):
        o[a], d[a], normal[a] = inverse[a, 3], 0.0, 0.0
        for b in range(3):
            o[a] += inverse[a, b] * start[b]
            d[a] += inverse[a, b] * ray[b]
    # The ray is inside between the last surface that it enters and the first that it leaves.
    enter, leave, flat = -np.inf, np.inf, -1
    rounded = 0 if kind == BOX else 2 if kind == CYLINDER else 3
    if rounded:
        a, b, c = 1e-30, 0.0, -(half[0] ** 2)
        for k in range(rounded):
            a, b, c = a + d[k] * d[k], b + o[k] * d[k], c + o[k] * o[k]
        if b * b < a * c:
            return np.inf
        root = math.sqrt(b * b - a * c)
        enter, leave = (-b - root) / a, (-b + root) / a
    for k in range(rounded, 3):
        step = d[k] if abs(d[k]) > 1e-12 else 1e-12
        ahead = math.copysign(half[k], step)
        if (-ahead - o[k]) / step > enter:
            enter, flat = (-ahead - o[k]) / step, k
        leave = min(leave, (ahead - o[k]) / step)
    if enter > leave or enter <= 0.0:
        return np.inf
    if flat >= 0:
        normal[flat] = -math.copysign(1.0, d[flat])
    else:
        for k in range(rounded):
            normal[k] = (o[k] + enter * d[k]) / half[0]
    return enter
