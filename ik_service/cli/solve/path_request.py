"""Request of ``ik_solve --path``: arm, poses, start, end and options."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.options import read_settings, UsageError
from ik_service.cli.solve.path_file import PathPoses, read_poses
from ik_service.cli.solve.request import (
    collision_checker,
    given_posture,
    notes_about_collisions,
    notes_about_robot,
    POSITION_ONLY,
)
from ik_service.cli.solve.robot_choice import ArmRequest, read_chain
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.search.path_solver import PathOptions
from ik_service.solvers.options import IkOptions

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker

# Time for a pose, where they are many [s].
_PATIENCE = 0.005


@dataclass(frozen=True)
class PathRequest(ArmRequest):
    """
    Arm, poses, start, end and options of a path.

    :ivar file: name of the file of the poses.
    :ivar targets: the poses.
    :ivar seed: (n,) the seed [rad] or [m]; None for none.
    :ivar end: (n,) where the path ends [rad] or [m]; None for anywhere.
    :ivar options: of the search.
    :ivar collisions: what the rows must be free of; None for nothing.
    :ivar notes: notes for the user, a sentence each.
    """

    file: str
    targets: PathPoses
    seed: np.ndarray | None
    end: np.ndarray | None
    options: PathOptions
    collisions: CollisionChecker | None
    notes: tuple[str, ...]


def read_path_request(arguments: Namespace) -> PathRequest:
    """
    Read the request of a command line with ``--path``.

    :param arguments: the parsed command line.
    :raises IkServiceError: a value is invalid; the message names it and the valid ones.
    """
    urdf, chain = read_chain(arguments)
    targets = read_poses(arguments.path)
    seed = given_posture(arguments.seed, chain, 'seed')
    end = given_posture(arguments.end, chain, 'end')
    collisions = collision_checker(arguments, chain)
    options = _options(arguments, targets)
    notes = [
        *notes_about_robot(chain),
        *targets.notes,
        *_notes_about_limits(chain, options, seed=seed, end=end),
        *notes_about_collisions(collisions),
    ]
    return PathRequest(
        chain=chain,
        urdf=urdf,
        file=str(arguments.path),
        targets=targets,
        seed=seed,
        end=end,
        options=options,
        collisions=collisions,
        notes=tuple(notes),
    )


def _options(arguments: Namespace, targets: PathPoses) -> PathOptions:
    values = read_settings(arguments.set)
    default = PathOptions()
    timeout = values.pop('timeout', max(default.timeout, _PATIENCE * len(targets.poses)))
    if arguments.position_only and 'task_weights' in values:
        raise UsageError('--position-only and --set task_weights contradict each other')
    if 'task_weights' in values:
        weights = IkOptions(task_weights=values['task_weights']).task_weights
        if any(weights[3:]) and not targets.turned:
            raise UsageError(
                'these task_weights need an orientation: columns qx, qy, qz, qw or roll, pitch, '
                'yaw of the file'
            )
    elif arguments.position_only or not targets.turned:
        values['task_weights'] = POSITION_ONLY
    return PathOptions(
        ik=IkOptions(**values),
        max_step=default.max_step if arguments.max_step is None else arguments.max_step,
        start=arguments.start or default.start,
        timeout=timeout,
    )


def _notes_about_limits(
    chain: KinematicChain, options: PathOptions, **postures: np.ndarray | None
) -> list[str]:
    """Return which of the postures lie outside the limits."""
    notes = []
    for name, q in postures.items():
        if q is None or options.ik.joint_limits == 'ignore':
            continue
        outside = (q < chain.lower) | (q > chain.upper)
        if outside.any():
            names = ', '.join(np.array(chain.joint_names)[outside])
            notes.append(f'--{name} lies outside the limits of {names} (values are in rad or m)')
    return notes
