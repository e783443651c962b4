"""Collision checker: a robot, its posture and the world around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
import math
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.part import ContactPoint
from ik_service.collision.posture_test import CheckStatistics, PostureTest
from ik_service.collision.scene import Pair, Scene
from ik_service.collision.shapes import load_coal, Shape
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.arguments import check_kind, real_array
from ik_service.common.quoting import safe_repr
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import (
    ArgumentError,
    UnknownJointError,
    UnknownLinkError,
    UnknownObjectError,
)
from ik_service.kinematics.link_poses import link_poses
from ik_service.robot import Robot

if TYPE_CHECKING:
    from typing import Self


Positions = Mapping[str, float] | ArrayLike
"""Joint positions by name, or a vector of them [rad] or [m]."""

_MOST_KEPT = 256  # orders of joints


class Postures:
    """
    Conversion of joint positions to those of all independent joints.

    :param model: the robot.
    """

    def __init__(self, model: CheckedRobot) -> None:
        self._column = {name: index for index, name in enumerate(model.joint_names)}
        self._columns: dict[tuple[str, ...], np.ndarray | slice] = {}
        self._movable = dict.fromkeys(model.movable_joints)
        self._orders = {
            len(names): (names, *self._places_of(names))
            for names in (model.movable_joints, model.joint_names, model.chain_joints)
            if names or not model.joint_names
        }

    def vector(self, q: Positions, base: np.ndarray) -> np.ndarray:
        """
        Return the positions of all independent joints.

        :param q: positions [rad] or [m] by name, or a vector: of the default chain, of all
            independent joints, or of all movable joints in document order. Those of joints that
            mimic others are passed over.
        :param base: (m,) where joints are that are not given.
        :returns: (m,), read-only.
        :raises UnknownJointError: there is no such movable joint.
        :raises ArgumentError: the vector has another length, or a position is not finite.
        """
        if isinstance(q, Mapping):
            posture = base.tolist()
            for name, value in q.items():
                column = self._column.get(name)
                if column is not None:
                    posture[column] = _number(name, value)
                elif name not in self._movable:
                    raise UnknownJointError(name, self._movable)
            values = np.array(posture)
        else:
            given = real_array(q, 'q')
            if given.ndim != 1 or len(given) not in self._orders:
                lengths = ' or '.join(f'({length},)' for length in sorted(self._orders))
                raise ArgumentError('q', f'has shape {given.shape}, has to be {lengths}')
            names, columns, places = self._orders[len(given)]
            if not np.isfinite(given).all():
                worst = int(np.argmin(np.isfinite(given)))
                raise ArgumentError('q', f'{names[worst]} is {given[worst]}')
            values = base.copy()
            values[columns] = given[places]
        values.setflags(write=False)
        return values

    def columns(self, names: tuple[str, ...]) -> np.ndarray | slice:
        """
        Return where joints stand among all independent ones.

        :param names: their names.
        :returns: (n,) indices; a slice where they follow each other, which is quicker.
        :raises UnknownJointError: there is no such independent joint.
        :raises ArgumentError: a joint comes twice.
        """
        columns = self._columns.get(names)
        if columns is None:
            columns = self._columns_of(names)
            if len(self._columns) < _MOST_KEPT:
                self._columns[names] = columns
        return columns

    def _columns_of(self, names: tuple[str, ...]) -> np.ndarray | slice:
        for name in names:
            if name not in self._column:
                raise UnknownJointError(name, self._column)
        if len({*names}) < len(names):
            raise ArgumentError('joint_names', 'a joint comes twice')
        columns = [self._column[name] for name in names]
        first = columns[0] if columns else 0
        if columns == [*range(first, first + len(columns))]:
            return slice(first, first + len(columns))
        return np.array(columns, np.int64)

    def _places_of(self, names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return where joints stand among the independent ones, and which of them do."""
        found = [(self._column[name], i) for i, name in enumerate(names) if name in self._column]
        columns, places = np.array(found, np.int64).reshape(-1, 2).T
        return columns, places


def _number(name: str, value: object) -> float:
    """Return a position, if it is one."""
    if type(value) is not float:  # the others take longer
        array = real_array(np.array(value, dtype=object), 'q')
        if array.shape != ():
            raise ArgumentError('q', f'{name} has to be one number, not {safe_repr(value)}')
        value = float(array)
    if not math.isfinite(value):
        raise ArgumentError('q', f'{name} is {value}')
    return value


_MOST_TESTS = 256  # prepared tests that are kept


