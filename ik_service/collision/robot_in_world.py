"""A robot in a world, both of which may change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from ik_service.collision.checked_robot import CheckedRobot
from ik_service.collision.postures import Positions, Postures
from ik_service.collision.scene import Scene
from ik_service.collision.shapes import Shape
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import UnknownLinkError, UnknownObjectError
from ik_service.kinematics.link_poses import link_poses


class RobotInWorld:
    """
    Robot at a posture, among objects. Thread-safe.

    :param model: the robot.
    """

    _scene: Scene
    _base: np.ndarray
    _lock: Lock

    def __init__(self, model: CheckedRobot) -> None:
        self._model = model
        self._postures = Postures(model)
        self._place(Scene(model, World()), model.rest)

    @property
    def posture(self) -> Mapping[str, float]:
        """Where joints are that are not given [rad] or [m]; may be set, also in part."""
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
        :param allowed: whether they may touch; None for what counts for the robot by itself.
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
        Keep a link, and what it carries, away from objects of the world.

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

    def _place(self, scene: Scene, base: np.ndarray) -> None:
        """Put the robot into a world and a posture of its own."""
        self._scene = scene
        self._base = base
        self._lock = Lock()

    def _change(self, world: World) -> None:
        self._scene = Scene(self._model, world, self._scene)

    def _positions(self, posture: np.ndarray) -> dict[str, float]:
        return dict(zip(self._model.joint_names, posture.tolist(), strict=True))

    def _vector(self, q: Positions) -> np.ndarray:
        return self._postures.vector(q, self._base)

    def _pose_of(self, link: str, q: Positions | None) -> np.ndarray:
        posture = self._base if q is None else self._vector(q)
        return link_poses(self._model.robot, self._positions(posture))[link]
