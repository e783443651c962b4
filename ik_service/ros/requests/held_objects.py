"""Names of attached objects in a request: those that are known, and those of its robot state."""

from __future__ import annotations

from collections.abc import Mapping

from moveit_msgs.msg import RobotState
import numpy as np

from ik_service.arm.arm import MeasuredState
from ik_service.exceptions import IkServiceError
from ik_service.ros.requests.frames import Frames
from ik_service.ros.requests.goals import Held
from ik_service.ros.requests.service_handler import start_posture
from ik_service.ros.scene.avoidance import fault_of_attached, world_of_state
from ik_service.ros.scene.known_world import find_held, KnownWorld
from ik_service.ros.scene.placing import Placing
from ik_service.ros.scene.world_draft import attached_subframes

_NONE = np.empty(0, dtype=np.intp)


def held_with(
    state: RobotState,
    known: KnownWorld,
    measured: MeasuredState,
    frames: Frames,
    field: str = 'robot_state',
) -> Held:
    """
    Return what tells where attached objects are, and check those that a request attaches.

    An object of the request counts before one of the same name that is known. Where it is given
    in the frame of a link, that link stands as in the request.

    :param state: the robot state of the request.
    :param known: the objects that are known.
    :param measured: the measured state.
    :param frames: frames besides the links of the robot.
    :param field: name of the robot state in the request, for errors.
    :raises RequestError: INVALID_ROBOT_STATE for an object or a position that is faulty.
    """
    attached = state.attached_collision_objects
    if not attached:
        return known.held
    posture, _ = start_posture(measured, state, _NONE, field)
    placing = Placing(measured.arm, posture, frames)
    world = world_of_state(state, known.world, placing, field)
    subframes: dict[str, Mapping[str, np.ndarray]] = {}
    for number, message in enumerate(attached):
        name = message.object.id
        try:
            old = subframes.get(name) or known.subframes(name)
            subframes[name] = attached_subframes(message.object, old)
        except IkServiceError as error:
            raise fault_of_attached(field, number, error) from error

    subframes.pop('', None)  # of all that are detached

    def held(name: str) -> tuple[str, np.ndarray] | None:
        if name in subframes or name.rpartition('/')[0] in subframes:
            return find_held(name, world, lambda of: subframes.get(of) or known.subframes(of))
        return known.held(name)

    return held
