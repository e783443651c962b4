"""Scene of one goal: the known world with a difference that counts for that goal alone."""

from __future__ import annotations

import copy
from functools import partial
import threading

from moveit_msgs.msg import PlanningScene

from ik_service.arm.arm import Arm, MeasuredState
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.world import World
from ik_service.exceptions import IkServiceError
from ik_service.ros.requests.errors import ErrorCode, RequestError
from ik_service.ros.scene.collision_world import CollisionWorld, Tests
from ik_service.ros.scene.scene_changes import apply_scene

FIELD = 'planning_options.planning_scene_diff'


class GoalScene:
    """
    Known world with a difference applied to it, as the checks of one goal see it. Thread-safe.

    The known world does not change. When that changes, the difference is applied to it again; what
    it gives in the frame of a link or of an object stays where that was at first. What the arm
    carries stays attached unless the difference detaches it.

    :param diff: the difference, whatever its ``is_diff`` says, as with MoveIt.
    :param collisions: the known world, and the checker of collisions.
    :param measured: the measured state.
    :raises RequestError: FAILURE: the difference is faulty or not supported; names the field.
    :ivar frames: frames of requests, with those of the objects of the difference.
    :ivar remarks: what the client should know.
    """

    def __init__(
        self, diff: PlanningScene, collisions: CollisionWorld, measured: MeasuredState
    ) -> None:
        self._diff, self._collisions, self._measured = copy.deepcopy(diff), collisions, measured
        self._diff.is_diff = self._diff.robot_state.is_diff = True
        self._lock = threading.Lock()
        self._known, self._world = collisions.known.world, World()
        self._made: Tests = {}
        self._checker: CollisionChecker | None = None
        self._apply(self._known)

    @property
    def required(self) -> bool:
        """As for :class:`~ik_service.ros.scene.collision_world.CollisionWorld`."""
        return self._collisions.required

    def fault_of(self, arm: Arm) -> str:
        """
        Return what cannot be checked, and why; empty where all can be.

        :param arm: the arm.
        """
        return self._collisions.fault_of(arm)

    def tests(self, arm: Arm) -> Tests:
        """
        Return where tests of the checker may be kept.

        :param arm: the arm.
        """
        return self._made

    def checker(self, arm: Arm) -> CollisionChecker | None:
        """
        Return the checker, with the scene as it is now.

        :param arm: the arm.
        :returns: None where collisions cannot be checked.
        :raises RequestError: FAILURE: the difference does not go with the known world any more.
        """
        checker, known = self._collisions.checker(arm), self._collisions.known.world
        if checker is None:
            return None
        with self._lock:
            if known is not self._known:
                self._apply(known)
            if self._checker is None:
                self._checker, self._made = checker.with_world(self._world), {}
            return self._checker

    def _apply(self, known: World) -> None:
        change = partial(apply_scene, self._diff)
        try:
            tried = self._collisions.known.tried(change, self._measured)
        except IkServiceError as error:
            raise RequestError(ErrorCode.FAILURE, f'{FIELD}: {error}') from error
        self._known, self._checker = known, None
        self._world, self.frames, self.remarks = tried


def goal_scene(
    diff: PlanningScene, collisions: CollisionWorld, measured: MeasuredState
) -> GoalScene | None:
    """
    Return the scene of a goal; None where its difference is empty.

    :param diff: the difference of the goal.
    :param collisions: the known world, and the checker of collisions.
    :param measured: the measured state.
    :raises RequestError: FAILURE: the difference is faulty or not supported; names the field.
    """
    state, matrix = diff.robot_state, diff.allowed_collision_matrix
    given = (
        diff.name,
        diff.fixed_frame_transforms,
        matrix.entry_names,
        matrix.entry_values,
        matrix.default_entry_names,
        diff.link_padding,
        diff.link_scale,
        diff.world.collision_objects,
        diff.world.octomap.octomap.data,
        state.joint_state.name,
        state.multi_dof_joint_state.joint_names,
        state.attached_collision_objects,
    )
    return GoalScene(diff, collisions, measured) if any(map(len, given)) else None
