"""Objects around the robot and on it, as bodies and as frames of requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
import threading
from typing import TypeVar

from moveit_msgs.msg import AttachedCollisionObject, CollisionObject
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.arm.measured_state import MeasuredState
from ik_service.collision.world import AttachedObject, World, WorldObject
from ik_service.exceptions import IkServiceError
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.object_changes import Placing
from ik_service.ros.scene.world_draft import NO_RECORD, Record, SceneSettings, WorldDraft

_Result = TypeVar('_Result')
Prepare = Callable[[WorldObject | AttachedObject], object]


class KnownWorld:
    """
    Objects of the world, and those that the robot carries. Thread-safe.

    An object stays where it was put: a link or an object in whose frame it is given counts where
    it is at that moment. One in a frame that tf knows stays in that frame, so that a mobile base
    may drive past it. A faulty change is refused as a whole.

    :param frames: frames of requests, to which those of objects are added, and those of their
        subframes as ``object/subframe``.
    :param prepare: called with each new object before it counts, as building its model may
        take long; an exception refuses the object.
    :ivar world: the objects, where they are now, and the pairs that may touch.
    """

    def __init__(self, frames: Frames, prepare: Prepare = lambda other: None) -> None:
        self.world = World()
        self.settings = SceneSettings()
        self._frames = frames
        self._prepare = prepare
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._anchors: dict[str, tuple[str, np.ndarray]] = {}  # of the records that have one
        self._feet: dict[str, np.ndarray] = {}  # T_root_frame of their frames

    def change(self, message: CollisionObject, measured: MeasuredState | None) -> list[str]:
        """
        Add, append to, move or remove an object, or remove all.

        :returns: remarks for the sender.
        :raises IkServiceError: the message is faulty; nothing has changed.
        """
        return self.edit(lambda draft: draft.change(message), measured)

    def attach(
        self, message: AttachedCollisionObject, measured: MeasuredState | None
    ) -> list[str]:
        """Attach an object to a link, or detach it, or all; otherwise as :meth:`change`."""
        return self.edit(lambda draft: draft.attach(message), measured)

    def edit(
        self, change: Callable[[WorldDraft], _Result], measured: MeasuredState | None
    ) -> _Result:
        """
        Change several things at once.

        :param change: called with a draft; its changes to that count when it returns.
        :returns: return value of the change.
        :raises IkServiceError: raised by it, or an object cannot be checked; nothing has
            changed.
        """
        with self._lock:
            draft = self._draft(measured)
            result = change(draft)
            self._commit(draft)
        return result

    def tried(
        self, change: Callable[[WorldDraft], _Result], measured: MeasuredState | None
    ) -> tuple[World, Frames, _Result]:
        """
        Return the world and the frames as a change would leave them; nothing changes here.

        :param change: as for :meth:`edit`; so are the errors.
        :returns: the world, the frames, and the return value of the change.
        :raises IkServiceError: raised by the change, or an object cannot be checked.
        """
        with self._lock:
            draft = self._draft(measured)
            result = change(draft)
            world = draft.finish()
        self._prepare_changed(draft)
        return world, draft.frames, result

    def snapshot(self) -> tuple[World, Mapping[str, Record], SceneSettings]:
        """Return the world, the records of its objects, and the settings, of one moment."""
        with self._lock:
            return self.world, dict(self._records), self.settings

    def adopt(self, arm: Arm) -> list[str]:
        """
        Take another robot: objects on links that it does not have, or called like one, go.

        :returns: the names of the objects that went.
        """
        with self._lock:
            old = self.world
            lost = {name for name in (*old.objects, *old.attached) if arm.has_link(name)}
            lost |= {name for name, held in old.attached.items() if not arm.has_link(held.link)}
            if lost:
                draft = self._draft(None)
                draft.drop(lost)
                self._commit(draft)
            return sorted(lost)

    def refresh(self, measured: MeasuredState) -> str:
        """Move the objects in frames of tf to the poses of those; say why some stay."""
        if not self._lock.acquire(blocking=False):
            return ''  # a large scene is being applied, for which no command may wait
        try:
            return self._refresh(measured)
        finally:
            self._lock.release()

    def drop_posture(self, measured: MeasuredState) -> None:
        """Drop the posture that a scene has given the robot once the arm has moved."""
        old = self.settings
        if old.posture is None or old.posture.counts(measured):
            return
        if not self._lock.acquire(blocking=False):
            return  # a scene is being applied; the next time will do
        try:
            if self.settings is old:
                self.settings = replace(old, posture=None)
        finally:
            self._lock.release()

    def held(self, name: str) -> tuple[str, np.ndarray] | None:
        """Return where an attached object or a subframe of one is held; see :func:`find_held`."""
        return find_held(name, self.world, self.subframes)

    def subframes(self, name: str) -> Mapping[str, np.ndarray]:
        """Return the subframes of an object, (4, 4) T_object_subframe [m] by name, if any."""
        return self._records.get(name, NO_RECORD).subframes

    @property
    def is_anchored(self) -> bool:
        """Whether objects stand in frames of tf."""
        return bool(self._anchors)

    def _refresh(self, measured: MeasuredState) -> str:
        fault, moved = '', {}
        placing = Placing(measured.arm, measured.posture(), self._frames)
        for frame in {anchor[0] for anchor in self._anchors.values()}:
            try:
                T_root_frame = placing.in_root(frame, np.eye(4))
            except IkServiceError as error:
                fault = str(error)
                continue
            if frame not in self._feet or (T_root_frame != self._feet[frame]).any():
                self._feet[frame] = moved[frame] = T_root_frame
        if moved:
            objects = dict(self.world.objects)
            for name, (frame, T_frame_object) in self._anchors.items():
                if frame in moved:
                    objects[name] = objects[name].at(moved[frame] @ T_frame_object)
            self.world = self.world.with_all(objects, self.world.attached)
        return fault

    def _draft(self, measured: MeasuredState | None) -> WorldDraft:
        frames = self._frames.draft()
        return WorldDraft(self.world, self._records, self.settings, frames, measured)

    def _prepare_changed(self, draft: WorldDraft) -> None:
        for name, record in draft.changed.items():
            if record is not None:
                self._prepare(draft.world.attached.get(name) or draft.world.objects[name])

    def _commit(self, draft: WorldDraft) -> None:
        """Put a draft into force, with its frames; objects without a record have gone."""
        world = draft.finish()
        self._prepare_changed(draft)
        self._frames.take(draft.frames)
        records = {name: record for name, record in draft.changed.items() if record}
        if draft.settings is not self.settings:
            self.settings = draft.settings
            self._feet.clear()
        self.world = world
        for name in draft.changed:
            self._records.pop(name, None)
            self._anchors.pop(name, None)
        self._records.update(records)
        anchors = {name: record.anchor for name, record in records.items() if record.anchor}
        self._anchors.update(anchors)
        for frame in {frame for frame, _ in anchors.values()}:
            self._feet.pop(frame, None)


def find_held(
    name: str, world: World, subframes: Callable[[str], Mapping[str, np.ndarray]]
) -> tuple[str, np.ndarray] | None:
    """
    Return on which link an attached object, or a subframe of one, is, and its pose there.

    :param name: name of the object, or ``object/subframe``.
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
