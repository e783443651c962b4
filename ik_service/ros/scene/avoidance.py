"""Collision checks of one request: the world with the objects that it attaches to the robot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from moveit_msgs.msg import RobotState
import numpy as np

from ik_service.arm.arm import Arm
from ik_service.collision.checker import CollisionChecker
from ik_service.collision.posture_test import PostureTest
from ik_service.collision.world import World
from ik_service.exceptions import IkServiceError
from ik_service.ros.common.errors import ErrorCode, invalid_state, RequestError
from ik_service.ros.scene.collision_world import REQUIRE_COLLISION_CHECKING
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.object_changes import attached_world, Placing

MOST_ATTACHED = 100  # objects that a request may attach
_ATTACHED = 'attached_collision_objects'


class CheckedWorld(Protocol):
    """A world around an arm and its checker, as a ``CollisionWorld`` is one."""

    @property
    def required(self) -> bool:
        """Whether all of the robot has to be checked, or nothing counts as checked."""
        ...

    def checker(self, arm: Arm) -> CollisionChecker | None:
        """Return the checker, with the world as it is now; None where nothing can be checked."""
        ...

    def fault_of(self, arm: Arm) -> str:
        """Return the checks that cannot be made, and why; empty where all can be."""
        ...


@dataclass(frozen=True)
class Avoidance:
    """
    Collision checks of a request.

    :ivar checker: the checker; None where nothing is checked.
    :ivar notes: remarks for the client, about missing checks.
    :ivar positions: positions of all joints by name [rad] or [m], where they are not solved for.
    """

    checker: CollisionChecker | None = None
    notes: tuple[str, ...] = ()
    positions: Mapping[str, float] = field(default_factory=dict)

    def test(self, joint_names: Sequence[str]) -> PostureTest | None:
        """
        Return the checks of postures of some joints; None where nothing is checked.

        As with MoveIt, contacts that no motion changes are ignored: the base may stand on a table.
        """
        if self.checker is None:
            return None
        others = {name: q for name, q in self.positions.items() if name not in joint_names}
        return self.checker.of_motion(joint_names, others)


def avoidance(
    collisions: CheckedWorld,
    arm: Arm,
    state: RobotState,
    posture: np.ndarray,
    frames: Frames,
    field: str = 'robot_state',
) -> Avoidance:
    """
    Return the collision checks of a request.

    As with MoveIt, the objects that the request attaches come to those that are known, or take
    their place where joints are given and ``is_diff`` is false.

    :param posture: (m,) full posture of the request [rad] or [m].
    :param field: name of the state in the request, for messages.
    :raises RequestError: COLLISION_CHECKING_UNAVAILABLE where checks are required and there are
        none; INVALID_ROBOT_STATE for an attached object that is faulty.
    """
    checker, fault = collisions.checker(arm), collisions.fault_of(arm)
    if checker is None:
        if collisions.required:
            raise RequestError(
                ErrorCode.COLLISION_CHECKING_UNAVAILABLE,
                f'collisions cannot be checked: {fault}. With the parameter '
                f'{REQUIRE_COLLISION_CHECKING.name} false, what can be checked is, and the '
                'message says what is not',
            )
        return Avoidance(None, (f'collisions are not checked: {fault}',))
    notes = [f'collisions are checked in part: {fault}'] if fault else []
    if not checker.has_geometry:
        notes.append('the robot has no collision geometry, so it is not checked itself')
    known = checker.world
    world = world_of_state(state, known, Placing(arm, posture, frames), field)
    left_out = [name for name in known.attached if name not in world.attached]
    if left_out:
        notes.append(
            f'{field} with is_diff false and without them detaches ' + ', '.join(left_out[:5])
        )
    positions = arm.postures.by_name(posture)
    checker = checker if world is known else checker.with_world(world)
    return Avoidance(checker, tuple(notes), positions)


def world_of_state(
    state: RobotState, world: World, placing: Placing, field: str = 'robot_state'
) -> World:
    """
    Return the world with the objects that a robot state attaches.

    :param placing: where frames and links are in that state.
    :raises RequestError: INVALID_ROBOT_STATE for an attached object that is faulty.
    """
    attached = state.attached_collision_objects
    joints = state.joint_state.name or state.multi_dof_joint_state.joint_names
    if len(attached) > MOST_ATTACHED:
        raise invalid_state(
            f'{field}.{_ATTACHED} has {len(attached)} objects, more than {MOST_ATTACHED}'
        )
    if joints and not state.is_diff and world.attached:
        world = world.with_all(world.objects, {})
    for number, message in enumerate(attached):
        try:
            placing.check_name(message.object.id)
            world = attached_world(world, message, placing)
        except IkServiceError as error:
            raise fault_of_attached(field, number, error) from error
    return world


def fault_of_attached(field: str, number: int, error: IkServiceError) -> RequestError:
    """Return the error for an attached object of a request that is faulty."""
    return invalid_state(f'{field}.{_ATTACHED}[{number}]: {error}')
