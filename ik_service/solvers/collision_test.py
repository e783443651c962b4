"""
Interfaces of collision tests: the test of postures that solvers use, and the object that makes it.

Solvers know nothing of geometry. Whatever implements these interfaces will do; of this package it
is :class:`~ik_service.CollisionChecker`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.kinematics.joint_space import JointSpace

Bodies: TypeAlias = tuple[str, str]  # names of two bodies


class CollisionTest(Protocol):
    """Collision test of joint vectors; several threads may use it at the same time."""

    def first_contact(self, q: np.ndarray) -> Bodies | None:
        """
        Return two bodies that collide.

        :param q: (n,) joint vector [rad] or [m].
        :returns: their names; None when nothing collides.
        """

    def colliding(self, Q: np.ndarray, threads: int = 1) -> np.ndarray:
        """
        Return which of many joint vectors collide.

        :param Q: (N, n) joint vectors [rad] or [m].
        :param threads: number of threads.
        :returns: (N,) bool.
        """


class Collisions(Protocol):
    """Model of a robot and its world that makes collision tests."""

    def for_joints(
        self, joint_names: Sequence[str], others: Mapping[str, float] | None = None
    ) -> CollisionTest:
        """
        Return a test for the vectors of some joints.

        :param joint_names: the joints, in the order of the vectors.
        :param others: positions of the other joints [rad] or [m]; where they are left out, the
            model has its own.
        """


def collision_test(collisions: Collisions | CollisionTest, chain: JointSpace) -> CollisionTest:
    """
    Return a test for the joint vectors of a chain or a tree.

    :param collisions: an object that makes tests, or such a test.
    :param chain: the chain; where its locked joints are counts.
    :raises ArgumentError: when it is neither, or a test for other joints.
    """
    given: Any = collisions  # asked for its methods, because isinstance takes as long as a test
    if hasattr(given, 'for_joints'):
        return given.for_joints(chain.joint_names, chain.locked or None)
    if hasattr(given, 'first_contact'):
        _check_joints(getattr(given, 'joint_names', chain.joint_names), chain)
        return given
    raise ArgumentError(
        'collisions', f'have to be a CollisionChecker, not {safe_repr(collisions)}'
    )


def _check_joints(names: Sequence[str], chain: JointSpace) -> None:
    """Check that a test is for the joint vectors of a chain or a tree."""
    if tuple(names) != chain.joint_names:
        raise ArgumentError(
            'collisions',
            f'are a test for the joints {", ".join(names)}, '
            f'have to be one for {", ".join(chain.joint_names)}',
        )