class CollisionChecker:
    """
    Collisions of a robot with itself, with the world and with attached objects. Thread-safe.

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

    _scene: Scene
    _base: np.ndarray
    _lock: Lock
    _tests: dict[tuple[object, ...], PostureTest]

    def __init__(self, robot: Robot, missing_meshes: str = 'refuse') -> None:
        check_kind(robot, Robot, 'robot')
        if missing_meshes not in ('refuse', 'skip'):
            raise ArgumentError(
                'missing_meshes', f'has to be refuse or skip, not {safe_repr(missing_meshes)}'
            )
        load_coal()
        self._missing_meshes = missing_meshes
        self._statistics = CheckStatistics()
        self._model = CheckedRobot(robot, missing_meshes == 'skip')
        self._postures = Postures(self._model)
        self._place(Scene(self._model, World()), self._model.rest)
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
        """
        Links whose geometry is left out, or a part of it, and why; read-only.

        Links that a faulty joint carries are among them: they are checked where it is zero.
        """
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
        may touch, an SRDF has to say so: ``pair_rules.srdf_line``.
        """
        return self._model.home_contacts

    @property
    def statistics(self) -> CheckStatistics:
        """Number and duration of the checks so far."""
        return self._statistics

    @property
    def posture(self) -> Mapping[str, float]:
        """Positions of joints that are not given [rad] or [m]; may be set, also in part."""
        return MappingProxyType(self._positions(self._base))

    @posture.setter
    def posture(self, positions: Mapping[str, float]) -> None:
        self._base = self._postures.vector(positions, self._base)

    @property
    def world(self) -> World:
        """The present objects, as an immutable snapshot."""
        return self._scene.world

    @property
    def objects(self) -> Mapping[str, WorldObject]:
        """The objects of the world by name; read-only."""
        return self.world.objects

    @property
    def attached(self) -> Mapping[str, AttachedObject]:
        """The attached objects by name; read-only."""
        return self.world.attached

    def set_world(self, world: World) -> None:
        """
        Exchange all objects at once.

        :param world: the new ones.
        :raises UnknownLinkError: an object is attached to a link that there is not.
        :raises CollisionObjectError: an object has the name of a link.
        """
        scene = Scene(self._model, world, self._scene)
        with self._lock:
            self._scene = scene

    def add(
        self,
        name: str,
        shapes: Shape | Iterable[object],
        pose: ArrayLike | None = None,
        append: bool = False,
    ) -> None:
        """
        Add an object to the world; one of that name is replaced.

        :param name: its name.
        :param shapes: a shape, or shapes or pairs of a shape and its (4, 4) T_object_shape [m]:
            ``iks.Box``, ``Sphere``, ``Cylinder``, ``Capsule``, ``Cone``, ``Plane``, ``Mesh``.
        :param pose: (4, 4) T_root_object, in the frame of the root link [m]; the identity, or with
            ``append`` that of the object that there is.
        :param append: whether an object of that name gets further shapes instead.
        :raises CollisionObjectError: a shape or the pose is faulty, the name is that of a link or
            of an attached object, or the world is full; nothing has changed.
        """
        new = WorldObject(name, shapes, pose)
        new.solid.prepare()  # not in a check, nor while another thread waits
        with self._lock:
            old = self.objects.get(name) if append else None
            if old is not None:
                T = np.eye(4) if pose is None else inverse_transform(old.pose) @ new.pose
                new = old.with_shapes([(shape, T @ T_shape) for shape, T_shape in new.shapes])
            self._change(self.world.with_object(new))

    def attach(
        self,
        name: str,
        shapes: Shape | Iterable[object] | None,
        link: str,
        touch_links: Iterable[str] = (),
        pose: ArrayLike | None = None,
        q: Positions | None = None,
    ) -> None:
        """
        Attach an object to a link: it moves with it, and may touch it.

        :param name: its name; an object of that name is replaced.
        :param shapes: as for :meth:`add`; None for those of the object of the world of that name,
            which is attached where it is, unless a pose is given.
        :param link: the link.
        :param touch_links: further links that it may touch; names of no link mean nothing.
        :param pose: (4, 4) T_link_object [m].
        :param q: joint positions at which an object of the world is attached where it is;
            :attr:`posture` by default.
        :raises CollisionObjectError: a shape or the pose is faulty, the name is that of a link, or
            the world is full; nothing has changed.
        :raises UnknownLinkError: there is no such link.
        :raises UnknownObjectError: there is no such object of the world.
        """
        if not isinstance(link, str) or link not in self._model.bodies.body_of:
            raise UnknownLinkError(link, self._model.robot.links)
        if shapes is not None:
            new = AttachedObject(name, shapes, link, touch_links, pose)
            new.solid.prepare()
        with self._lock:
            if shapes is None:
                if name not in self.objects:
                    raise UnknownObjectError(name, self.objects)
                old = self.objects[name]
                if pose is None:
                    pose = inverse_transform(self._pose_of(link, q)) @ old.pose
                new = AttachedObject(name, old.solid, link, touch_links, pose)
            self._change(self.world.with_attached(new))

    def detach(self, name: str, q: Positions | None = None) -> None:
        """
        Leave an attached object where it is: it becomes an object of the world.

        :param name: its name.
        :param q: joint positions at which that is; :attr:`posture` by default.
        :raises UnknownObjectError: there is no such attached object.
        """
        with self._lock:
            if name not in self.attached:
                raise UnknownObjectError(name, self.attached)
            old = self.attached[name]
            T = self._pose_of(old.link, q) @ old.pose
            self._change(self.world.without(name).with_object(WorldObject(name, old.solid, T)))

    def move(self, name: str, pose: ArrayLike) -> None:
        """
        Put an object elsewhere.

        :param name: its name.
        :param pose: (4, 4) T_root_object; of an attached one T_link_object [m].
        :raises UnknownObjectError: there is no such object.
        :raises CollisionObjectError: it is no pose.
        """
        with self._lock:
            self._change(self.world.moved(name, pose))

    def remove(self, name: str) -> None:
        """
        Take an object away, be it attached or not.

        :param name: its name.
        :raises UnknownObjectError: there is no such object.
        """
        with self._lock:
            self._change(self.world.without(name))

    def clear(self) -> None:
        """Take all objects away."""
        with self._lock:
            self._change(self.world.with_all({}, {}))

    def allow(self, name: str, other: str | None = None, allowed: bool | None = True) -> None:
        """
        Let two bodies touch, or check them; with one name, a body and all others.

        :param name: name of a link, object or attached object, which need not be there yet.
        :param other: name of the other one; None for all that have no entry of their own.
        :param allowed: whether they may touch; None for the rule of the robot by itself.
        :raises ArgumentError: a name is empty or too long, both are the same, or there are too
            many names.
        """
        with self._lock:
            matrix = self.world.allowed
            if other is None:
                matrix = matrix.with_default(name, allowed)
            else:
                matrix = matrix.with_pair(name, other, allowed)
            self._change(self.world.with_allowed(matrix))

    def pad(self, link: str, padding: float | None = None, scale: float | None = None) -> None:
        """
        Keep a link, and objects attached to it, away from objects of the world.

        :param link: name of the link.
        :param padding: distance within which it counts as in contact [m]; None leaves it.
        :param scale: factor by which its shapes are larger; None leaves it.
        :raises UnknownLinkError: there is no such link.
        :raises ArgumentError: a value is not finite or out of range.
        """
        if link not in self._model.bodies.body_of:
            raise UnknownLinkError(link, self._model.robot.links)
        with self._lock:
            self._change(
                self.world.with_padding(self.world.padding.with_link(link, padding, scale))
            )

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

    def of_motion(self, joint_names: Sequence[str], others: Mapping[str, float]) -> PostureTest:
        """
        Return the checks of :meth:`for_joints` without contacts that no motion changes.

        They are kept, as many requests differ in their target only.

        :param joint_names: names of independent joints.
        :param others: positions of the remaining joints by name [rad] or [m].
        """
        key = tuple(joint_names), tuple(others.items())
        test = self._tests.get(key)
        if test is None:
            test = self.for_joints(joint_names, others).of_motion()
            if len(self._tests) >= _MOST_TESTS:
                self._tests.clear()
            self._tests[key] = test
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
        # Prepared data are made anew, as in another process.
        return _restored, (self.robot, self._missing_meshes, self.world, dict(self.posture))

    def _place(self, scene: Scene, base: np.ndarray) -> None:
        """Put the robot into a world and a posture of its own."""
        self._scene = scene
        self._base = base
        self._lock = Lock()
        self._tests = {}
        self._all = self.for_joints(self.joint_names)

    def _change(self, world: World) -> None:
        self._scene = Scene(self._model, world, self._scene)

    def _positions(self, posture: np.ndarray) -> dict[str, float]:
        return dict(zip(self._model.joint_names, posture.tolist(), strict=True))

    def _vector(self, q: Positions) -> np.ndarray:
        return self._postures.vector(q, self._base)

    def _pose_of(self, link: str, q: Positions | None) -> np.ndarray:
        posture = self._base if q is None else self._vector(q)
        return link_poses(self._model.robot, self._positions(posture))[link]

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
