"""Start of a path: full posture, frames as they are there, remarks for the client."""

from __future__ import annotations

from dataclasses import dataclass

from moveit_msgs.srv import GetCartesianPath
import numpy as np

from ik_service.arm.arm import MeasuredState
from ik_service.ros.common.frames import FrameResolver, Frames
from ik_service.ros.ik.ik_answer import bring_inside
from ik_service.ros.ik.service_handler import assumed_joints, resolver_of, start_posture
from ik_service.ros.paths.line_request import MovedPoint


@dataclass(frozen=True)
class PathStart:
    """
    Start of a path.

    :ivar posture: (m,) full posture [rad] or [m].
    :ivar frames: what resolves frames from there.
    :ivar notes: remarks for the client; more may come.
    """

    posture: np.ndarray
    frames: FrameResolver
    notes: list[str]


def path_start(
    request: GetCartesianPath.Request,
    measured: MeasuredState,
    point: MovedPoint,
    frames: Frames,
    ignored: bool,
) -> PathStart:
    """
    Return the start of a path: the measured state, overlaid by that of the request.

    :param request: the request.
    :param measured: the measured state.
    :param point: the point that is moved.
    :param frames: frames besides the links of the robot.
    :param ignored: whether joint limits are ignored; else the start is brought inside them.
    :raises RequestError: INVALID_ROBOT_STATE, naming what is wrong.
    """
    arm, indices, chain = measured.arm, point.prepared.indices, point.chain
    posture, given = start_posture(measured, request.start_state, indices, 'start_state')
    outside = bring_inside(arm, point.prepared, posture, given)
    was = posture[indices]
    q = was if ignored else np.clip(was, chain.lower, chain.upper)
    outside += [
        f'{chain.joint_names[i]} at {was[i]:.6g}' for i in np.flatnonzero(q != was).tolist()
    ]
    posture[indices] = q
    arm.postures.complete(posture)
    notes = [f'brought inside their limits: {", ".join(outside)}'] if outside else []
    assumed = assumed_joints(measured, indices, given)
    if assumed:
        notes.append(
            'neither measured nor in start_state, so taken at mid-range: ' + ', '.join(assumed)
        )
    return PathStart(posture, resolver_of(measured, request.start_state, posture, frames), notes)
