"""A moving picture of an arm, drawn without a browser or a graphics card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
import os
from pathlib import Path

import numpy as np

from ik_service.exceptions import ArgumentError, MissingExtraError
from ik_service.kinematics.tree import link_poses
from ik_service.robot import Robot
from ik_service.viewer.scene.parts import primitive_parts
from ik_service.viewer.scene.raycast import Camera, Picture, take_picture
from ik_service.viewer.scene.shapes import arm_shapes, AXIS_COLORS, triad
from ik_service.viewer.scene.visuals import read_look

try:
    from PIL import Image, ImageDraw, ImageFilter
except ImportError as error:
    raise MissingExtraError('pillow', 'plot') from error

PIXELS = (440, 380)
"""Width and height of a film."""

_RATE = 10.0  # pictures a second: GIF counts in hundredths of a second
_OVERSAMPLING = 1.5
_LIGHTS = (4, 8)
_SOFTNESS = 8  # radius of the blur that joins the shadows of so few lights [px]
_BACKGROUND = np.array([0.965, 0.973, 0.980])
_WAY_COLOR, _WAY_WIDTH = (232, 89, 12), 3
_EYE = np.array([0.80, -0.95, 0.42])  # direction from the arm to the camera
_DISTANCE, _WIDTH = 3.4, 2.55  # of the camera and of what it sees, in radii of the scene
_COLORS = 128  # of the palette
_SHADES = (0.45, 0.7, 1.0)  # in which the palette holds the colours of thin lines
_LAST = 1.0  # how long the last picture stays [s]


@dataclass(frozen=True)
class Moment:
    """
    An arm at one time.

    :ivar time: [s].
    :ivar joints: positions by name [rad] or [m].
    :ivar T_base_target: (4, 4) where the tip shall be; None without a target.
    """

    time: float
    joints: Mapping[str, float]
    T_base_target: np.ndarray | None


def write_film(
    path: Path,
    robot: Robot,
    links: tuple[str, str],
    moments: Sequence[Moment],
    on_progress: Callable[[float], object] = lambda share: None,
) -> int:
    """
    Draw a film and write it as an animated GIF.

    :param path: the file to write.
    :param robot: the robot.
    :param links: base link, in whose frame targets are, and tip link, whose way is drawn.
    :param moments: what happened, in the order of time.
    :param on_progress: called with the share that is done, 0 to 1.
    :returns: the number of pictures.
    :raises ArgumentError: there are no moments.
    :raises OSError: the file cannot be written.
    """
    if not moments:
        raise ArgumentError('moments', 'there is nothing to show')
    chosen = [*_sampled(moments)]
    studio = Studio(robot, links, chosen)
    images = []
    with ThreadPoolExecutor(os.cpu_count()) as workers:
        for image in workers.map(studio.picture, range(len(chosen))):
            images.append(image)
            on_progress(len(images) / len(chosen))
    _save(path, images)
    return len(images)


class Studio:
    """
    Draws the pictures of a film.

    :param robot: the robot.
    :param links: base and tip link.
    :param moments: one for each picture.
    """

    def __init__(self, robot: Robot, links: tuple[str, str], moments: Sequence[Moment]) -> None:
        self._robot, self._moments = robot, moments
        self._parts = primitive_parts(robot, read_look(robot.urdf_text))
        movable = set(robot.movable_joint_names)
        self._joints = [
            {name: value for name, value in moment.joints.items() if name in movable}
            for moment in moments
        ]
        poses = [link_poses(robot, joints) for joints in self._joints]
        base, tip = links
        self._way = np.array([pose[tip][:3, 3] for pose in poses])
        self._targets = [
            None if moment.T_base_target is None else pose[base] @ moment.T_base_target
            for moment, pose in zip(moments, poses, strict=True)
        ]
        seen = [T[:3, 3] for pose in poses for T in pose.values()]
        seen += [T[:3, 3] for T in self._targets if T is not None]
        self._camera, self._radius = _camera(np.array(seen))

    def picture(self, number: int) -> Image.Image:
        """Draw a picture."""
        shapes = arm_shapes(self._robot, self._parts, self._joints[number])
        target = self._targets[number]
        if target is not None:
            shapes += triad(target, 0.13 * self._radius)
        picture = take_picture(self._camera, shapes, 0.8 * self._radius, _LIGHTS)
        image = _composed(picture)
        self._draw_way(image, picture, number)
        return image.resize(PIXELS, Image.Resampling.LANCZOS)

    def _draw_way(self, image: Image.Image, picture: Picture, number: int) -> None:
        """Draw the way of the tip so far, where the arm does not hide it."""
        way = self._way[: number + 1]
        seen = self._camera.project(way)
        limits = np.array(picture.distance.shape[::-1]) - 1
        columns, rows = np.clip(np.rint(seen).astype(int), 0, limits).T
        distance = np.linalg.norm(way - self._camera.eye, axis=1)
        hidden = picture.distance[rows, columns] < distance - 0.03 * self._radius
        draw = ImageDraw.Draw(image)
        for k in range(number):
            if not (hidden[k] or hidden[k + 1]):
                ends = [tuple(seen[k]), tuple(seen[k + 1])]
                draw.line(ends, fill=_WAY_COLOR, width=_WAY_WIDTH)


def _sampled(moments: Sequence[Moment]) -> Iterator[Moment]:
    """Yield the moments nearest to the times of the pictures."""
    times = np.array([moment.time for moment in moments])
    for time in np.arange(times[0], times[-1] + 0.5 / _RATE, 1.0 / _RATE):
        yield moments[int(np.abs(times - time).argmin())]


def _camera(points: np.ndarray) -> tuple[Camera, float]:
    """Return a camera that sees points (N, 3) and the ground below them, and their radius [m]."""
    points = np.vstack([points, [0.0, 0.0, 0.0]])
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    radius = max(float(np.linalg.norm(points - middle, axis=1).max()), 0.05)
    eye = middle + _DISTANCE * radius * _EYE / np.linalg.norm(_EYE)
    pixels = (round(_OVERSAMPLING * PIXELS[0]), round(_OVERSAMPLING * PIXELS[1]))
    return Camera(eye, middle, _WIDTH * radius, pixels), radius


def _composed(picture: Picture) -> Image.Image:
    """Return solids over their softened shadows over the background."""
    solid = np.isfinite(picture.distance)
    dark = np.where(
        solid, np.median(picture.alpha[~solid]) if not solid.all() else 0.0, picture.alpha
    )
    layer = Image.fromarray((255 * dark).astype(np.uint8))
    shadow = np.asarray(layer.filter(ImageFilter.GaussianBlur(_SOFTNESS))) / 255.0
    ground = _BACKGROUND * (1.0 - shadow[..., None])
    return Image.fromarray((255 * np.where(solid[..., None], picture.color, ground)).astype('u1'))


def _save(path: Path, images: Sequence[Image.Image]) -> None:
    """Write an animated GIF with one palette, so that colours do not flicker."""
    sample = Image.new('RGB', (PIXELS[0] * 2, PIXELS[1] * 2))
    for k, number in enumerate(np.linspace(0, len(images) - 1, 4).astype(int)):
        sample.paste(images[number], (k % 2 * PIXELS[0], k // 2 * PIXELS[1]))
    palette = _palette(sample)
    frames = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
    period = round(1e3 / _RATE)
    durations = [period] * (len(frames) - 1) + [round(1e3 * _LAST)]
    frames[0].save(
        path,
        format='GIF',
        save_all=True,
        append_images=frames[1:],
        duration=durations,
        loop=0,
        optimize=False,
        disposal=1,
    )


def _palette(sample: Image.Image) -> Image.Image:
    """Return the colours of a sample, and those of what is too thin to be among them."""
    way = tuple(value / 255.0 for value in _WAY_COLOR)
    colors = [(*AXIS_COLORS, way), _SHADES]
    thin = [round(255 * shade * value) for color, shade in product(*colors) for value in color]
    count = _COLORS - len(thin) // 3
    common = sample.quantize(count, method=Image.Quantize.MEDIANCUT).getpalette()[: 3 * count]
    palette = Image.new('P', (1, 1))
    palette.putpalette(common + thin)
    return palette
