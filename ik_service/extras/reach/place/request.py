"""Request of ``ik_place``: arm, poses, region and options, read from the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.options import read_settings, UsageError
from ik_service.cli.solve.path_file import PathPoses, read_poses
from ik_service.cli.solve.request import (
    collision_checker,
    notes_about_collisions,
    notes_about_robot,
    POSITION_ONLY,
)
from ik_service.cli.solve.robot_choice import ArmRequest, read_chain
from ik_service.exceptions import StoreError
from ik_service.extras.reach.capability import CapabilityMap
from ik_service.extras.reach.inverse_map import InverseMap
from ik_service.extras.reach.place_arm import read_arm
from ik_service.extras.reach.region import around, FULL_TURN, Region
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker


@dataclass(frozen=True)
class PlaceRequest(ArmRequest):
    """
    Arm, poses, region and options of a search for places.

    :ivar file: name of the file of the poses.
    :ivar targets: the poses, of the tip in the world.
    :ivar region: where the base may stand.
    :ivar options: of the solves.
    :ivar collisions: what postures must be free of; None for nothing.
    :ivar inverse_map: map of the arm; None without one.
    :ivar notes: notes for the user, a sentence each.
    """

    file: str
    targets: PathPoses
    region: Region
    options: IkOptions
    collisions: CollisionChecker | None
    inverse_map: InverseMap | None
    notes: tuple[str, ...]


def read_request(arguments: Namespace) -> PlaceRequest:
    """
    Read the request of a command line.

    :param arguments: the parsed command line.
    :raises IkServiceError: a value is invalid; the message names it and the valid ones.
    """
    urdf, chain = read_chain(arguments)
    targets = read_poses(arguments.poses, 'POSES')
    options = _options(arguments, targets)
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
    """
    Read an inverse map, or the inverse of a capability map.

    :param path: its folder.
    :raises StoreError: there is neither.
    """
    try:
        return InverseMap.load(path)
    except StoreError as error:
        try:
            return InverseMap.of(CapabilityMap.load(path))
        except StoreError:
            raise error from None


def _options(arguments: Namespace, targets: PathPoses) -> IkOptions:
    values = read_settings(arguments.set)
    if arguments.position_only and 'task_weights' in values:
        raise UsageError('--position-only and --set task_weights contradict each other')
    if 'task_weights' not in values and (arguments.position_only or not targets.turned):
        values['task_weights'] = POSITION_ONLY
    options = IkOptions(**values)
    if any(options.task_weights[3:]) and not targets.turned:
        raise UsageError(
            'these task_weights need an orientation: columns qx, qy, qz, qw or roll, pitch, yaw '
            'of the file'
        )
    return options


def _region(arguments: Namespace, poses: np.ndarray, reach: Callable[[], np.ndarray]) -> Region:
    height = arguments.height[0], arguments.height[-1]
    yaw = FULL_TURN
    if arguments.yaw is not None:
        yaw = math.radians(arguments.yaw[0]), math.radians(arguments.yaw[-1])
    roll, pitch, turn = map(math.radians, arguments.mounting)
    mounting = roll, pitch, turn
    if arguments.polygon is not None:
        corners = np.reshape(arguments.polygon, (-1, 2))
        return Region.polygon(corners, z=height, yaw=yaw, mounting=mounting)
    if arguments.region is not None:
        x0, x1, y0, y1 = arguments.region
        return Region((x0, x1), (y0, y1), height, yaw, mounting)
    return around(poses[:, :3, 3], reach(), height, yaw, mounting)
