"""Arm of a search for places, read from whatever describes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError, ChainError
from ik_service.kinematics.chain import KinematicChain
from ik_service.reach.inverse_map import InverseMap
from ik_service.reach.postures import PostureMeasure
from ik_service.scale.chain_spec import ChainSpec
from ik_service.solvers.collision_test import Collisions, CollisionTest
from ik_service.solvers.options import IkOptions
from ik_service.solvers.registry import DEFAULT_SOLVER


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


def read_arm(
    source: object,
    options: IkOptions | None,
    collisions: Collisions | CollisionTest | None,
) -> PlaceArm:
    """
    Return the arm of a search.

    :param source: a chain, its specification, or a map.
    :param options: of the solves; those of the source when left out.
    :param collisions: what postures must be free of; likewise.
    :raises ArgumentError: the source is something else.
    """
    if isinstance(source, KinematicChain):
        return PlaceArm(source, options or IkOptions(), collisions=collisions)
    inverse_map = None
    if not isinstance(source, ChainSpec):
        inverse_map = source if isinstance(source, InverseMap) else _inverted(source)
        source = inverse_map.spec
    solver = source.build()
    if not isinstance(solver.chain, KinematicChain):
        raise ArgumentError('source', 'has several tips: one is placed')
    given = solver.collisions if collisions is None else collisions
    return PlaceArm(solver.chain, options or source.options, source.solver, given, inverse_map)


def _inverted(source: object) -> InverseMap:
    """Return the inverse of a capability map."""
    if hasattr(source, 'reached') and hasattr(source, 'rotations'):
        return InverseMap.of(source)  # type: ignore[arg-type]  # these are a capability map's
    raise ArgumentError(
        'source', f'has to be a KinematicChain, a ChainSpec or a map, not {safe_repr(source)}'
    )
