"""Checks of ``compute_cartesian_path``."""

from __future__ import annotations

from typing import Any

from moveit_msgs import srv
from moveit_msgs.msg import MoveItErrorCodes as Code
import numpy as np

from ik_service.common.transforms import rigid_transform
from ik_service.extras.conformance.answers import (
    CARTESIAN_PATH,
    CheckFailedError,
    code_name,
    moveit_type,
    NotSupportedError,
    offset,
    require_error,
    SUCCESS,
)
from ik_service.extras.conformance.arm import TestedArm
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.subject import (
    Posture,
    set_posture,
    Subject,
    trajectory_postures,
)
from ik_service.model.joint import JointType
from ik_service.ros.common.conversions import pose_from_matrix

LINES = Section('straight lines')
_STEP = 0.002  # [m]
_REST = 1e-3  # speed that counts as rest [rad/s] or [m/s]
_FASTER = 1.001  # share of a velocity limit that may be exceeded, for rounding
AWAY = 50.0  # [m], which no arm reaches


@LINES.check('GetCartesianPath')
def _line_short(subject: Subject) -> str:
    """A short straight line is completed, and all points of the solution lie on it."""
    answer, start, T_start, T_end = _short_line(subject)
    asked, tip = 'a short straight line', subject.single_tip()
    if answer.fraction < 1.0 - 1e-9:
        if subject.arm.freedoms < 6:
            raise NotSupportedError('an arm that moves its tip in few ways follows few lines')
        raise CheckFailedError(asked, f'fraction {answer.fraction:g}', 'fraction 1')
    line = T_end[:3, 3] - T_start[:3, 3]
    worst = 0.0
    for posture in trajectory_postures(answer.solution, start):
        T = subject.links_at(posture)[tip]
        part = np.clip((T[:3, 3] - T_start[:3, 3]) @ line / max(line @ line, 1e-12), 0.0, 1.0)
        worst = max(worst, float(np.linalg.norm(T[:3, 3] - T_start[:3, 3] - part * line)))
    if worst > subject.settings.position_tolerance:
        raise CheckFailedError(asked, f'a point {worst * 1e3:.3g} mm beside it', 'points on it')
    first, *_, last = trajectory_postures(answer.solution, start)
    for posture, T, what in ((first, T_start, 'start'), (last, T_end, 'end')):
        if not subject.places(subject.links_at(posture)[tip], T):
            distance, _ = offset(subject.links_at(posture)[tip], T)
            raise CheckFailedError(asked, f'{what} {distance * 1e3:.3g} mm away', f'its {what}')
    return f'{len(answer.solution.joint_trajectory.points)} points, {worst * 1e3:.1g} mm beside'


@LINES.check('GetCartesianPath: solution')
def _line_timing(subject: Subject) -> str:
    """Its times increase, it rests at both ends, and the velocity limits are kept."""
    answer, *_ = _short_line(subject)
    asked = 'the times and velocities of a short straight line'
    seconds = require_timed(subject, answer.solution, asked, rest=_REST)
    return f'{seconds:.2f} s'


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_out_of_reach(subject: Subject) -> str:
    """A line that leads out of reach is answered with SUCCESS and a fraction below 1."""
    asked = f'a line of {AWAY:g} m'
    start = subject.postures(1, 'line out of reach')[0]
    T = subject.links_at(start)[subject.single_tip()]
    far = far_away(subject.arm, T)
    answer = _ask(subject, _request(subject, start, far, max_step=0.1), asked)
    if answer.error_code.val != SUCCESS or not 0.0 <= answer.fraction < 1.0:
        came = f'{code_name(answer.error_code.val)}, fraction {answer.fraction:g}'
        raise CheckFailedError(asked, came, 'SUCCESS with a fraction below 1')
    return f'fraction {answer.fraction:.3f}'


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_step(subject: Subject) -> str:
    """A max_step of 0 is answered with FAILURE."""
    return _refused(subject, 'a max_step of 0', Code.FAILURE, max_step=0.0)


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_group(subject: Subject) -> str:
    """An unknown group is answered with INVALID_GROUP_NAME."""
    name = 'there_is_no_such_group'
    return _refused(subject, 'an unknown group', Code.INVALID_GROUP_NAME, group_name=name)


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_frame(subject: Subject) -> str:
    """An unknown frame is answered with FRAME_TRANSFORM_FAILURE."""
    code = Code.FRAME_TRANSFORM_FAILURE
    return _refused(subject, 'an unknown frame', code, frame='there_is_no_such_frame')


