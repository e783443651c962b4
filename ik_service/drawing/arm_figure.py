"""
Drawing of an arm: links, joints and tip frame, solid in space or flat in its plane.

The axes are those of Matplotlib; units are [m], in the base frame of the chain. Artists drawn
later lie over earlier ones, so a posture for comparison is drawn first.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

import numpy as np

from ik_service.drawing.arm_shape import plane_of, skeleton, solid_arm
from ik_service.drawing.figures import ACCENT, BORDER, FAINT, GRID, INK, PALETTE
from ik_service.kinematics.chain import KinematicChain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase
    from mpl_toolkits.mplot3d import Axes3D


AXIS_COLORS = (PALETTE[3], PALETTE[2], PALETTE[0])
"""Colours of the x, y and z axis of a frame: red, green and blue for most, apart for all."""

RING: dict[str, Any] = {
    'color': ACCENT,
    'marker': 'o',
    'markersize': 13,
    'markerfacecolor': 'none',
    'markeredgewidth': 2.0,
    'linestyle': 'none',
    'zorder': 4,
}
"""Marker of a target position."""

_LAMP = np.radians([-35.0, 30.0])  # azimuth and elevation from where the eye is


def rgb(color: str) -> np.ndarray:
    """Return a colour, as Matplotlib names it, as (3,) red, green and blue from 0 to 1."""
    from matplotlib.colors import to_rgb

    return np.array(to_rgb(color))


def paler(color: np.ndarray, alpha: float) -> np.ndarray:
    """Return colours (…, 3) blended with white; alpha 1 leaves them, 0 is white."""
    return 1.0 - alpha * (1.0 - color)


def light_of(axes: Axes3D) -> np.ndarray:
    """Return the direction (3,) to a lamp above the eye, on its left, of 3-D axes."""
    azimuth, elevation = np.radians([axes.azim, axes.elev]) + _LAMP
    level = np.cos(elevation)
    return np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])


def lit(triangles: np.ndarray, light: np.ndarray, color: np.ndarray, alpha: float) -> np.ndarray:
    """
    Return the colours (k, 3) of faces in the light of a lamp.

    :param triangles: (k, 3, 3), facing outwards.
    :param light: (3,) unit vector towards the lamp.
    :param color: (3,) of the material.
    :param alpha: 1 for full colours, less for paler ones.
    """
    a, b, c = triangles.swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    sizes = np.maximum(np.linalg.norm(normals, axis=1), 1e-300)  # a face may be flat
    brightness = 0.72 + 0.28 * normals @ light / sizes
    glare = np.clip(brightness - 0.9, 0.0, None)[:, None]
    return paler(np.clip(brightness[:, None] * color + glare, 0.0, 1.0), alpha)


_MOUNT = '#b6bdc5'  # the mount between the base and the first joint
_TRIAD_SHARE = 0.11  # length of a frame's axes, of the arm's scale
_PLANE_MARGIN = 0.14  # in a plane, where frames are to have room too
_SPACE = np.eye(3)  # directions of the axes that show all three
_BOTH_WAYS = np.array([-1.0, 1.0])
_MARGIN = 0.06  # around the drawing, of its size
_NAME: dict[str, Any] = {'color': INK, 'fontsize': 8, 'ha': 'center', 'va': 'center', 'zorder': 4}
_LONG_ENOUGH = 0.3  # share of an axis that lies in a plane, to be named there
_ZOOM = 0.95
_LEVEL_ZOOM = 0.78  # of a flat box, which is as wide as the picture: its labels stand beside it
_ELEVATION, _ASIDE = 18.0, 62.0  # of the view, and how far it stands aside from the arm [°]


def draw_arm(
    axes: Axes3D,
    chain: KinematicChain,
    q: np.ndarray,
    *,
    color: str = PALETTE[0],
    alpha: float = 1.0,
    label: str | None = None,
) -> None:
    """
    Draw an arm in space: links as tubes, rotary joints as drums, sliding ones as blocks, its tip.

    :param axes: 3-D axes, best after :func:`show_space`: the light follows their view.
    :param q: (n,) joint positions [rad] or [m].
    :param color: colour of the links; the joints are a darker shade of it.
    :param alpha: 1 for a solid arm; less for a paler one, which stays opaque.
    :param label: its name in a legend.
    """
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    shape = solid_arm(chain, q)
    color_of = {'mount': rgb(_MOUNT), 'links': rgb(color), 'joints': 0.6 * rgb(color) + 0.1}
    light = light_of(axes)
    colors = np.vstack([lit(shape[name], light, color_of[name], alpha) for name in shape])
    axes.computed_zorder = False
    # Edges in the colour of their faces close the gaps between them.
    axes.add_collection3d(
        Poly3DCollection(
            np.concatenate([*shape.values()]),
            facecolors=colors,
            edgecolors=colors,
            linewidths=0.4,
            zorder=2,
        )
    )
    T = chain.forward(q)
    draw_frame(axes, T, _TRIAD_SHARE * skeleton(chain, q).scale, alpha=alpha)
    if label is not None:
        axes.plot([], [], color=paler(rgb(color), alpha), linewidth=5, label=label)


def draw_frame(
    axes: Axes,
    T_base_frame: np.ndarray,
    length: float,
    alpha: float = 1.0,
    view: np.ndarray = _SPACE,
) -> None:
    """
    Draw the axes of a frame.

    :param axes: 3-D axes, or those of a plane.
    :param T_base_frame: (4, 4).
    :param length: of each axis [m].
    :param alpha: 1 for full colours, less for paler ones.
    :param view: (3, 3) or (2, 3) directions of the axes in the base frame.
    """
    origin = T_base_frame[:3, 3]
    for axis, color in zip(T_base_frame[:3, :3].T, AXIS_COLORS, strict=True):
        ends = np.stack([origin, origin + length * axis])
        shade, order = paler(rgb(color), alpha), 5 - len(view)  # above the links of a plane
        axes.plot(*(view @ ends.T), color=shade, linewidth=2.2, zorder=order)


def draw_shadow(axes: Axes3D, chain: KinematicChain, q: np.ndarray, height: float) -> None:
    """
    Draw the shadow that an arm casts on the ground from above; it distinguishes depth from height.

    :param axes: 3-D axes.
    :param q: (n,) joint positions [rad] or [m].
    :param height: of the ground in the base frame [m].
    """
    points = skeleton(chain, q).points
    axes.plot(
        points[:, 0], points[:, 1], height, color=GRID, linewidth=5, zorder=1,
        solid_joinstyle='round',
    )  # fmt: skip


def show_space(axes: Axes3D, points: np.ndarray, ahead: np.ndarray) -> float:
    """
    Make 3-D axes show some points, all directions to the same scale, from the arm's side.

    :param axes: 3-D axes.
    :param points: (k, 3) points that have to be visible [m].
    :param ahead: (3,) a point that the arm looks towards, such as the target [m].
    :returns: the height of the ground [m].
    """
    from matplotlib.ticker import MaxNLocator

    low, high = points.min(axis=0), points.max(axis=0)
    low[2] = min(low[2], 0.0)
    size = max(float((high - low).max()), 1e-6)
    # No direction becomes so thin that the axes collapse.
    spare = np.maximum(0.45 * size - (high - low), 0.0) * np.array([0.5, 0.5, 0.0])
    low, high = low - spare - _MARGIN * size, high + spare + _MARGIN * size
    low[2] += _MARGIN * size
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    sides = high - low
    level = float(np.hypot(*sides[:2]) / np.linalg.norm(sides))
    axes.set_box_aspect(sides, zoom=min(_ZOOM, _LEVEL_ZOOM / level))
    axes.view_init(elev=_ELEVATION, azim=float(np.degrees(np.arctan2(*ahead[1::-1]))) - _ASIDE)
    for name, axis in (('x', axes.xaxis), ('y', axes.yaxis), ('z', axes.zaxis)):
        axis.set_pane_color((1.0, 1.0, 1.0, 1.0))
        axis.line.set_color(BORDER)
        axis.set_major_locator(MaxNLocator(4))
        axis.set_label_text(f'{name} [m]', color=FAINT, fontsize=8)
        axis.labelpad = -4
        axis.set_tick_params(labelsize=7, colors=FAINT, pad=-1)
    return float(low[2])


class ArmView:
    """
    Axes that show an arm: in space, or flat where it moves in a plane.

    Shadows are drawn first, as they lie below all arms.

    :param panel: gets the axes.
    :param chain: the arm.
    :param points: (k, 3) points that have to be visible [m].
    :param ahead: (3,) a point that the arm looks towards, such as the target [m].
    :ivar axes: the axes, 3-D or 2-D.
    """

    def __init__(
        self, panel: FigureBase, chain: KinematicChain, points: np.ndarray, ahead: np.ndarray
    ) -> None:
        self._chain, self._plane = chain, plane_of(chain)
        self._view = _SPACE if self._plane is None else self._plane
        self._ground = 0.0
        self.axes: Any
        if self._plane is None:
            self.axes = panel.add_subplot(projection='3d')
            self._ground = show_space(self.axes, points, ahead)
        else:
            self.axes = panel.add_subplot()
            _show_plane(self.axes, self._plane, points)

    def draw_shadow(self, q: np.ndarray) -> None:
        """Draw the shadow of a posture (n,) on the ground; nothing in a plane."""
        if self._plane is None:
            draw_shadow(self.axes, self._chain, q, self._ground)

    def draw_arm(
        self,
        q: np.ndarray,
        *,
        color: str = PALETTE[0],
        alpha: float = 1.0,
        label: str | None = None,
    ) -> None:
        """
        Draw the arm.

        :param q: (n,) joint positions [rad] or [m].
        :param color: colour of the links.
        :param alpha: 1 for full colours, less for paler ones.
        :param label: its name in a legend.
        """
        if self._plane is None:
            draw_arm(self.axes, self._chain, q, color=color, alpha=alpha, label=label)
        else:
            _draw_planar_arm(self.axes, self._chain, q, self._plane, color, alpha, label)

    def draw_target(self, T_base_target: np.ndarray, length: float, turned: bool) -> None:
        """
        Draw a target: a ring, and the axes of its frame.

        :param T_base_target: (4, 4).
        :param length: of each axis [m].
        :param turned: whether its orientation is asked for; otherwise there is only the ring.
        """
        view, origin = self._view, T_base_target[:3, 3]
        if turned:
            draw_frame(self.axes, T_base_target, length, view=view)
            for name, axis in zip('xyz', T_base_target[:3, :3].T, strict=True):
                if np.linalg.norm(view @ axis) > _LONG_ENOUGH:
                    self.axes.text(*(view @ (origin + 1.15 * length * axis)), name, **_NAME)
        self.axes.plot(*(view @ origin[:, None]), **RING, label='target')

    def draw_line(self, points: np.ndarray, **style: Any) -> None:  # noqa: ANN401 (Matplotlib's)
        """Draw a line through points (k, 3) [m], in Matplotlib's style."""
        self.axes.plot(*(self._view @ points.T), **style)


