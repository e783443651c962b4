"""Draw docs/figures/demo.png: what the arm of ``make demo`` does, computed by the same classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ik_service as iks
from ik_service.cli.demo.poses import square, start_posture, Stop
from ik_service.common.resources import urdf_path
from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.following.settings import FollowerState
from ik_service.following.target_follower import TargetFollower
from ik_service.sim.simulated_arm import SimulatedArm
from ik_service.studies.drawing.figures import apart
from ik_service.viewer.scene.parts import primitive_parts
from ik_service.viewer.scene.raycast import Camera, Picture, take_picture
from ik_service.viewer.scene.shapes import arm_shapes, triad
from ik_service.viewer.scene.visuals import read_look

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.patheffects import withStroke
except ImportError as error:
    raise MissingExtraError('matplotlib', 'plot') from error

BASE_LINK, TIP_LINK = 'panda_link0', 'panda_hand_tcp'
SPEED = 0.5  # share of the joints' velocity limits, as in the demo
AT_REST = 2e-3  # speed of the fastest joint when the next target comes [rad/s]
PATIENCE = 20.0  # with a target [s]
FINGER = 0.02  # opening of each finger [m]

SIZE = (1600, 800)  # of the picture
SCENE = (10, 10, 760, 780)  # left, bottom, width and height of its left part
OVERSAMPLING = 2
EYE = (-53.0, 16.0)  # azimuth and elevation [°]
LOOK_AT = (0.18, 0.0, 0.46)
VIEW_WIDTH = 1.08  # [m]
POSTURE, GHOSTS = 2, (0, 1, 3)  # stops at which the arm is drawn, and is hinted at
GHOST_COLOR, GHOST_ALPHA = (0.50, 0.68, 0.98), 0.35
TRIAD = 0.075  # length of the axes of a frame [m]

INK, FAINT, BORDER = '#24292f', '#8b949e', '#d0d7de'
PATH_COLOR = '#e8590c'
JOINT_COLORS = ('#0072b2', '#e69f00', '#009e73', '#d55e00', '#7b52c7', '#d6679f', '#555555')


@dataclass(frozen=True)
class Run:
    """
    A recorded run of K ticks.

    :ivar time: (K,) [s].
    :ivar q: (K, n) measured joint positions [rad].
    :ivar tip: (K, 3) measured position of the tip in the base frame [m].
    :ivar distance: (K,) of the tip from the target [m].
    :ivar arrivals: the ticks in which the targets were reached.
    """

    time: np.ndarray
    q: np.ndarray
    tip: np.ndarray
    distance: np.ndarray
    arrivals: list[int]


def main() -> None:
    """Compute the run and the picture, and write it."""
    robot = iks.Robot.from_urdf(urdf_path('panda'))
    chain = robot.chain(BASE_LINK, TIP_LINK)
    solver = iks.Solver(chain)
    T_start = chain.forward(start_posture(chain))
    _, stops = square(T_start, lambda T: solver.solve(T).success)
    run = record(solver, stops)
    figure = Figure(figsize=(SIZE[0] / 100, SIZE[1] / 100), dpi=100)
    draw_card(figure)
    draw_scene(figure.add_axes(_share(*SCENE)), robot, chain, stops, run)
    draw_curves(figure, chain, stops, run)
    path = Path(__file__).with_name('figures') / 'demo.png'
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, transparent=True, metadata={'Software': None})
    print(f'{path.name}: {path.stat().st_size / 1e3:.0f} kB')


def record(solver: iks.Solver, stops: Sequence[Stop]) -> Run:
    """Send a simulated arm from stop to stop, each when it rests at the one before."""
    chain = solver.chain
    start = dict(zip(chain.joint_names, start_posture(chain).tolist(), strict=True))
    arm = SimulatedArm(chain.robot, start)
    follower = TargetFollower(solver, velocity_scaling=SPEED)
    places = [arm.joint_names.index(name) for name in chain.joint_names]
    dt = 1.0 / follower.settings.rate
    follower.set_measured(arm.positions[places], 0.0)
    q, targets, arrivals = [arm.positions[places]], [], []
    for stop in stops:
        follower.set_target(stop.T_base_tip)
        for _ in range(round(PATIENCE / dt)):
            targets.append(stop.T_base_tip[:3, 3])
            command = follower.tick((len(q) - 1) * dt)
            arm.command(chain.joint_names, command.q)
            arm.step(dt)
            q.append(arm.positions[places])
            follower.set_measured(q[-1], (len(q) - 1) * dt)
            if follower.state is FollowerState.REACHED and abs(arm.velocities).max() <= AT_REST:
                break
        else:
            raise IkServiceError(f'{stop.name} was not reached within {PATIENCE:g} s')
        arrivals.append(len(q) - 1)
    tip = np.array([chain.forward(row)[:3, 3] for row in q])
    distance = np.linalg.norm(tip - np.array([targets[0], *targets]), axis=1)
    return Run(dt * np.arange(len(q)), np.array(q), tip, distance, arrivals)


def draw_scene(
    axes: Axes, robot: iks.Robot, chain: iks.KinematicChain, stops: Sequence[Stop], run: Run
) -> None:
    """Draw the arm at one corner, behind it faintly those at the others, and the tip's way."""
    pixels = tuple(OVERSAMPLING * n for n in SCENE[2:])
    parts = primitive_parts(robot, read_look(robot.urdf_text))
    angle, look_at = np.radians(EYE), np.array(LOOK_AT)
    away = [*(np.cos(angle[1]) * np.array([np.cos(angle[0]), np.sin(angle[0])])), np.sin(angle[1])]
    camera = Camera(look_at + 3.0 * np.array(away), look_at, VIEW_WIDTH, pixels)
    postures = [
        dict(zip(chain.joint_names, run.q[arrival].tolist(), strict=True))
        | {'panda_finger_joint1': FINGER}
        for arrival in run.arrivals
    ]
    shapes = arm_shapes(robot, parts, postures[POSTURE])
    shapes += [shape for stop in stops[:4] for shape in triad(stop.T_base_tip, TRIAD)]
    solid = take_picture(camera, shapes, ground_radius=0.48)
    image = _over(np.ones_like(solid.color), solid.color, solid.alpha)
    for number in GHOSTS:
        shapes = arm_shapes(robot, parts, postures[number], still=False)
        ghost = take_picture(camera, shapes, ground_radius=0.0)
        behind = np.isfinite(ghost.distance) & ~np.isfinite(solid.distance)
        image = _over(image, ghost.color**0.5 * GHOST_COLOR, GHOST_ALPHA * behind)
    height, width = SCENE[3], SCENE[2]
    image = image.reshape(height, OVERSAMPLING, width, OVERSAMPLING, 3).mean(axis=(1, 3))
    axes.imshow(image, extent=(-0.5, pixels[0] - 0.5, pixels[1] - 0.5, -0.5), zorder=1)
    draw_way(axes, camera, solid, run)
    label_stops(axes, camera, stops[:4])
    axes.set_axis_off()