def far_away(arm: TestedArm, T: np.ndarray) -> np.ndarray:
    """Return a pose out of reach; NotSupportedError for an arm that slides without end."""
    for name, lower, upper in arm.bounds():
        if np.isinf(upper - lower) and arm.robot.joints[name].type is JointType.PRISMATIC:
            raise NotSupportedError(f'no pose is out of reach: {name} slides without end')
    return rigid_transform(T[:3, :3], T[:3, 3] + [AWAY, 0.0, 0.0])


def require_timed(
    subject: Subject,
    trajectory: Any,  # noqa: ANN401
    asked: str,
    rest: float,
    scaling: float = 1.0,
) -> float:
    """Return the time of a trajectory that rests at its ends within velocity limits, or raise."""
    joints = trajectory.joint_trajectory
    times = [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in joints.points]
    if not (np.diff(times) > 0.0).all():
        raise CheckFailedError(asked, 'times that do not increase', 'times that increase')
    if any(len(p.velocities) != len(joints.joint_names) for p in joints.points):
        raise CheckFailedError(asked, 'points without velocities', 'velocities of all joints')
    speeds = np.abs([list(point.velocities) for point in joints.points])
    if speeds[[0, -1]].max() > rest:
        raise CheckFailedError(asked, 'a motion that does not rest at its ends', 'rest there')
    for name, fastest in zip(joints.joint_names, speeds.max(axis=0), strict=True):
        limit = scaling * subject.arm.robot.joints[name].limits.velocity
        if fastest > _FASTER * limit:
            raise CheckFailedError(asked, f'{name} at {fastest:.4g}', f'at most {limit:.4g}')
    return times[-1]


def _refused(subject: Subject, asked: str, code: int, **fields: Any) -> str:  # noqa: ANN401
    start = subject.postures(1, 'line')[0]
    T = subject.links_at(start)[subject.single_tip()]
    answer = _ask(subject, _request(subject, start, T, **fields), asked)
    return require_error(answer.error_code.val, asked, code)


def _short_line(subject: Subject) -> tuple[Any, Posture, np.ndarray, np.ndarray]:
    """Return the answer to a short line, its start, and the poses at both ends."""
    tip = subject.single_tip()

    def ask() -> tuple:
        _, poses, start = subject.ordinary_request('line')
        answer = _ask(subject, _request(subject, start, poses[tip]), 'a short straight line')
        return answer, start, subject.links_at(start)[tip], poses[tip]

    answer, *rest = subject.once('short line', ask)
    if answer.error_code.val != SUCCESS or not answer.solution.joint_trajectory.points:
        came = code_name(answer.error_code.val)
        raise CheckFailedError('a short straight line', came, 'SUCCESS with points')
    return (answer, *rest)


def _request(
    subject: Subject,
    start: Posture,
    end: np.ndarray,
    max_step: float = _STEP,
    frame: str = '',
    group_name: str | None = None,
) -> Any:  # noqa: ANN401 - of that service
    """Return a request for one line, from a posture to a pose in the root link's frame."""
    request = moveit_type(srv, 'GetCartesianPath').Request(
        max_step=max_step, link_name=subject.single_tip()
    )
    request.group_name = subject.group_name if group_name is None else group_name
    request.header.frame_id = frame
    request.waypoints = [pose_from_matrix(end)]
    set_posture(request.start_state, start)
    return request


def _ask(subject: Subject, request: Any, asked: str) -> Any:  # noqa: ANN401
    kind = moveit_type(srv, 'GetCartesianPath')
    answer, _ = subject.connection.ask(kind, CARTESIAN_PATH, request, asked)
    return answer
