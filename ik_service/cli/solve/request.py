"""Requests of ``ik_solve``, of a pose or of a path, read from the command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any, cast, TYPE_CHECKING

import numpy as np

from ik_service.cli.solve.arguments import ALL
from ik_service.cli.solve.options import (
    ArmRequest,
    named_seed,
    read_chain,
    read_settings,
    UsageError,
)
from ik_service.cli.solve.path_file import PathPoses, read_poses
from ik_service.common.quaternions import (
    normalized_quaternion,
    rotation_from_quaternion_xyzw,
    UNIT_TOLERANCE,
)
from ik_service.common.transforms import rigid_transform, rotation_from_rpy
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.chain import KinematicChain
from ik_service.paths.search.path_solver import PathOptions
from ik_service.robot import Robot
from ik_service.solvers.loop.problem import reach_without_limits
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import solver_names
from ik_service.solvers.solver import Solver

if TYPE_CHECKING:
    from ik_service.collision.checker import CollisionChecker


POSITION_ONLY = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)  # task weights that leave the orientation free
_MOST_REMARKS = 10  # more would push the answer off the screen


@dataclass(frozen=True)
class Request(ArmRequest):
    """
    Arm, target, seed and options of a solve.

    :ivar T_base_target: (4, 4) where the tip shall be.
    :ivar origin: the option that gave the target: 'xyz', 'joints' or 'random'.
    :ivar random_seed: the seed of a random target; else None.
    :ivar seed: (n,) where the search starts [rad] or [m].
    :ivar guessed: whether the seed is a learned starting posture for the target.
    :ivar collisions: test that the solutions must pass; None for no test.
    """

    T_base_target: np.ndarray
    origin: str
    random_seed: int | None
    seed: np.ndarray
    guessed: bool
    options: IkOptions
    solvers: tuple[str, ...]
    collisions: CollisionChecker | None
    notes: tuple[str, ...]

    @property
    def has_position(self) -> bool:
        """Whether any direction of the position matters."""
        return any(self.options.task_weights[:3])

    @property
    def has_orientation(self) -> bool:
        """Whether any direction of the orientation matters."""
        return any(self.options.task_weights[3:])


def read_request(arguments: Namespace) -> Request:
    """Read the request of a command line; raises IkServiceError, naming the valid values."""
    urdf, chain = read_chain(arguments)
    turned = arguments.xyz is None or any((arguments.rpy, arguments.quaternion))
    values = read_settings(arguments.set)
    options = task_options(arguments, values, turned, '--rpy or --quaternion')
    T, origin = _target(arguments, chain)
    collisions = collision_checker(arguments, chain)
    guessed = arguments.seed is None and options.seed_source != 'given'
    seed = _seed(arguments, chain, T, options)
    notes = [
        *notes_about_robot(chain),
        *_notes_about_joints(arguments, chain, seed, options),
        *_notes_about_reach(chain, T, options),
        *notes_about_collisions(collisions),
    ]
    return Request(
        chain=chain,
        urdf=urdf,
        T_base_target=T,
        origin=origin,
        random_seed=arguments.random,
        seed=seed,
        guessed=guessed,
        options=options,
        solvers=solver_names() if arguments.solver == ALL else (arguments.solver,),
        collisions=collisions,
        notes=tuple(notes),
    )


def collision_checker(arguments: Namespace, chain: KinematicChain) -> CollisionChecker | None:
    """Return the test that solutions have to pass, None for no test; raises MissingExtraError."""
    if not arguments.avoid_collisions:
        return None
    from ik_service.collision.checker import CollisionChecker

    return CollisionChecker(cast(Robot, chain.robot))


def _seed(
    arguments: Namespace, chain: KinematicChain, T: np.ndarray, options: IkOptions
) -> np.ndarray:
    """Posture at which the search starts (n,)."""
    given = given_posture(arguments.seed, chain, 'seed')
    if given is not None:
        return given
    start = IkOptions(
        seed_source=options.seed_source,
        seed_file=options.seed_file,
        task_weights=options.task_weights,
    )
    return Solver(chain, options=start).start_for(T)


def given_posture(
    words: Sequence[float] | str | None, chain: KinematicChain, name: str
) -> np.ndarray | None:
    """Return a posture of the command line (n,) [rad] or [m], or None; raises IkServiceError."""
    if isinstance(words, str):
        return named_seed(chain, words)
    return None if words is None else _vector(words, chain, name)


def task_options(
    arguments: Namespace,
    values: dict[str, Any],
    turned: bool,
    missing: str = 'columns qx, qy, qz, qw or roll, pitch, yaw of the file',
) -> IkOptions:
    """
    Return options in which the orientation counts where the target has one.

    :param arguments: with the option ``--position-only``.
    :param values: of ``--set``, as :func:`read_settings` returns them.
    :param turned: whether the target has an orientation.
    :param missing: what would bring one, for the message.
    :raises IkServiceError: these contradict each other, or a value is invalid.
    """
    if 'task_weights' in values:
        if arguments.position_only:
            raise UsageError('--position-only and --set task_weights contradict each other')
        weights = IkOptions(task_weights=values['task_weights']).task_weights
        if not turned and any(weights[3:]):
            raise UsageError(f'these task_weights need an orientation: {missing}')
    elif not turned or arguments.position_only:
        values['task_weights'] = POSITION_ONLY
    return IkOptions(**values)


def _target(arguments: Namespace, chain: KinematicChain) -> tuple[np.ndarray, str]:
    if arguments.joints is not None:
        return chain.forward(_vector(arguments.joints, chain, 'joints')), 'joints'
    if arguments.random is not None:
        return chain.forward(chain.random_postures(1, arguments.random)[0]), 'random'
    R = None
    if arguments.rpy is not None:
        R = rotation_from_rpy(*map(math.radians, arguments.rpy))
    elif arguments.quaternion is not None:
        R = rotation_from_quaternion(arguments.quaternion, '--quaternion')
    return rigid_transform(R, arguments.xyz), 'xyz'


def rotation_from_quaternion(quaternion: Sequence[float], argument: str) -> np.ndarray:
    """
    Return the rotation of a quaternion, which is normalised if it is nearly a unit one.

    :param quaternion: (4,) x, y, z, w.
    :returns: (3, 3).
    :raises ArgumentError: it is zero, or its norm is off by more than a hundredth.
    """
    unit, norm = normalized_quaternion(quaternion)
    if norm == 0.0:
        raise ArgumentError(argument, 'is the zero quaternion, which is no rotation')
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        wanted = ' '.join(f'{value:.6g}' for value in unit)
        raise ArgumentError(argument, f'has the norm {norm:g}, but a rotation has 1: {wanted}')
    return rotation_from_quaternion_xyzw(*unit)


def _vector(values: Sequence[float], chain: KinematicChain, name: str) -> np.ndarray:
    if len(values) != chain.n:
        raise UsageError(
            f'--{name} needs {chain.n} values [rad or m], not {len(values)}: one each for '
            + ', '.join(chain.joint_names)
        )
    return np.array(values)


def _notes_about_joints(
    arguments: Namespace, chain: KinematicChain, seed: np.ndarray, options: IkOptions
) -> list[str]:
    ignored = options.joint_limits == 'ignore'
    units = '(values are in rad, those of sliding joints in m)'
    notes = []
    if arguments.joints is not None:
        text = f', so the pose may be out of reach {units}'
        notes += _notes_about_limits(chain, 'joints', np.array(arguments.joints), text)
    if arguments.seed is not None:
        consequence = 'which are ignored' if ignored else 'so the search starts inside them'
        notes += _notes_about_limits(chain, 'seed', seed, f', {consequence} {units}')
    return notes


def _notes_about_limits(
    chain: KinematicChain, name: str, q: np.ndarray | None, text: str = ' (values are in rad or m)'
) -> list[str]:
    if q is None:
        return []
    outside = (q < chain.lower) | (q > chain.upper)
    names = ', '.join(np.array(chain.joint_names)[outside])
    return [f'--{name} lies outside the limits of {names}{text}'] if names else []


def notes_about_robot(chain: KinematicChain) -> list[str]:
    """Return the parts of the robot's description that are not used, a sentence each."""
    remarks = chain.robot.remarks
    more = len(remarks) - _MOST_REMARKS
    return [*remarks[:_MOST_REMARKS], *([f'{more} more parts are not used'] if more > 0 else [])]


