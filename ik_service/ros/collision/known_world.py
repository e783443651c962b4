"""Objects around the robot and on it, as bodies and as frames of requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
import threading
from typing import TypeVar

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import IkServiceError
from ik_service.ros.collision.object_changes import (
    APPEND,
    attached_world,
    changed_world,
    MOVE,
    operation_of,
    REMOVE,
)
from ik_service.ros.collision.object_messages import has_shapes, subframes_of
from ik_service.ros.collision.placing import Placing
from ik_service.ros.common.frames import Frames

_Object = TypeVar('_Object')
Prepare = Callable[[WorldObject | AttachedObject], object]


@dataclass(frozen=True)
class _Record:
    """
    What is known of an object besides its body.

    :ivar subframes: (4, 4) T_object_subframe [m] by name.
    :ivar anchor: the frame of tf that it stays in, and (4, 4) its pose there [m]; None without.
    """

    subframes: Mapping[str, np.ndarray]
    anchor: tuple[str, np.ndarray] | None = None


class KnownWorld:
    """
    Objects of the world, and those that the robot carries. Thread-safe.

    An object stays where it was put: a link or an object in whose frame it is given counts where
    it is at that moment. One in a frame that tf knows stays in that frame, so that a mobile base
    may drive past it. A faulty change is refused as a whole.

    :param frames: frames of requests, to which those of objects are added, and those of their
        subframes as ``object/subframe``.
    :param prepare: called with each new object before it counts, as building what is checked may
        take long; an exception refuses the object.
    :ivar world: the objects, where they are now.
    """

    def __init__(self, frames: Frames, prepare: Prepare = lambda other: None) -> None:
        self.world = World()
        self._frames = frames
        self._prepare = prepare
        self._lock = threading.Lock()
        self._records: dict[str, _Record] = {}
        self._anchors: dict[str, tuple[str, np.ndarray]] = {}  # of the records that have one
        self._feet: dict[str, np.ndarray] = {}  # T_root_frame of their frames

    def change(self, message: CollisionObject, measured: MeasuredState | None) -> None:
        """
        Add, append to, move or remove an object, or remove all.

        :param message: the message.
        :param measured: the measured state; None before there is an arm.
        :raises IkServiceError: the message is faulty; nothing has changed.
        """
        with self._lock:
            placing = self._placing(measured)
            placing.check_name(message.id)
            world = changed_world(self.world, message, placing)
            if operation_of(message) == REMOVE:
                names = [message.id] if message.id else [*self.world.objects]
                self._commit(world, names, {})
                return
            old = self._records[message.id] if message.id in self.world.objects else _NOTHING
            anchor = old.anchor
            if old is _NOTHING or operation_of(message) != APPEND:
                anchor = self._anchor(message, world, measured, placing)
            record = _Record(_subframes(message, old.subframes), anchor)
            self._commit(world, [message.id], {message.id: record})

    def attach(self, message: AttachedCollisionObject, measured: MeasuredState | None) -> None:
        """
        Attach an object to a link, or detach it, or all.

        :param message: the message.
        :param measured: the measured state; None before there is an arm.
        :raises IkServiceError: the message is faulty; nothing has changed.
        """
        with self._lock:
            old, placing = self.world, self._placing(measured)
            placing.check_name(message.object.id)
            world = attached_world(old, message, placing)
            if operation_of(message.object) == REMOVE:
                records = {
                    name: _Record(self._records[name].subframes)
                    for name in old.attached
                    if name not in world.attached
                }
            else:
                name = message.object.id
                subframes = attached_subframes(message.object, self.subframes(name))
                records = {name: _Record(subframes)}
            self._commit(world, records, records)

    def adopt(self, arm: Arm) -> list[str]:
        """
        Take another robot: objects on links that it does not have, or called like one, go.

        :param arm: the arm.
        :returns: the names of the objects that went.
        """
        with self._lock:
            old = self.world
            lost = {name for name in (*old.objects, *old.attached) if arm.has_link(name)}
            lost |= {name for name, held in old.attached.items() if not arm.has_link(held.link)}
            if lost:
                world = World(_without(old.objects, lost), _without(old.attached, lost))
                self._commit(world, lost, {})
            return sorted(lost)

    def refresh(self, measured: MeasuredState) -> str:
        """
        Place what stands in frames of tf where those are now.

        :param measured: the measured state.
        :returns: why some stay where they were; empty where none does.
        """
        fault = ''
        with self._lock:
            placing = self._placing(measured)
            moved = {}
            for frame in {anchor[0] for anchor in self._anchors.values()}:
                try:
                    T_root_frame = placing.in_root(frame, np.eye(4))
                except IkServiceError as error:
                    fault = str(error)
                    continue
                if frame not in self._feet or (T_root_frame != self._feet[frame]).any():
                    self._feet[frame] = moved[frame] = T_root_frame
            if moved:
                self._move(moved)
        return fault

    def held(self, name: str) -> tuple[str, np.ndarray] | None:
        """
        Return on which link an attached object, or a subframe of one, is, and its pose there.

        :param name: name of the object, or ``object/subframe``.
        :returns: the link and (4, 4) T_link_frame [m]; None where nothing of that name is held.
        """
        return find_held(name, self.world, self.subframes)

    def subframes(self, name: str) -> Mapping[str, np.ndarray]:
        """
        Return the subframes of an object, (4, 4) T_object_subframe [m] by name.

        :param name: name of the object; one that is not known has none.
        """
        return self._records.get(name, _NOTHING).subframes

    @property
    def is_anchored(self) -> bool:
        """Whether objects stand in frames of tf."""
        return bool(self._anchors)

    def _move(self, moved: Mapping[str, np.ndarray]) -> None:
        """Place what stands in frames of tf, given (4, 4) T_root_frame [m] of each."""
        objects = dict(self.world.objects)
        for name, (frame, T_frame_object) in self._anchors.items():
            if frame in moved:
                objects[name] = objects[name].at(moved[frame] @ T_frame_object)
        self.world = World(objects, self.world.attached)

    def _placing(self, measured: MeasuredState | None) -> Placing:
        if measured is None:
            return Placing(None, np.empty(0), self._frames)
        return Placing(measured.arm, measured.posture(), self._frames)

    def _anchor(
        self,
        message: CollisionObject,
        world: World,
        measured: MeasuredState | None,
        placing: Placing,
    ) -> tuple[str, np.ndarray] | None:
        """Return the frame of tf that an object stays in, and its pose there; None without one."""
        if measured is None:
            return None
        frame, _ = self._frames.foot(measured.arm, message.header.frame_id.lstrip('/'))
        if measured.arm.has_link(frame):
            return None
        T_root_frame = placing.in_root(frame, np.eye(4))
        return frame, inverse_transform(T_root_frame) @ world.objects[message.id].pose

    def _commit(
        self, world: World, changed: Collection[str], records: Mapping[str, _Record]
    ) -> None:
        """Put a world into force, with its frames; objects without a record have gone."""
        removed = [
            frame
            for name in changed
            for frame in _frames_of(name, self._records.get(name, _NOTHING))
        ]
        added: dict[str, tuple[str, np.ndarray]] = {}
        for name, record in records.items():
            self._prepare(world.attached.get(name) or world.objects[name])
            added[name] = _standing(world, name, record)
            for subframe, T in record.subframes.items():
                added[f'{name}/{subframe}'] = name, T
        self._frames.update(added, removed)
        self.world = world
        for name in changed:
            self._records.pop(name, None)
            self._anchors.pop(name, None)
        self._records.update(records)
        anchors = {name: record.anchor for name, record in records.items() if record.anchor}
        self._anchors.update(anchors)
        for frame in {frame for frame, _ in anchors.values()}:
            self._feet.pop(frame, None)


_NOTHING = _Record({})


def find_held(
    name: str, world: World, subframes: Callable[[str], Mapping[str, np.ndarray]]
) -> tuple[str, np.ndarray] | None:
    """
    Return on which link an attached object, or a subframe of one, is, and its pose there.

    :param name: name of the object, or ``object/subframe``.
    :param world: the objects.
    :param subframes: returns (4, 4) T_object_subframe [m] by name of an object.
    :returns: the link and (4, 4) T_link_frame [m]; None where nothing of that name is held.
    """
    for held, _, subframe in ((name, '', ''), name.rpartition('/')):
        found = world.attached.get(held)
        if found is None:
            continue
        if not subframe:
            return found.link, found.pose
        T = subframes(held).get(subframe)
        return None if T is None else (found.link, found.pose @ T)
    return None


def attached_subframes(
    message: CollisionObject, old: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """
    Return the subframes of an object after a message that attaches it.

    :param message: the object; one without shapes is attached as it is.
    :param old: (4, 4) T_object_subframe [m] by name, as they were.
    :raises IkServiceError: the subframes of the message are faulty.
    """
    return _subframes(message, old) if has_shapes(message) else old


def _without(objects: Mapping[str, _Object], names: Collection[str]) -> dict[str, _Object]:
    return {name: other for name, other in objects.items() if name not in names}


def _subframes(
    message: CollisionObject, old: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """Return the subframes of an object after a message that does not remove it."""
    operation = operation_of(message)
    if operation == MOVE:
        return old
    new = subframes_of(message)
    return {**old, **new} if operation == APPEND else new


def _frames_of(name: str, record: _Record) -> list[str]:
    return [name, *(f'{name}/{subframe}' for subframe in record.subframes)]


def _standing(world: World, name: str, record: _Record) -> tuple[str, np.ndarray]:
    """Return the frame that an object stays in, empty for the root link, and its pose there."""
    held = world.attached.get(name)
    if held is not None:
        return held.link, held.pose
    return record.anchor or ('', world.objects[name].pose)
