"""Checks of straight lines and motion plans: compute_cartesian_path, plan_kinematic_path."""

from __future__ import annotations

import math
from typing import Any
import zlib

from moveit_msgs import msg, srv
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
    PLAN,
    PLANNERS,
    require_error,
    require_success,
    STATE_VALIDITY,
    SUCCESS,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.checks.collisions import (
    ask_validity,
    free_seed,
    random_states,
    scene_box,
    valid_states,
)
from ik_service.extras.conformance.subject import (
    largest_step,
    LIMIT_TOLERANCE,
    once,
    Posture,
    set_posture,
    Subject,
    TestedArm,
    trajectory_postures,
)
from ik_service.ros.common.conversions import pose_from_matrix
from ik_service.ros.requests.constraints import goal_at

LINES = Section('straight lines')
_SHORT_LINE = 'a short straight line'
_LINE_STEP = 0.002  # [m]
_REST = 1e-3  # speed that counts as rest [rad/s] or [m/s]
_FASTER = 1.001  # share of a velocity limit that may be exceeded, for rounding


@LINES.check('GetCartesianPath')
def _line_short(subject: Subject) -> str:
    """A short straight line is completed, and all points of the solution lie on it."""
    answer, start, T_start, T_end = _short_line(subject)
    asked, tip = _SHORT_LINE, subject.single_tip()
    if answer.fraction < 1.0 - 1e-9:
        if subject.arm.freedoms < 6:
            raise NotSupportedError('an arm that moves its tip in few ways follows few lines')
        raise CheckFailedError(asked, f'fraction {answer.fraction:g}', 'fraction 1')
    line = T_end[:3, 3] - T_start[:3, 3]
    worst = 0.0
    postures = trajectory_postures(answer.solution, start)
    for posture in postures:
        T = subject.links_at(posture)[tip]
        part = np.clip((T[:3, 3] - T_start[:3, 3]) @ line / max(line @ line, 1e-12), 0.0, 1.0)
        worst = max(worst, float(np.linalg.norm(T[:3, 3] - T_start[:3, 3] - part * line)))
    if worst > subject.settings.position_tolerance:
        raise CheckFailedError(asked, f'a point {worst * 1e3:.3g} mm beside it', 'points on it')
    for posture, T, what in ((postures[0], T_start, 'start'), (postures[-1], T_end, 'end')):
        if not subject.places(subject.links_at(posture)[tip], T):
            distance, _ = offset(subject.links_at(posture)[tip], T)
            raise CheckFailedError(asked, f'{what} {distance * 1e3:.3g} mm away', f'its {what}')
    return f'{len(postures)} points, {worst * 1e3:.1g} mm beside'


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
    start = subject.postures(1, 'line out of reach')[0]
    T = subject.links_at(start)[subject.single_tip()]
    far = far_away(subject.arm, T)
    asked = f'a line of {far[0, 3] - T[0, 3]:.3g} m'
    answer = _line_answer(subject, _line_request(subject, start, far, max_step=0.1), asked)
    if answer.error_code.val != SUCCESS or not 0.0 <= answer.fraction < 1.0:
        came = f'{code_name(answer.error_code.val)}, fraction {answer.fraction:g}'
        raise CheckFailedError(asked, came, 'SUCCESS with a fraction below 1')
    return f'fraction {answer.fraction:.3f}'


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_step(subject: Subject) -> str:
    """A max_step of 0 is answered with FAILURE."""
    return _line_refused(subject, 'a max_step of 0', Code.FAILURE, max_step=0.0)


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_group(subject: Subject) -> str:
    """An unknown group is answered with INVALID_GROUP_NAME."""
    name = 'there_is_no_such_group'
    return _line_refused(subject, 'an unknown group', Code.INVALID_GROUP_NAME, group_name=name)


@LINES.check("MoveIt's server: compute_cartesian_path")
def _line_frame(subject: Subject) -> str:
    """An unknown frame is answered with FRAME_TRANSFORM_FAILURE."""
    code = Code.FRAME_TRANSFORM_FAILURE
    return _line_refused(subject, 'an unknown frame', code, frame='there_is_no_such_frame')


