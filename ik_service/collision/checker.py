"""Collision checker: a robot, its posture and the world around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.check_statistics import CheckStatistics
from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.coal_shapes import load_coal
from ik_service.collision.part import ContactPoint
from ik_service.collision.posture_test import PostureTest
from ik_service.collision.postures import Positions
from ik_service.collision.robot_in_world import RobotInWorld
from ik_service.collision.scene import Pair, Scene
from ik_service.collision.world import World
from ik_service.common.quoting import safe_repr
from ik_service.exceptions import ArgumentError
from ik_service.robot import Robot

if TYPE_CHECKING:
    from typing import Self

_MOST_TESTS = 256  # prepared tests that are kept


class CollisionChecker(RobotInWorld):
    """
    Collisions of a robot with itself, with the world and with what it carries. Thread-safe.

    Checked is the geometry of the ``<collision>`` elements: shapes exactly, meshes by their
    surface. Links that are rigidly attached to each other never collide, nor do pairs that the
    SRDF disables. Where it disables none, or there is no SRDF, links next to each other, those
    that one joint alone moves against each other (with the joints that mimic it) and those that
    collide in nearly all random postures are not checked with each other: see
    :attr:`disabled_pairs`.

    Joint positions are given by name, or as a vector: of the joints of the default chain, of all
    :attr:`joint_names`, or of all movable joints in document order. Joints that mimic others
    follow them, whatever is given for them. Those left out are where :attr:`posture` has them.

    :param robot: the robot.
    :param missing_meshes: ``refuse`` geometry that cannot be used with an error, or ``skip`` it.
    :raises MissingExtraError: Coal is not installed.
    :raises CollisionGeometryError: a mesh cannot be read, or an element is faulty.
    :raises ArgumentError: an argument is none of these.
    """

    def __init__(self, robot: Robot, missing_meshes: str = 'refuse') -> None:
        if not isinstance(robot, Robot):
            raise ArgumentError('robot', f'has to be a Robot, not {safe_repr(robot)}')
        if missing_meshes not in ('refuse', 'skip'):
            raise ArgumentError(
                'missing_meshes', f'has to be refuse or skip, not {safe_repr(missing_meshes)}'
            )
        load_coal()
        self._missing_meshes = missing_meshes
        self._statistics = CheckStatistics()
        super().__init__(CheckedRobot(robot, missing_meshes == 'skip'))
        self._all.contacts(self._base)  # compiles or loads the kernel now

    @property
    def robot(self) -> Robot:
        """The robot."""
        return self._model.robot

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of all independent joints: those of the default chain, then the others."""
        return self._model.joint_names

    @property
    def has_geometry(self) -> bool:
        """Whether any link has geometry; without it only attached objects can collide."""
        return bool(self._model.parts)

    @property
    def unchecked(self) -> Mapping[str, str]:
        """Links whose geometry is left out, or a part of it, and why; read-only."""
        return self._model.left_out

    @property
    def disabled_pairs(self) -> Mapping[frozenset[str], str]:
        """Pairs of links that are not checked with each other, and why; read-only."""
        return self._model.disabled_pairs

    @property
    def home_contacts(self) -> tuple[Pair, ...]:
        """
        Pairs of links that collide at home, where no SRDF disables any pairs.

        Home is the middle of the default chain's limits, with other joints at 0. If such a pair
        may touch, an SRDF has to say so: ``pair_texts.srdf_line``.
        """
        return self._model.home_contacts

    @property
    def statistics(self) -> CheckStatistics:
        """Number and duration of the checks so far."""
        return self._statistics

    def in_collision(self, q: Positions) -> bool:
        """
        Return whether anything collides.

        :param q: joint positions, see above.
        :raises ArgumentError: the vector has another length, or a position is not finite.
        :raises UnknownJointError: there is no such movable joint.
        """
        test, vector = self._test_of(q)
        return test.first_contact(vector) is not None

    def contacts(self, q: Positions) -> tuple[Pair, ...]:
        """
        Return the names of all pairs of bodies that collide: links, objects, attached objects.

        :param q: joint positions, see above.
        :returns: each pair once; links in document order, then attached objects, then objects.
        :raises ArgumentError: as :meth:`in_collision`.
        :raises UnknownJointError: there is no such movable joint.
        """
        test, vector = self._test_of(q)
        return test.contacts(vector)

    def contact_points(self, q: Positions) -> tuple[ContactPoint, ...]:
        """
        Return where bodies touch: a point for each pair of shapes that collide.

        Large meshes count as several shapes.

        :param q: joint positions, see above.
        :raises ArgumentError: as :meth:`in_collision`.
        :raises UnknownJointError: there is no such movable joint.
        """
        test, vector = self._test_of(q)
        return test.contact_points(vector)

    def for_joints(
        self, joint_names: Sequence[str], others: Positions | None = None
    ) -> PostureTest:
        """
        Return the checks of postures of some joints, for solvers.

        :param joint_names: names of independent joints, such as those of a chain.
        :param others: joint positions, see above, for the remaining joints; without them these are
            where :attr:`posture` has them at the time of the check.
        :raises UnknownJointError: there is no such independent joint.
        :raises ArgumentError: a joint comes twice, or a position is not finite.
        """
        names = tuple(joint_names)
        if others is not None:
            base = self._postures.vector(others, self._base)
            return self._test(names, lambda: base)
        test = self._tests.get(names)
        if test is None:
            test = self._test(names, lambda: self._base)
            if len(self._tests) < _MOST_TESTS:
                self._tests[names] = test
        return test

    def with_world(self, world: World) -> Self:
        """
        Return a checker of the same robot and posture in another world; this one stays as it is.

        :param world: the other one.
        :raises UnknownLinkError: as :meth:`set_world`.
        :raises CollisionObjectError: as :meth:`set_world`.
        """
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._place(Scene(self._model, world, self._scene), self._base)
        return other

    def __reduce__(self) -> tuple[object, ...]:
        # What is prepared is made anew, as in another process.
        return _restored, (self.robot, self._missing_meshes, self.world, dict(self.posture))

    def _place(self, scene: Scene, base: np.ndarray) -> None:
        super()._place(scene, base)
        self._tests: dict[tuple[str, ...], PostureTest] = {}
        self._all = self.for_joints(self.joint_names)

    def _test(self, names: tuple[str, ...], base: Callable[[], np.ndarray]) -> PostureTest:
        columns = self._postures.columns(names)
        return PostureTest(names, columns, base, lambda: self._scene, self._statistics)

    def _test_of(self, q: Positions) -> tuple[PostureTest, ArrayLike]:
        """Return the checks for the joints of a vector, and the vector."""
        if isinstance(q, np.ndarray) and q.ndim == 1:
            for names in (self._model.chain_joints, self.joint_names):
                if len(q) == len(names):
                    return self.for_joints(names), q
        return self._all, self._vector(q)


def _restored(
    robot: Robot, missing_meshes: str, world: World, posture: dict[str, float]
) -> CollisionChecker:
    """Rebuild a pickled checker."""
    checker = CollisionChecker(robot, missing_meshes)
    checker.set_world(world)
    checker.posture = posture
    return checker