def _draw_planar_arm(
    axes: Axes,
    chain: KinematicChain,
    q: np.ndarray,
    plane: np.ndarray,
    color: str,
    alpha: float,
    label: str | None,
) -> None:
    """Draw a planar arm in its plane: links as bars, joints as discs, its tip."""
    shape = skeleton(chain, q)
    shade = paler(rgb(color), alpha)
    mount, links = shape.points[: shape.mount + 1], shape.points[shape.mount :]
    axes.plot(*(plane @ mount.T), color=_MOUNT, linewidth=1.5, linestyle=(0, (2, 2)))
    axes.plot(*(plane @ links.T), color=shade, linewidth=5, solid_joinstyle='round', label=label)
    for slides, marker in ((False, 'o'), (True, 's')):
        places = np.array([joint.position for joint in shape.joints if joint.slides is slides])
        axes.plot(
            *(plane @ places.reshape(-1, 3).T), marker, markersize=8, markerfacecolor='white',
            markeredgecolor=shade, markeredgewidth=2,
        )  # fmt: skip
    draw_frame(axes, chain.forward(q), _TRIAD_SHARE * shape.scale, alpha, plane)


def _show_plane(axes: Axes, plane: np.ndarray, points: np.ndarray) -> None:
    """Make 2-D axes show some points (k, 3), both directions to the same scale."""
    flat = plane @ points.T
    middle = (flat.min(axis=1) + flat.max(axis=1)) / 2
    half = (0.5 + _PLANE_MARGIN) * max(float(np.ptp(flat, axis=1).max()), 1e-6)
    axes.set_aspect('equal')
    axes.set(xlim=middle[0] + half * _BOTH_WAYS, ylim=middle[1] + half * _BOTH_WAYS)
    for axis, direction in zip((axes.xaxis, axes.yaxis), plane, strict=True):
        name = 'xyz'[int(np.argmax(np.abs(direction)))]
        exact = np.abs(direction).max() > 1.0 - 1e-6
        axis.set_label_text(f'{name} [m]' if exact else 'in the plane of the arm [m]')
