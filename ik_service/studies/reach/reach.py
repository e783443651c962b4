"""Positions that an arm can reach, with the share of orientations at each, as a point cloud."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
import time
from typing import cast, TYPE_CHECKING

import numpy as np

from ik_service.common.resources import urdf_path
from ik_service.kinematics.chain import KinematicChain
from ik_service.model.xacro_arguments import parse_xacro_args, XACRO_HELP
from ik_service.robot import Robot
from ik_service.studies.reach.reach_figure import draw_reach
from ik_service.studies.reach.survey import Check, Reachability, survey, THOROUGH_SEARCHES
from ik_service.studies.tables import write_csv

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker

SUMMARY = 'the positions that an arm can reach, and with how many orientations'

_PANDA = ('panda_link0', 'panda_hand_tcp')


def add_arguments(parser: ArgumentParser) -> None:
    """
    Add the options of this study.

    :param parser: of its command line.
    """
    parser.add_argument(
        '--urdf', type=Path, help='robot description (default: the Panda of this package)'
    )
    parser.add_argument('--xacro-args', default='', metavar='TEXT', help=XACRO_HELP)
    parser.add_argument('--base-link', help="base of its chain (default: the robot's root)")
    parser.add_argument('--tip-link', help='its tip (default: the tool)')
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
        '--searches',
        type=_at_least(1),
        default=20,
        help='searches for a pose, at most; more take longer and miss less (default: %(default)s)',
    )
    parser.add_argument(
        '--avoid-collisions',
        action='store_true',
        help='count only postures at which the robot does not collide with itself, and say what '
        'share that is (needs the extra "collision")',
    )


def run(arguments: Namespace) -> list[Path]:
    """
    Survey the arm, print a summary, and write ``reach.csv``, ``reach.npz`` and ``reach.png``.

    The table has a row for each position that is reached. The archive holds the same for
    programs: ``points`` (N, 3) in the frame of the base link [m], ``reachable`` (N,) the share of
    the orientations, 0 to 1, ``on_shell`` (N,) whether a neighbour in the grid is not reached,
    ``spacing`` (3,) of the grid [m], ``base_link`` and ``tip_link``.

    :param arguments: ``output``, ``urdf``, ``xacro_args``, ``base_link``, ``tip_link``,
        ``points``, ``orientations``, ``searches``, ``avoid_collisions``.
    :returns: the files written.
    :raises IkServiceError: the robot makes no chain, or Matplotlib is not installed.
    """
    chain = _chain(arguments)
    began = time.perf_counter()
    collisions = _checker(chain) if arguments.avoid_collisions else None
    reach = survey(chain, arguments.points, arguments.orientations, arguments.searches, collisions)
    _print_summary(chain, reach, arguments.searches, time.perf_counter() - began)
    if collisions is not None:
        _print_free_shares(reach)
    return [
        _write_table(arguments.output / 'reach.csv', reach),
        _write_archive(arguments.output / 'reach.npz', chain, reach),
        draw_reach(arguments.output / 'reach.png', chain, reach),
    ]


def _chain(arguments: Namespace) -> KinematicChain:
    if arguments.urdf is None:
        base_link, tip_link = _PANDA
        robot = Robot.from_urdf(urdf_path('panda'))
        return robot.chain(arguments.base_link or base_link, arguments.tip_link or tip_link)
    xacro_args = parse_xacro_args(arguments.xacro_args, '--xacro-args')
    return Robot.from_urdf(arguments.urdf, xacro_args).chain(
        arguments.base_link, arguments.tip_link
    )


def _checker(chain: KinematicChain) -> CollisionChecker:
    from ik_service.collision.checker import CollisionChecker

    return CollisionChecker(cast(Robot, chain.robot))


def _print_summary(
    chain: KinematicChain, reach: Reachability, searches: int, seconds: float
) -> None:
    """Print the numbers of positions and poses that are reached and missed."""
    positions, poses = int(reach.position.sum()), int(reach.count.sum())
    tried = positions * reach.orientations
    print(f'{chain.robot.name}, {chain.base_link} to {chain.tip_link}')
    print(
        f'{positions:,} of {reach.position.size:,} positions are reached, '
        f'about {reach.volume:.2f} m³; {poses:,} of {tried:,} poses there '
        f'({poses / max(tried, 1):.1%}); solved in {seconds:.1f} s'
    )
    print(_missed_text('positions', reach.missed_positions, positions, searches))
    if poses:
        print(_missed_text('poses', reach.missed_poses, poses, searches))
    elif positions:
        print(
            'not one of the orientations is reached: the arm cannot choose how its tip is turned'
        )
    if reach.touches_edge:
        print('the arm gets to the edge of the grid, and perhaps beyond')


def _print_free_shares(reach: Reachability) -> None:
    """Print what share of all that is reached is reached without a collision."""
    texts = []
    for kind, free, colliding in (
        ('positions', int(reach.position.sum()), reach.colliding_positions),
        ('poses there', int(reach.count.sum()), reach.colliding_poses),
    ):
        share = free / max(free + colliding, 1)
        texts.append(f'{free:,} of {free + colliding:,} {kind} ({share:.1%})')
    print(f'free of collisions of the robot with itself: {", ".join(texts)}')


def _missed_text(kind: str, check: Check, reached: int, searches: int) -> str:
    """Sentence about the targets that more searches reach."""
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


def _at_least(least: int) -> Callable[[str], int]:
    """Return a parser of whole numbers that refuses smaller ones."""

    def number(text: str) -> int:
        value = int(text)
        if value < least:
            raise ArgumentTypeError(f'has to be at least {least}, not {value}')
        return value

    return number
