"""Command line of ``ik_place``, and the request it makes."""

from __future__ import annotations

import argparse
from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.options import (
    add_robot_options,
    ArmRequest,
    check_written,
    named_as,
    number,
    NumberParser,
    read_chain,
    read_settings,
    UsageError,
)
from ik_service.cli.solve.path_file import PathPoses, read_poses
from ik_service.cli.solve.request import (
    collision_checker,
    notes_about_collisions,
    notes_about_robot,
    task_options,
)
from ik_service.common.arguments import at_least
from ik_service.exceptions import ArgumentError, StoreError
from ik_service.extras.reach.capability import CapabilityMap
from ik_service.extras.reach.inverse_map import InverseMap
from ik_service.extras.reach.place_task import read_arm
from ik_service.extras.reach.region import around, FULL_TURN, Region
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker


MOUNTINGS = {'floor': (0.0, 0.0, 0.0), 'ceiling': (180.0, 0.0, 0.0), 'wall': (0.0, 90.0, 0.0)}
"""Names of mountings: roll, pitch and yaw of the base [°]."""

_DESCRIPTION = """
Where the base of an arm may stand so that the arm reaches given poses: places are compared on a
grid, the best ones are moved to where they are better still, and every pose is solved for at each
place that is printed.
"""

_EPILOG = """
poses:
  A CSV file whose first line names the columns: x, y, z [m], then qx, qy, qz, qw or roll, pitch,
  yaw [DEGREES] or neither, for any orientation. Or matrices (N, 4, 4) as .npy or .json. They are
  poses of the tip link in the world; places are those of the base link in the world.

ranking:
  By the share of the poses that are reached, then by quality: the least, over the poses that are
  reached, of sqrt(2 d · w / w_max). d is the distance of the joint closest to a limit from it, as
  a share of its range, 0 to 0.5; w the manipulability of the posture, w_max the largest of 2,000
  random ones. It is 1 at best and 0 at a limit or in a singular posture.

examples:
  ik_place panda poses.csv
  ik_place panda poses.csv --region -1 1 -1 0 --height 0 0.4 --plot places.png
  ik_place ur5e poses.csv --mounting ceiling --height 1.8 --output places.json
  ik_place ur5e poses.csv --region 0.2 0.2 0.4 0.4 --yaw 90        a check of one place
  ik_place panda poses.csv --map panda.zarr --candidates 1000000

exit code: 0 all poses are reached from the best place, 1 not all, 2 the command is wrong.
"""


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; UsageError if it is invalid, SystemExit if it asked for help."""
    arguments = _parser().parse_args(words)
    arguments.mounting = _mounting(arguments.mounting)
    _check(arguments)
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = NumberParser(
        prog='ik_place',
        usage='ik_place URDF POSES [options]',
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_robot_options(parser.add_argument_group('robot'))
    parser.add_argument('poses', type=Path, metavar='POSES', help='file of the poses, see below')
    _add_region(parser.add_argument_group('where the base may stand'))
    _add_search(parser.add_argument_group('search'))
    _add_output(parser.add_argument_group('output'))
    return parser


def _add_region(group: argparse._ArgumentGroup) -> None:
    where = group.add_mutually_exclusive_group()
    where.add_argument(
        '--region', nargs=4, type=number, metavar=('X0', 'X1', 'Y0', 'Y1'),
        help='box in the world [m] (default: from where a pose might be reached)',
    )  # fmt: skip
    where.add_argument(
        '--polygon', nargs='+', type=number, metavar='X Y',
        help='corners of a polygon instead, three or more [m]',
    )  # fmt: skip
    group.add_argument(
        '--height', nargs='+', type=number, default=[0.0], metavar='Z',
        help='height of the base link, or the least and the largest one [m] (default: 0)',
    )  # fmt: skip
    group.add_argument(
        '--yaw', nargs='+', type=number, metavar='YAW',
        help='heading of the base, or the first and the last one [DEGREES] (default: any)',
    )  # fmt: skip
    group.add_argument(
        '--mounting', nargs='+', default=['floor'], metavar='HOW',
        help='floor, ceiling, wall (one that x points away from), or roll, pitch and yaw of the '
        'mounting [DEGREES]; the heading turns the base about its own z axis (default: floor)',
    )  # fmt: skip


def _add_search(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--candidates', type=at_least(1), default=10_000, metavar='N',
        help='places that are compared, at most (default: %(default)s)',
    )  # fmt: skip
    group.add_argument(
        '--spacing', type=number, metavar='M', help='distance of the places instead [m]'
    )
    group.add_argument(
        '--headings', type=at_least(1), default=8, metavar='N',
        help='headings of a full turn that are compared (default: %(default)s)',
    )  # fmt: skip
    group.add_argument(
        '--best', type=at_least(1), default=5, metavar='N',
        help='places to print (default: %(default)s)',
    )  # fmt: skip
    group.add_argument(
        '--map', type=Path, metavar='MAP.zarr',
        help='capability map or inverse map of the arm: places are compared by looking the poses '
        'up, which is much faster for many; what is printed is solved for all the same',
    )  # fmt: skip
    group.add_argument(
        '--avoid-collisions', action='store_true',
        help='count only poses at which the robot does not collide with itself (needs the extra '
        '"collision")',
    )  # fmt: skip
    group.add_argument(
        '--position-only', action='store_true', help='leave the orientation of the poses free'
    )
    group.add_argument(
        '--set', nargs='+', action='extend', default=[], metavar='OPTION=VALUE',
        help='options of the solver as in ik_solve --help, such as task_weights=1,1,1,0,0,1 along '
        'the axes of the base link',
    )  # fmt: skip


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        '--output', type=Path, metavar='FILE.json', help='write places and joint values there'
    )
    group.add_argument(
        '--plot', type=Path, metavar='FILE.png', help='draw the places, and the arm at the best'
    )
    group.add_argument('--json', action='store_true', help='print everything as JSON')


def _check(arguments: argparse.Namespace) -> None:
    for name in ('height', 'yaw'):
        values = getattr(arguments, name)
        if values is not None and len(values) > 2:
            raise UsageError(f'--{name} takes one or two numbers, not {len(values)}')
        if values is not None and values[-1] < values[0]:
            raise UsageError(f'--{name} ends at {values[-1]:g} before it begins, at {values[0]:g}')
    polygon = arguments.polygon
    if polygon is not None and (len(polygon) < 6 or len(polygon) % 2):
        raise UsageError(f'--polygon takes three pairs of x and y or more, not {len(polygon)}')
    check_written('--plot', arguments.plot, '.png')
    check_written('--output', arguments.output, '.json', arguments.poses)


def _mounting(words: list[str]) -> tuple[float, ...]:
    """Return roll, pitch and yaw of the base [°]."""
    if len(words) == 1 and words[0] in MOUNTINGS:
        return MOUNTINGS[words[0]]
    try:
        angles = tuple(number(word) for word in words)
    except argparse.ArgumentTypeError:
        angles = ()
    if len(angles) != 3:
        raise UsageError(
            f'--mounting takes {", ".join(MOUNTINGS)}, or roll, pitch and yaw [°], not '
            f'{" ".join(map(str.strip, words))!r}'
        )
    return angles


@dataclass(frozen=True)
class PlaceRequest(ArmRequest):
    """Arm, poses, region and options of a search for places; no collisions or map is None."""

    file: str
    targets: PathPoses
    region: Region
    options: IkOptions
    collisions: CollisionChecker | None
    inverse_map: InverseMap | None
    notes: tuple[str, ...]


def read_request(arguments: Namespace) -> PlaceRequest:
    """Read the request of a command line; IkServiceError names an invalid value."""
    urdf, chain = read_chain(arguments)
    targets = read_poses(arguments.poses, 'POSES')
    options = task_options(arguments, read_settings(arguments.set), targets.turned)
    collisions = collision_checker(arguments, chain)
    inverse_map = None if arguments.map is None else read_map(arguments.map)
    region = _region(arguments, targets.poses, lambda: read_arm(chain, options).reach)
    return PlaceRequest(
        chain=chain,
        urdf=urdf,
        file=str(arguments.poses),
        targets=targets,
        region=region,
        options=options,
        collisions=collisions,
        inverse_map=inverse_map,
        notes=(*notes_about_robot(chain), *targets.notes, *notes_about_collisions(collisions)),
    )


def read_map(path: Path) -> InverseMap:
    """Read an inverse map, or that of a capability map; StoreError, UsageError if it is none."""
    try:
        return InverseMap.load(path)
    except StoreError as error:
        try:
            return InverseMap.of(CapabilityMap.load(path))
        except ArgumentError as other:
            raise UsageError(f'--map: {path} {other.reason}') from other
        except StoreError:
            raise error from None


def _region(arguments: Namespace, poses: np.ndarray, reach: Callable[[], np.ndarray]) -> Region:
    height = arguments.height[0], arguments.height[-1]
    yaw = FULL_TURN
    if arguments.yaw is not None:
        yaw = math.radians(arguments.yaw[0]), math.radians(arguments.yaw[-1])
    roll, pitch, turn = map(math.radians, arguments.mounting)
    mounting = roll, pitch, turn
    given = [name for name in ('polygon', 'region') if getattr(arguments, name) is not None]
    box = f'--{given[0]}' if given else 'POSES'
    with named_as(
        corners=f'{box}: corners', x=f'{box}: x', y=f'{box}: y', z='--height', yaw='--yaw'
    ):
        if arguments.polygon is not None:
            corners = np.reshape(arguments.polygon, (-1, 2))
            return Region.polygon(corners, z=height, yaw=yaw, mounting=mounting)
        if arguments.region is not None:
            x0, x1, y0, y1 = arguments.region
            return Region((x0, x1), (y0, y1), height, yaw, mounting)
        return around(poses[:, :3, 3], reach(), height, yaw, mounting)
