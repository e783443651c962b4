"""Tests of the rows of a joint path: constraints on links, with collisions or without."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.link_constraints import beyond, Bound, SLACK
from ik_service.solvers.collision_test import Bodies, CollisionTest


class BoundTest:
    """
    Test of constraints on links, which a path search takes like a test of collisions.

    :param arm: the arm.
    :param base_link: link in whose frame the constraints are given.
    :param bounds: the constraints.
    :param posture: (m,) full posture [rad] or [m], where the other joints are.
    :param indices: (n,) where the joints of the path stand in it.
    """

    def __init__(
        self,
        arm: Arm,
        base_link: str,
        bounds: Sequence[Bound],
        posture: np.ndarray,
        indices: np.ndarray,
    ) -> None:
        self._arm, self._base_link, self._bounds = arm, base_link, bounds
        self._posture, self._indices = posture.copy(), indices

    def first_contact(self, q: np.ndarray) -> Bodies | None:
        """
        Return the field and the link of a constraint that does not hold; None where all hold.

        :param q: (n,) [rad] or [m].
        """
        posture = self._posture.copy()
        posture[self._indices] = q
        self._arm.postures.complete(posture)
        for bound in self._bounds:
            T = self._arm.pose_of(bound.link, self._base_link, posture)
            if beyond(bound, T)[0] > SLACK:
                return bound.field, bound.link
        return None

    def colliding(self, Q: np.ndarray, threads: int = 1) -> np.ndarray:
        """
        Return at which of many joint vectors some constraint does not hold.

        :param Q: (N, n) [rad] or [m].
        :param threads: not used.
        :returns: (N,) bool.
        """
        return np.array([self.first_contact(q) is not None for q in Q], bool)


class AllTests:
    """
    Several tests as one.

    :param tests: the tests.
    """

    def __init__(self, tests: Sequence[CollisionTest]) -> None:
        self._tests = tests

    def first_contact(self, q: np.ndarray) -> Bodies | None:
        """
        Return what the first test finds that finds something.

        :param q: (n,) [rad] or [m].
        """
        found = (test.first_contact(q) for test in self._tests)
        return next((bodies for bodies in found if bodies is not None), None)

    def colliding(self, Q: np.ndarray, threads: int = 1) -> np.ndarray:
        """
        Return in which of many joint vectors some test finds something.

        :param Q: (N, n) [rad] or [m].
        :param threads: number of threads.
        :returns: (N,) bool.
        """
        found = np.zeros(len(Q), bool)
        for test in self._tests:
            left = ~found
            if left.any():
                found[left] = test.colliding(Q[left], threads)
        return found
