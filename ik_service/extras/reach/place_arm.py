"""Arm of a search for places, read from whatever describes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.extras.reach.capability import CapabilityMap
from ik_service.extras.reach.inverse_map import InverseMap
from ik_service.extras.reach.postures import PostureMeasure, random_postures
from ik_service.extras.scale.chain_spec import ChainSpec
from ik_service.kinematics.chain import KinematicChain
from ik_service.solvers.collision_test import collision_test, Collisions, CollisionTest
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER

_COMPARED = 10  # postures with which two arms are told apart
_SAME = 1e-6  # by how much their poses may differ


@dataclass(frozen=True)
class PlaceArm:
    """
    Arm of a search for places, and how it is solved.

    :ivar chain: the arm.
    :ivar options: of its solves.
    :ivar solver: name of the method.
    :ivar collisions: what postures must be free of; None for nothing.
    :ivar inverse_map: its map; None without one.
    """

    chain: KinematicChain
    options: IkOptions
    solver: str = DEFAULT_SOLVER
    collisions: Collisions | CollisionTest | None = None
    inverse_map: InverseMap | None = None

    @cached_property
    def measure(self) -> PostureMeasure:
        """Measure of its postures."""
        return PostureMeasure(self.chain, self.options.task_weights)

    @property
    def reach(self) -> np.ndarray:
        """
        A point of the base frame, and the distance from it that the tip cannot exceed, (4,) [m].

        :raises ChainError: there is no such distance.
        """
        if not np.isfinite(self.chain.arrays.reach).all():
            raise ChainError(
                'the arm reaches endlessly far, as one of its joints slides without limits: say '
                'in which region the base may stand'
            )
        return self.chain.arrays.reach

    @property
    def only_positions(self) -> bool:
        """Whether of a map that was made for other tasks only the positions count."""
        if self.inverse_map is None or all(self.options.task_weights[3:]):
            return False
        return self.inverse_map.spec.options.task_weights != self.options.task_weights

    def beyond_reach(self, targets: np.ndarray) -> np.ndarray:
        """
        Return how far poses lie outside of the ball that the arm cannot leave.

        :param targets: (N, 4, 4) T_base_tip.
        :returns: (N,) [m]; 0 or less inside it, and where it does not count.
        """
        reach, options = self.chain.arrays.reach, self.options
        if not all(options.task_weights[:3]) or options.joint_limits == 'ignore':
            return np.zeros(len(targets))
        distance = np.linalg.norm(targets[:, :3, 3] - reach[:3], axis=1)
        return distance - reach[3] - options.position_tolerance


def read_arm(
    source: object,
    options: IkOptions | None = None,
    collisions: Collisions | CollisionTest | None = None,
    inverse_map: InverseMap | None = None,
) -> PlaceArm:
    """
    Return the arm of a search.

    :param source: a chain, its specification, or a map.
    :param options: of the solves; those of the source when left out.
    :param collisions: what postures must be free of; likewise.
    :param inverse_map: its map; likewise.
    :raises ArgumentError: the source is something else, or the map is that of another arm.
    """
    if isinstance(source, CapabilityMap):
        source = InverseMap.of(source)
    if isinstance(source, InverseMap):
        inverse_map, source = inverse_map or source, source.spec
    if isinstance(source, KinematicChain):
        arm = PlaceArm(
            source, options or IkOptions(), collisions=collisions, inverse_map=inverse_map
        )
    elif isinstance(source, ChainSpec):
        solver = source.build()
        given = solver.collisions if collisions is None else collisions
        arm = PlaceArm(solver.chain, options or source.options, source.solver, given, inverse_map)
    else:
        raise ArgumentError(
            'source', f'has to be a KinematicChain, a ChainSpec or a map, not {safe_repr(source)}'
        )
    if arm.collisions is not None:
        collision_test(arm.collisions, arm.chain)  # names what is wrong with it
    if inverse_map is not None:
        _check_map(arm.chain, inverse_map.spec.build().chain)
    return arm


def _check_map(chain: KinematicChain, other: KinematicChain) -> None:
    """Check that the chain of a map is the one that is placed."""
    postures = random_postures(chain, _COMPARED)
    if chain.joint_names == other.joint_names and all(
        np.allclose(chain.forward(q), other.forward(q), atol=_SAME) for q in postures
    ):
        return
    raise ArgumentError(
        'inverse_map',
        f'is that of another arm or another tool: {other.base_link} → {other.tip_link} of '
        f'{other.robot.name}',
    )
