"""Collisions of a planning group whose other joints are where they were measured."""

from __future__ import annotations

import numpy as np

from ik_service.arm.group import ArmGroup
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.posture_test import PostureTest
from ik_service.exceptions import TargetRefusedError
from ik_service.ros.scene.collision_world import CollisionWorld


class MeasuredCollisions:
    """
    Test of postures of a group, in the world as it is known.

    The joints of other groups are where they were measured last, also while they move.
    """

    def __init__(
        self, collisions: CollisionWorld, measured: MeasuredState, group: ArmGroup
    ) -> None:
        self._collisions = collisions
        self._measured = measured
        self._names = group.chain.joint_names
        self._checker: CollisionChecker | None = None
        self._test: PostureTest | None = None
        self._others: tuple[str, ...] = ()
        self._indices = np.empty(0, np.intp)
        self._positions = b''

    @property
    def fault(self) -> str:
        """Why postures cannot be tested; empty when they can."""
        arm = self._measured.arm
        try:
            if self._collisions.checker(arm) is not None:
                return ''
        except Exception as error:  # following has to be refused, whatever it is
            return f'{type(error).__name__}: {error}'
        return self._collisions.fault_of(arm) or 'there is no checker'

    def first_contact(self, q: np.ndarray) -> tuple[str, str] | None:
        """Return the names of two bodies that collide; None when none do."""
        checker = self._collisions.checker(self._measured.arm)
        if checker is None:
            raise TargetRefusedError(self.fault)
        if checker is not self._checker:
            self._adopt(checker)
        positions = self._measured.posture()[self._indices]
        if self._test is None or positions.tobytes() != self._positions:
            others = dict(zip(self._others, positions.tolist(), strict=True))
            self._test = checker.for_joints(self._names, others).of_motion()
            self._positions = positions.tobytes()
        return self._test.first_contact(q)

    def _adopt(self, checker: CollisionChecker) -> None:
        self._checker, self._test = checker, None
        self._others = tuple(name for name in checker.joint_names if name not in self._names)
        self._indices = self._measured.arm.postures.indices(self._others)
