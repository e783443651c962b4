"""Changes of the known world before they count: messages in a row, all of them or none."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.shapes import Mesh, PlacedShape
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.common.quoting import listed, quote
from ik_service.common.transforms import inverse_transform
from ik_service.exceptions import IkServiceError
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.object_changes import (
    APPEND,
    attached_world,
    changed_world,
    MOVE,
    operation_of,
    Placing,
    REMOVE,
)
from ik_service.ros.scene.object_messages import has_shapes, subframes_of, zero_quaternions


@dataclass(frozen=True)
class Record:
    """
    Data of an object besides its body.

    :ivar subframes: (4, 4) T_object_subframe [m] by name.
    :ivar anchor: the frame of tf that it stays in, and (4, 4) its pose there [m]; None without.
    :ivar kind: key and data base of its type, as a recogniser of objects gives them.
    """

    subframes: Mapping[str, np.ndarray]
    anchor: tuple[str, np.ndarray] | None = None
    kind: tuple[str, str] = ('', '')

    def frame_names(self, name: str) -> list[str]:
        """Return the names of the frames of an object."""
        return [name, *(f'{name}/{subframe}' for subframe in self.subframes)]


NO_RECORD = Record({})
_ROOT = '', np.eye(4)  # in place of no anchor
_ROUNDING = 1e-12  # difference of two poses by rounding alone [m] and of entries of rotations


_SAME = 1e-3  # positions that are not distinguished [rad] or [m]


@dataclass(frozen=True)
class ScenePosture:
    """
    Posture of the robot in a scene that is not the measured one; counts until the arm moves.

    :ivar posture: (m,) full posture [rad] or [m].
    :ivar measured: (m,) where the arm was measured when the scene was applied.
    """

    posture: np.ndarray
    measured: np.ndarray
    arm: Arm

    @property
    def differs(self) -> bool:
        """Whether it differs from the measured one."""
        return not _are_same(self.posture, self.measured)

    def counts(self, measured: MeasuredState) -> bool:
        """Return whether the arm has not moved since the scene was applied."""
        return measured.arm is self.arm and _are_same(measured.posture(), self.measured)


@dataclass(frozen=True)
class SceneSettings:
    """
    Settings of a scene besides its bodies and their rules.

    :ivar fixed: (4, 4) T_root_frame [m] of frames that count where tf knows none of that name.
    :ivar posture: where it has the robot; None for where that is measured.
    """

    name: str = ''
    fixed: Mapping[str, np.ndarray] = field(default_factory=dict)
    posture: ScenePosture | None = None

    def posture_of(self, measured: MeasuredState) -> np.ndarray:
        """Return the full posture (m,) of the robot in the scene, a copy [rad] or [m]."""
        if self.posture is not None and self.posture.counts(measured):
            return self.posture.posture.copy()
        return measured.arm.postures.complete(measured.posture())


class WorldDraft:
    """
    Copy of the known world under change by one thread.

    :param records: the data of its objects; not changed.
    :ivar world: the world as it will be.
    :ivar settings: the settings as they will be.
    :ivar changed: new records by the name of each object that has changed; None for one that goes.
    :ivar remarks: for the sender of the messages.
    :ivar frames: frames of requests, a draft of them: one message may name the frames of those
        before it.
    """

    def __init__(
        self,
        world: World,
        records: Mapping[str, Record],
        settings: SceneSettings,
        frames: Frames,
        measured: MeasuredState | None,
    ) -> None:
        self.world, self.settings, self.measured = world, settings, measured
        self.changed: dict[str, Record | None] = {}
        self.remarks: list[str] = []
        self._before, self._records, self.frames = world, records, frames
        arm, posture = (measured.arm, measured.posture()) if measured else (None, np.empty(0))
        self.placing = Placing(arm, posture, frames)

    def record(self, name: str) -> Record:
        """Return the record of an object; an empty one where there is none."""
        found = self.changed[name] if name in self.changed else self._records.get(name)
        return found or NO_RECORD

    def change(self, message: CollisionObject) -> list[str]:
        """Add, append to, move or remove an object, or all; return the remarks so far."""
        name, before = message.id, self.world
        self.placing.check_name(name)
        self.world = changed_world(before, message, self.placing)
        if operation_of(message) == REMOVE:
            self._remove([name] if name else [*before.objects])
            return self.remarks
        old = self.record(name) if name in before.objects else NO_RECORD
        anchor = old.anchor
        if name not in before.objects or operation_of(message) != APPEND:
            anchor = self._anchor(message)
        self._set(name, Record(_subframes(message, old.subframes), anchor, _kind(message, old)))
        self.remarks += zero_quaternions(message)
        return self.remarks

    def attach(self, message: AttachedCollisionObject) -> list[str]:
        """Attach an object to a link, or detach it, or all; return the remarks so far."""
        body, before = message.object, self.world
        self.placing.check_name(body.id)
        self.world = attached_world(before, message, self.placing)
        if operation_of(body) == REMOVE:
            for name in [name for name in before.attached if name not in self.world.attached]:
                old = self.record(name)
                self._set(name, Record(old.subframes, kind=old.kind))
            return self.remarks
        old = self.record(body.id)
        subframes = attached_subframes(body, old.subframes)
        self._set(body.id, Record(subframes, kind=_kind(body, old)))
        self.remarks += zero_quaternions(body)
        known = self.measured.arm.robot.links if self.measured else message.touch_links
        unknown = [link for link in message.touch_links if link not in known]
        if unknown:
            what = 'touch_links that the robot does not have'
            self.remarks.append(f'{quote(body.id)}: {what}: {listed(unknown)}')
        return self.remarks

    def drop(self, names: Collection[str]) -> None:
        """Remove objects, also attached ones; rules of allowed contact stay."""
        old = self.world
        self.world = old.with_all(
            {name: body for name, body in old.objects.items() if name not in names},
            {name: held for name, held in old.attached.items() if name not in names},
        )
        for name in names:
            self._set(name, None)

    def take(self, settings: SceneSettings) -> None:
        """Take other settings; frames that they fix count for the messages that follow."""
        self.settings = settings
        self.frames.fixed = settings.fixed
        self._move_with(settings.fixed)

    def finish(self) -> World:
        """Return the world; unchanged objects stay the same, with their prepared models."""
        objects, attached = dict(self.world.objects), dict(self.world.attached)
        kept = 0
        for name, record in self.changed.items():
            if record is not None and _same_record(record, self._records.get(name)):
                self.changed[name] = self._records[name]
            old = self._before.objects.get(name) or self._before.attached.get(name)
            new = objects.get(name) or attached.get(name)
            if old is None or new is None or new.solid is old.solid:
                continue
            if _same_shapes(new.shapes, old.shapes):
                kept += 1
                if isinstance(new, WorldObject):
                    objects[name] = _kept_object(new, old)
                else:
                    attached[name] = _kept_attached(new, old)
        if kept:
            self.world = self.world.with_all(objects, attached)
        return self.world

    def _set(self, name: str, record: Record | None) -> None:
        removed = self.record(name).frame_names(name)
        self.changed[name] = record
        frames: dict[str, tuple[str, np.ndarray]] = {}
        if record is not None:
            held = self.world.attached.get(name)
            if held is not None:
                frames[name] = held.link, held.pose
            else:
                frames[name] = record.anchor or ('', self.world.objects[name].pose)
            frames |= {f'{name}/{s}': (name, T) for s, T in record.subframes.items()}
        self.frames.update(frames, removed)

    def _move_with(self, fixed: Collection[str]) -> None:
        """Move the objects in fixed frames to where those are now."""
        moved: dict[str, WorldObject] = {}
        for name, other in self.world.objects.items() if fixed else ():
            frame, T = self.record(name).anchor or _ROOT
            if frame in fixed:
                with suppress(IkServiceError):  # tf knows the frame, and not where it is
                    T_root = self.placing.in_root(frame, T)
                    if not _is_close(T_root, other.pose):
                        moved[name] = other.at(T_root)
        if moved:
            self.world = self.world.with_all({**self.world.objects, **moved}, self.world.attached)

    def _remove(self, names: Collection[str]) -> None:
        """Forget objects that are gone, and the rules and colours of their names."""
        for name in names:
            self._set(name, None)
        world = self.world
        colors = {name: color for name, color in world.colors.items() if name not in names}
        if len(colors) < len(world.colors):
            world = world.with_colors(colors)
        allowed = world.allowed.without(names)
        self.world = world if allowed is world.allowed else world.with_allowed(allowed)

    def _anchor(self, message: CollisionObject) -> tuple[str, np.ndarray] | None:
        """Return the frame of tf that an object stays in, and its pose there; None without one."""
        if self.measured is None:
            return None
        arm = self.measured.arm
        frame, _ = self.frames.foot(arm, message.header.frame_id.lstrip('/'))
        if arm.has_link(frame):
            return None
        T_root_frame = self.placing.in_root(frame, np.eye(4))
        return frame, inverse_transform(T_root_frame) @ self.world.objects[message.id].pose


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


def _subframes(
    message: CollisionObject, old: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    operation = operation_of(message)
    if operation == MOVE:
        return old
    new = subframes_of(message)
    return {**old, **new} if operation == APPEND else new


def _kind(message: CollisionObject, old: Record) -> tuple[str, str]:
    kind = message.type.key, message.type.db
    return kind if any(kind) else old.kind


def _same_shapes(new: Sequence[PlacedShape], old: Sequence[PlacedShape]) -> bool:
    return len(new) == len(old) and all(
        _is_close(T_new, T_old) and _same(shape, other)
        for (shape, T_new), (other, T_old) in zip(new, old, strict=True)
    )


def _same(shape: object, other: object) -> bool:
    if isinstance(shape, Mesh) and isinstance(other, Mesh):
        return np.array_equal(shape.vertices, other.vertices) and np.array_equal(
            shape.triangles, other.triangles
        )
    return shape == other


def _same_record(new: Record, old: Record | None) -> bool:
    return (
        old is not None
        and new.kind == old.kind
        and new.subframes.keys() == old.subframes.keys()
        and all(_is_close(T, old.subframes[name]) for name, T in new.subframes.items())
        and (new.anchor or _ROOT)[0] == (old.anchor or _ROOT)[0]
        and _is_close((new.anchor or _ROOT)[1], (old.anchor or _ROOT)[1])
    )


def _kept_object(new: WorldObject, old: WorldObject | AttachedObject) -> WorldObject:
    """Return the old object, or the new one with the prepared model of the old one."""
    if isinstance(old, WorldObject) and _is_close(new.pose, old.pose):
        return old
    return WorldObject(new.name, old.solid, new.pose)


def _kept_attached(new: AttachedObject, old: WorldObject | AttachedObject) -> AttachedObject:
    """Likewise for an attached object."""
    if (
        isinstance(old, AttachedObject)
        and _is_close(new.pose, old.pose)
        and (new.link, new.touch_links) == (old.link, old.touch_links)
    ):
        return old
    return AttachedObject(new.name, old.solid, new.link, new.touch_links, new.pose)


def _are_same(posture: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(posture - other).max(initial=0.0) <= _SAME)


def _is_close(T: np.ndarray, other: np.ndarray) -> bool:
    """Return whether poses differ by rounding alone, as when one was sent as a quaternion."""
    return bool(np.abs(T - other).max() <= _ROUNDING)