def far_away(arm: TestedArm, T: np.ndarray) -> np.ndarray:
    """Return a pose out of reach; NotSupportedError for an arm that slides without end."""
    return rigid_transform(T[:3, :3], T[:3, 3] + [arm.out_of_reach(), 0.0, 0.0])


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


def _line_refused(subject: Subject, asked: str, code: int, **fields: Any) -> str:  # noqa: ANN401
    start = subject.postures(1, 'line')[0]
    T = subject.links_at(start)[subject.single_tip()]
    answer = _line_answer(subject, _line_request(subject, start, T, **fields), asked)
    return require_error(answer.error_code.val, asked, code)


def _short_line(subject: Subject) -> tuple[Any, Posture, np.ndarray, np.ndarray]:
    """Return the answer to a short line, its start, and the poses at both ends."""
    answer, *rest = _answered_line(subject)
    if answer.error_code.val != SUCCESS or not answer.solution.joint_trajectory.points:
        raise CheckFailedError(
            _SHORT_LINE, code_name(answer.error_code.val), 'SUCCESS with points'
        )
    return (answer, *rest)


@once
def _answered_line(subject: Subject) -> tuple:
    tip = subject.single_tip()
    _, poses, start = subject.ordinary_request('line')
    answer = _line_answer(subject, _line_request(subject, start, poses[tip]), _SHORT_LINE)
    return answer, start, subject.links_at(start)[tip], poses[tip]


