"""Where an arm can reach, and with how many orientations, as a cloud of points."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
import threading
import time

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.robot import Robot
from ik_service.studies.drawing.tables import write_csv
from ik_service.studies.reach.reach_figure import draw_reach, share_colors
from ik_service.studies.reach.reachability import Check, Reachability, survey, THOROUGH_SEARCHES

SUMMARY = 'where an arm can reach, and with how many orientations at each place'

_PANDA = ('panda_link0', 'panda_hand_tcp')


def add_arguments(parser: ArgumentParser) -> None:
    """Add the study's own options."""
    parser.add_argument('--urdf', type=Path, help='the robot (default: our Franka Emika Panda)')
    parser.add_argument('--base-link', help="where its chain starts (default: the robot's root)")
    parser.add_argument('--tip-link', help='where it ends (default: the only leaf)')
    parser.add_argument(
        '--points',
        type=_at_least(2),
        default=20,
        help='positions along each of x, y and z (default: %(default)s)',
    )
    parser.add_argument(
        '--orientations',
        type=_at_least(1),
        default=50,
        help='tried at each position (default: %(default)s)',
    )
    parser.add_argument(
        '--publish',
        action='store_true',
        help='then show it in RViz, on the topic reachable_shell, until Ctrl-C (needs ROS 2)',
    )
    parser.add_argument(
        '--searches',
        type=_at_least(1),
        default=20,
        help='for a pose, at most; more take longer and miss less (default: %(default)s)',
    )


def run(arguments: Namespace) -> list[Path]:
    """
    Survey the arm, say what came of it, and write ``reach.csv``, ``reach.npz`` and ``reach.png``.

    The table has a row for each position that is reached. The archive holds the same for
    programs: ``points`` (N, 3) in the frame of the base link [m], ``reachable`` (N,) the share of
    the orientations, 0 to 1, ``on_shell`` (N,) whether a neighbour in the grid is not reached,
    ``spacing`` (3,) of the grid [m], ``base_link`` and ``tip_link``.

    :raises IkServiceError: the robot makes no chain, or Matplotlib is not installed.
    """
    if arguments.publish:
        _require_ros()
    chain = _chain(arguments)
    began = time.perf_counter()
    reach = survey(chain, arguments.points, arguments.orientations, arguments.searches)
    _tell(chain, reach, arguments.searches, time.perf_counter() - began)
    paths = [
        _write_table(arguments.output / 'reach.csv', reach),
        _write_archive(arguments.output / 'reach.npz', chain, reach),
        draw_reach(arguments.output / 'reach.png', chain, reach),
    ]
    if arguments.publish:
        _publish(chain, reach)
    return paths


def _require_ros() -> None:
    try:
        import rclpy  # noqa: F401
        import visualization_msgs.msg  # noqa: F401
    except ImportError as error:
        raise ArgumentError(
            '--publish', f'needs ROS 2, which cannot be imported: {error}'
        ) from error


def _chain(arguments: Namespace) -> KinematicChain:
    if arguments.urdf is None:
        base_link, tip_link = _PANDA
        robot = Robot.from_urdf(urdf_path('panda'))
        return robot.chain(arguments.base_link or base_link, arguments.tip_link or tip_link)
    return Robot.from_urdf(arguments.urdf).chain(arguments.base_link, arguments.tip_link)


def _tell(chain: KinematicChain, reach: Reachability, searches: int, seconds: float) -> None:
    """Print what a reader wants to know."""
    positions, poses = int(reach.position.sum()), int(reach.count.sum())
    tried = positions * reach.orientations
    print(f'{chain.robot.name}, {chain.base_link} to {chain.tip_link}')
    print(
        f'{positions:,} of {reach.position.size:,} positions are reached, '
        f'about {reach.volume:.2f} m³; {poses:,} of {tried:,} poses there '
        f'({poses / max(tried, 1):.1%}); solved in {seconds:.1f} s'
    )
    print(_told('positions', reach.missed_positions, positions, searches))
    if poses:
        print(_told('poses', reach.missed_poses, poses, searches))
    elif positions:
        print(
            'not one of the orientations is reached: the arm cannot choose how its tip is turned'
        )
    if reach.touches_edge:
        print('the arm gets to the edge of the grid, and perhaps beyond')


def _told(kind: str, check: Check, reached: int, searches: int) -> str:
    """Say what more searches found."""
    if not check.given_up:
        return f'{kind}: all are reached'
    known = check.found or check.tried == check.given_up
    share = check.missed / max(reached + check.missed, 1.0)
    return (
        f'{kind}: {check.tried:,} of the {check.given_up:,} that were given up after {searches} '
        f'searches were tried again with {THOROUGH_SEARCHES}: {check.found} reached, so '
        f'{"about" if known else "at most about"} {share:.2%} of those that can be reached are '
        'missed'
    )


def _write_table(path: Path, reach: Reachability) -> Path:
    counts = reach.count[reach.position].tolist()
    return write_csv(
        path,
        ('x_m', 'y_m', 'z_m', 'orientations_reached', 'orientations_tried'),
        _rows(reach.points, counts, reach.orientations),
    )


def _rows(points: np.ndarray, counts: list[int], tried: int) -> Iterator[tuple[object, ...]]:
    for point, count in zip(points.round(6).tolist(), counts, strict=True):
        yield (*point, count, tried)


def _write_archive(path: Path, chain: KinematicChain, reach: Reachability) -> Path:
    np.savez_compressed(
        path,
        points=reach.points,
        reachable=reach.share,
        on_shell=reach.on_shell,
        spacing=reach.spacing,
        base_link=chain.base_link,
        tip_link=chain.tip_link,
    )
    return path


def _publish(chain: KinematicChain, reach: Reachability) -> None:
    """Show the cloud in RViz until Ctrl-C."""
    from ik_service.ros.markers.reach_cloud_publisher import published_cloud

    with (
        published_cloud(
            chain.base_link,
            reach.points,
            share_colors(reach.share),
            reach.on_shell,
            float(reach.spacing.max()),
        ) as topic,
        suppress(KeyboardInterrupt),
    ):
        print(f'published on {topic} until Ctrl-C', flush=True)
        threading.Event().wait()


def _at_least(least: int) -> type[int]:
    """Return what reads a whole number of a command line and refuses smaller ones."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ArgumentTypeError(f'has to be at least {least}, not {value}')
        return value

    return number