def notes_about_collisions(collisions: CollisionChecker | None) -> list[str]:
    """Return notes about collisions, a sentence each."""
    if collisions is None:
        return []
    if not collisions.has_geometry:
        return ['no link of the robot has a collision shape, so nothing can collide']
    from ik_service.collision.pair_rules import home_text, left_out_text

    left_out = left_out_text(collisions)
    notes = [f'links that are not checked with each other are {left_out}' if left_out else '']
    return [note for note in (*notes, home_text(collisions)) if note]


def _notes_about_reach(
    chain: KinematicChain, T_base_target: np.ndarray, options: IkOptions
) -> list[str]:
    first_joint, reach = chain.arrays.reach[:3], float(chain.arrays.reach[3])
    if options.joint_limits == 'ignore':
        reach = reach_without_limits(chain.arrays.joints, reach)
    distance = float(np.linalg.norm(T_base_target[:3, 3] - first_joint))
    if distance <= reach or not all(options.task_weights[:3]):
        return []
    return [
        f'the target is {distance:.4g} m from the first joint, and the arm is {reach:.4g} m long '
        'when it is stretched out (--xyz is in metres)'
    ]


# Time for a pose, where they are many [s].
_PATIENCE = 0.005


@dataclass(frozen=True)
class PathRequest(ArmRequest):
    """
    Arm, poses, start, end and options of a path.

    :ivar seed: (n,) the seed [rad] or [m]; None for none.
    :ivar end: (n,) where the path ends [rad] or [m]; None for anywhere.
    :ivar collisions: test that the rows must pass; None for no test.
    """

    file: str
    targets: PathPoses
    seed: np.ndarray | None
    end: np.ndarray | None
    options: PathOptions
    collisions: CollisionChecker | None
    notes: tuple[str, ...]


def read_path_request(arguments: Namespace) -> PathRequest:
    """Read the request of a line with ``--path``; raises IkServiceError for a value."""
    urdf, chain = read_chain(arguments)
    targets = read_poses(arguments.path)
    seed = given_posture(arguments.seed, chain, 'seed')
    end = given_posture(arguments.end, chain, 'end')
    collisions = collision_checker(arguments, chain)
    options = _path_options(arguments, targets)
    limits = []
    if options.ik.joint_limits != 'ignore':
        limits += _notes_about_limits(chain, 'seed', seed)
        limits += _notes_about_limits(chain, 'end', end)
    notes = [
        *notes_about_robot(chain),
        *targets.notes,
        *limits,
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


def _path_options(arguments: Namespace, targets: PathPoses) -> PathOptions:
    values = read_settings(arguments.set)
    default = PathOptions()
    timeout = values.pop('timeout', max(default.timeout, _PATIENCE * len(targets.poses)))
    return PathOptions(
        ik=task_options(arguments, values, targets.turned),
        max_step=default.max_step if arguments.max_step is None else arguments.max_step,
        start=arguments.start or default.start,
        timeout=timeout,
    )