def _line_request(
    subject: Subject,
    start: Posture,
    end: np.ndarray,
    max_step: float = _LINE_STEP,
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


def _line_answer(subject: Subject, request: Any, asked: str) -> Any:  # noqa: ANN401
    kind = moveit_type(srv, 'GetCartesianPath')
    answer, _ = subject.connection.ask(kind, CARTESIAN_PATH, request, asked)
    return answer


PLANS = Section('plans')
_TIME = 5.0  # allowed_planning_time [s]
_STEP = 0.4  # between start and goal, of the joint that moves most [rad] or [m]
_POSTURES = 50  # random ones, of which one has to be valid beside the box
_LOOKED_AT = 20  # postures of a plan that check_state_validity is asked about
_JOINT_TOLERANCE = 1e-3  # of goals [rad] or [m], as pymoveit2 has it
_POSITION_TOLERANCE, _ANGLE_TOLERANCE = 1e-3, 1e-3  # of goals [m], [rad], likewise
_ROUNDING = 1e-4  # by which a plan may miss its ends [rad] or [m]
_SLOW = 0.1  # scaling factor
_JOINT_PLAN = 'a plan to a joint goal'
_UNKNOWN = 'there_is_no_such_name'
_NO_CODES = 'its service answers FAILURE to whatever cannot be planned'


@PLANS.check('QueryPlannerInterfaces')
def _plan_planners(subject: Subject) -> str:
    """query_planner_interface lists pipelines and their planners."""
    asked, kind = 'the planners', moveit_type(srv, 'QueryPlannerInterfaces')
    answer, _ = subject.connection.ask(kind, PLANNERS, kind.Request(), asked)
    found = {each.pipeline_id or each.name: each for each in answer.planner_interfaces}
    if not found or '' in found or not any(len(each.planner_ids) for each in found.values()):
        raise CheckFailedError(asked, f'{len(found)} pipelines', 'names of pipelines and planners')
    return ', '.join(found)


@PLANS.check('GetMotionPlan')
def _plan_joints(subject: Subject) -> str:
    """A plan leads from its start to a joint goal, within the joint limits."""
    answer, start, goal = _short_plan(subject)
    asked, names = _JOINT_PLAN, subject.arm.joint_names
    postures = trajectory_postures(answer.trajectory, start)
    for posture, end, what, tolerance in (
        (postures[0], start, 'start', _ROUNDING),
        (postures[-1], goal, 'goal', _JOINT_TOLERANCE + _ROUNDING),
    ):
        away = largest_step(posture, end, names)
        if away > tolerance:
            raise CheckFailedError(asked, f'a {what} {away:.3g} rad or m away', f'its {what}')
    for posture in postures:
        for name, low, high in subject.arm.bounds():
            if not low - LIMIT_TOLERANCE <= posture[name] <= high + LIMIT_TOLERANCE:
                came = f'a point with {name} at {posture[name]:.6g}'
                raise CheckFailedError(asked, came, f'{name} within {low:g} … {high:g}')
    return f'{len(postures)} points, planned in {answer.planning_time * 1e3:.3g} ms'


@PLANS.check('GetMotionPlan; GetStateValidity')
def _plan_valid(subject: Subject) -> str:
    """check_state_validity calls the points of a plan valid."""
    answer, start, _ = _short_plan(subject)
    postures = trajectory_postures(answer.trajectory, start)
    chosen = postures[:: max(1, len(postures) // _LOOKED_AT)]
    for posture in chosen:
        asked = 'check_state_validity of a point of a plan'
        if not ask_validity(subject, posture, asked).valid:
            raise CheckFailedError(asked, 'not valid', 'valid')
    return f'{len(chosen)} points'


@PLANS.check('GetMotionPlan: trajectory')
def _plan_timing(subject: Subject) -> str:
    """Its times increase, it rests at both ends, and the velocity limits are kept."""
    answer, *_ = _short_plan(subject)
    asked = 'the times and velocities of a plan'
    seconds = require_timed(subject, answer.trajectory, asked, rest=_ROUNDING)
    return f'{seconds:.2f} s'


@PLANS.check(
    'MotionPlanRequest: max_velocity_scaling_factor',
    summary=f'With scaling factors of {_SLOW:g} that share of the velocity limits is kept',
)
def _plan_scaling(subject: Subject) -> str:
    start, goal = near_postures(subject)
    asked = f'a plan with scaling factors of {_SLOW:g}'
    request = motion_request(subject, joint_goal(subject, goal), start=start)
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = _SLOW
    answer = _planned(subject, request, asked)
    seconds = require_timed(subject, answer.trajectory, asked, rest=_ROUNDING, scaling=_SLOW)
    return f'{seconds:.2f} s'


@PLANS.check('MotionPlanRequest: goal_constraints')
def _plan_pose(subject: Subject) -> str:
    """A plan to a pose of the tip ends there, within its tolerances."""
    start, goal = near_postures(subject)
    tip = subject.single_tip()
    T = subject.links_at(goal)[tip]
    asked = 'a plan to a pose'
    answer = _planned(subject, motion_request(subject, pose_goal(subject, T), start=start), asked)
    reached = subject.links_at(trajectory_postures(answer.trajectory, start)[-1])[tip]
    distance, angle = offset(reached, T)
    settings = subject.settings
    # The tolerance of the angle is about each of three axes.
    widest = math.sqrt(3.0) * _ANGLE_TOLERANCE + settings.orientation_tolerance
    if distance > _POSITION_TOLERANCE + settings.position_tolerance or angle > widest:
        came = f'SUCCESS with {tip} {distance * 1e3:.4g} mm and {angle:.4g} rad away'
        raise CheckFailedError(asked, came, f'{tip} at the pose')
    return f'{distance * 1e3:.2g} mm, {angle:.2g} rad'


@PLANS.check('GetMotionPlan')
def _plan_out_of_reach(subject: Subject) -> str:
    """A pose out of reach is an error, without a trajectory."""
    start, _ = near_postures(subject)
    T = subject.links_at(start)[subject.single_tip()]
    far = far_away(subject.arm, T)
    request = motion_request(subject, pose_goal(subject, far), start=start)
    return _refused(subject, request, 'a plan to a pose ten lengths of the arm away')


@PLANS.check('GetMotionPlan; GetStateValidity')
def _plan_goal_collides(subject: Subject) -> str:
    """A goal that is not valid is an error, without a trajectory."""
    start, goal = _colliding(subject)
    request = motion_request(subject, joint_goal(subject, goal), start=start)
    return _refused(subject, request, 'a plan to a posture that is not valid')


@PLANS.check('MoveItErrorCodes', moveit=_NO_CODES)
def _plan_start_collides(subject: Subject) -> str:
    """A start that is not valid is answered with START_STATE_IN_COLLISION."""
    goal, start = _colliding(subject)
    request = motion_request(subject, joint_goal(subject, goal), start=start)
    asked = 'a plan from a posture that is not valid'
    return _refused(subject, request, asked, Code.START_STATE_IN_COLLISION)


@PLANS.check('MotionPlanRequest: path_constraints')
def _plan_start_constraint(subject: Subject) -> str:
    """A start that breaks path_constraints is an error, without a trajectory."""
    start, goal = near_postures(subject)
    tolerance = 0.25 * largest_step(start, goal, subject.arm.joint_names)
    request = motion_request(subject, joint_goal(subject, goal), start=start)
    request.path_constraints = joint_goal(subject, goal, tolerance)
    return _refused(subject, request, 'a plan whose start breaks path_constraints')


@PLANS.check('MoveItErrorCodes', moveit=_NO_CODES)
def _plan_group(subject: Subject) -> str:
    """An unknown group is answered with INVALID_GROUP_NAME."""
    request = _near_request(subject)
    request.group_name = _UNKNOWN
    return _refused(subject, request, 'an unknown group', Code.INVALID_GROUP_NAME)


@PLANS.check('MoveItErrorCodes', moveit=_NO_CODES)
def _plan_no_goal(subject: Subject) -> str:
    """A request without a goal is answered with INVALID_GOAL_CONSTRAINTS."""
    start, _ = near_postures(subject)
    request = motion_request(subject, start=start)
    return _refused(subject, request, 'no goal', Code.INVALID_GOAL_CONSTRAINTS)


@PLANS.check("MoveIt's server: plan_kinematic_path")
def _plan_pipeline(subject: Subject) -> str:
    """An unknown pipeline_id is answered with FAILURE."""
    request = _near_request(subject)
    request.pipeline_id = _UNKNOWN
    return _refused(subject, request, 'an unknown pipeline_id', Code.FAILURE)


@PLANS.check("MoveIt's server: plan_kinematic_path")
def _plan_planner(subject: Subject) -> str:
    """An unknown planner_id is an error, or another planner plans to the goal."""
    start, goal = near_postures(subject)
    request = _near_request(subject)
    request.planner_id = _UNKNOWN
    asked = 'an unknown planner_id'
    answer = _ask(subject, request, asked)
    if answer.error_code.val != SUCCESS:
        return _require_refused(answer, asked)
    last = trajectory_postures(answer.trajectory, start)[-1]
    away = largest_step(last, goal, subject.arm.joint_names)
    if away > _JOINT_TOLERANCE + _ROUNDING:
        raise CheckFailedError(asked, f'an end {away:.3g} rad or m away', 'a plan, or an error')
    return 'another planner has planned'


@PLANS.check('GetMotionPlan; ApplyPlanningScene')
def _plan_world(subject: Subject) -> str:
    """A box of a scene at the goal makes a plan an error; without the box it is planned."""
    subject.single_tip()
    goal = free_seed(subject)
    with scene_box(subject, goal):
        postures = subject.postures(_POSTURES, 'starts beside a box')
        start = next((each for each in postures if is_valid(subject, each)), None)
        if start is None:
            raise NotSupportedError(f'none of {_POSTURES} random postures is valid beside the box')
        request = motion_request(subject, joint_goal(subject, goal), start=start)
        blocked = _refused(subject, request, 'a plan to a posture inside a box of a scene')
    _planned(subject, request, 'the same plan after a scene has removed the box')
    return f'{blocked} inside the box'


@PLANS.check('GetMotionPlan', rough=True)
def _plan_not_a_number(subject: Subject) -> str:
    """A goal with a joint position of NaN is an error."""
    request = _near_request(subject)
    request.goal_constraints[0].joint_constraints[0].position = math.nan
    return _refused(subject, request, 'a plan to a joint position of NaN')


# Requests
def near_postures(subject: Subject) -> tuple[Posture, Posture]:
    """Return two near postures, valid as far as the server says; NotSupportedError without."""
    subject.single_tip()
    found = _valid_pair(subject)
    if found is None:
        raise NotSupportedError(f'none of {_POSTURES} random pairs of postures is valid')
    return found


@once
def _valid_pair(subject: Subject) -> tuple[Posture, Posture] | None:
    rng = np.random.default_rng(zlib.crc32(b'near postures'))
    for start in subject.postures(_POSTURES, 'plans'):
        goal = subject.arm.moved(start, rng, _STEP)
        if is_valid(subject, start) and is_valid(subject, goal):
            return start, goal
    return None


def is_valid(subject: Subject, posture: Posture) -> bool:
    """Return whether a posture is valid by the server's word; True where it has none."""
    kind = getattr(srv, 'GetStateValidity', None)
    if kind is None or not subject.connection.offers(kind, STATE_VALIDITY):
        return True
    return bool(ask_validity(subject, posture, 'check_state_validity of a posture').valid)


def motion_request(
    subject: Subject,
    *goals: Any,  # noqa: ANN401 - of moveit_msgs, without types
    start: Posture | None = None,
) -> Any:  # noqa: ANN401
    """Return a MotionPlanRequest for alternative goals, from a start or from where the arm is."""
    kind = moveit_type(msg, 'MotionPlanRequest')
    request = kind(group_name=subject.group_name, num_planning_attempts=1)
    request.allowed_planning_time = _TIME
    request.max_velocity_scaling_factor = request.max_acceleration_scaling_factor = 1.0
    request.goal_constraints = list(goals)
    set_posture(request.start_state, start)
    return request


def joint_goal(subject: Subject, posture: Posture, tolerance: float = _JOINT_TOLERANCE) -> Any:  # noqa: ANN401
    """Return a goal of the arm's joints, with a tolerance for each [rad] or [m]."""
    goal = msg.Constraints()
    goal.joint_constraints = [
        msg.JointConstraint(
            joint_name=name,
            position=float(posture[name]),
            tolerance_above=tolerance,
            tolerance_below=tolerance,
            weight=1.0,
        )
        for name in subject.arm.joint_names
    ]
    return goal


def pose_goal(subject: Subject, T: np.ndarray) -> Any:  # noqa: ANN401
    """Return a goal of the tip's pose T_root_tip (4, 4), as clients of MoveIt send it."""
    frame, tip = subject.arm.robot.root_link, subject.single_tip()
    return goal_at(T, frame, tip, _POSITION_TOLERANCE, _ANGLE_TOLERANCE)


def _near_request(subject: Subject) -> Any:  # noqa: ANN401
    start, goal = near_postures(subject)
    return motion_request(subject, joint_goal(subject, goal), start=start)


def _colliding(subject: Subject) -> tuple[Posture, Posture]:
    """Return a valid posture, and one that is not."""
    subject.single_tip()
    valid, (_, invalid) = valid_states(subject), random_states(subject)
    if not invalid:
        raise NotSupportedError('check_state_validity finds no posture not valid')
    return valid[0], invalid[0]


# Answers
def _short_plan(subject: Subject) -> tuple[Any, Posture, Posture]:
    """Return the answer to a plan between near postures, its start, and its goal."""
    return _with_points(_answered_plan(subject), _JOINT_PLAN), *near_postures(subject)


@once
def _answered_plan(subject: Subject) -> Any:  # noqa: ANN401
    return _ask(subject, _near_request(subject), _JOINT_PLAN)


def _planned(subject: Subject, request: Any, asked: str) -> Any:  # noqa: ANN401
    return _with_points(_ask(subject, request, asked), asked)


def _with_points(answer: Any, asked: str) -> Any:  # noqa: ANN401
    require_success(answer.error_code.val, asked)
    if not answer.trajectory.joint_trajectory.points:
        raise CheckFailedError(asked, 'SUCCESS without points', 'SUCCESS with points')
    return answer


def _refused(subject: Subject, request: Any, asked: str, *codes: int) -> str:  # noqa: ANN401
    return _require_refused(_ask(subject, request, asked), asked, *codes)


def _require_refused(answer: Any, asked: str, *codes: int) -> str:  # noqa: ANN401
    """Make sure that an answer is an error without a trajectory; return its code in words."""
    found = require_error(answer.error_code.val, asked, *codes)
    points = answer.trajectory.joint_trajectory.points
    if points:
        raise CheckFailedError(asked, f'{found} with {len(points)} points', 'no points')
    return found


def _ask(subject: Subject, request: Any, asked: str) -> Any:  # noqa: ANN401
    kind = moveit_type(srv, 'GetMotionPlan')
    wanted = kind.Request(motion_plan_request=request)
    patience = subject.connection.patience + _TIME
    answer, _ = subject.connection.ask(kind, PLAN, wanted, asked, patience)
    return answer.motion_plan_response