def draw_way(axes: Axes, camera: Camera, picture: Picture, run: Run) -> None:
    """Draw the way of the tip, from the first corner on; dotted where the arm hides it."""
    way = run.tip[run.arrivals[0] : run.arrivals[3] + 1]
    seen = camera.project(way)
    columns, rows = np.rint(seen).astype(int).T
    hidden = picture.distance[rows, columns] < np.linalg.norm(way - camera.eye, axis=1) - 0.01
    axes.plot(*seen.T, color=PATH_COLOR, linewidth=1.2, linestyle=(0, (1, 2)), zorder=2)
    visible = np.where(hidden[:, None], np.nan, seen)
    axes.plot(*visible.T, color=PATH_COLOR, linewidth=2.2, solid_capstyle='round', zorder=3)


def label_stops(axes: Axes, camera: Camera, stops: Sequence[Stop]) -> None:
    """Write the stops' names beside their frames."""
    for stop in stops:
        x, y = camera.project(stop.T_base_tip[:3, 3] + 1.2 * TRIAD * stop.T_base_tip[:3, 0])
        text = axes.text(x, y, stop.name, color=INK, fontsize=14, ha='left', va='center')
        text.set_path_effects([withStroke(linewidth=4, foreground='white')])


def draw_card(figure: Figure) -> None:
    """Draw the white card that everything lies on, for dark pages too."""
    card = FancyBboxPatch(
        (2, 2),
        SIZE[0] - 4,
        SIZE[1] - 4,
        boxstyle='round,pad=0,rounding_size=18',
        facecolor='white',
        edgecolor=BORDER,
        linewidth=1.0,
    )
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, SIZE[0]), ylim=(0, SIZE[1]), zorder=-1)
    axes.add_patch(card)
    axes.set_axis_off()


def draw_curves(
    figure: Figure, chain: iks.KinematicChain, stops: Sequence[Stop], run: Run
) -> None:
    """Draw the joints and the tip's distance from its target over time."""
    upper = figure.add_axes(_share(865, 330, 610, 385))
    lower = figure.add_axes(_share(865, 85, 610, 165), sharex=upper)
    degrees = np.degrees(run.q)
    for column, color in zip(degrees.T, JOINT_COLORS, strict=True):
        upper.plot(run.time, column, color=color, linewidth=2.0)
    texts = [name.removeprefix('panda_').replace('joint', 'joint ') for name in chain.joint_names]
    for text, y, color in zip(texts, apart(degrees[-1], 19.0), JOINT_COLORS, strict=True):
        upper.text(run.time[-1] + 0.08, y, text, color=color, fontsize=14, va='center')
    lower.semilogy(run.time, 1e3 * run.distance, color=PATH_COLOR, linewidth=2.0)
    upper.set_title('Joint positions [°]', loc='left', fontsize=16, color=INK, pad=34)
    lower.set_title('Distance of the tip from its target [mm]', loc='left', fontsize=16, color=INK)
    lower.set_xlabel('time [s]', fontsize=14, color=INK)
    starts = [0.0, *run.time[run.arrivals]]  # of the ways to the stops, and the end
    for stop, start, end in zip(stops, starts[:-1], starts[1:], strict=True):
        upper.annotate(
            stop.name,
            ((start + end) / 2, 1.02),
            xycoords=('data', 'axes fraction'),
            ha='center',
            fontsize=14,
            color=FAINT,
        )
    for axes in (upper, lower):
        _tidy(axes, starts, run.time[-1])
    upper.set_yticks(range(-150, 151, 50))
    upper.tick_params(labelbottom=False)
    lower.set_ylim(0.02, 1000.0)
    lower.set_yticks([0.1, 1, 10, 100], ['0.1', '1', '10', '100'])


def _tidy(axes: Axes, starts: Sequence[float], end: float) -> None:
    axes.set_xlim(0.0, end)
    axes.patch.set_alpha(0.0)
    axes.grid(axis='y', color='#eaeef2')
    axes.minorticks_off()
    axes.tick_params(colors=INK, labelsize=14, length=0)
    for start in starts[1:-1]:
        axes.axvline(start, color=BORDER, linewidth=1.0, zorder=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _over(image: np.ndarray, color: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return image + alpha[..., None] * (color - image)


def _share(left: float, bottom: float, width: float, height: float) -> tuple[float, ...]:
    """Return a rectangle given in pixels in shares of the picture."""
    return left / SIZE[0], bottom / SIZE[1], width / SIZE[0], height / SIZE[1]


if __name__ == '__main__':
    main()
