"""Checks of forward kinematics, and of solutions: right, within limits and time, repeatable."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import MoveItErrorCodes as Code
from moveit_msgs.srv import GetPositionFK
import numpy as np

from ik_service.common.quoting import quote
from ik_service.common.transforms import inverse_transform, rigid_transform
from ik_service.extras.conformance.answers import (
    CheckFailedError,
    code_name,
    COMPUTE_FK,
    NotSupportedError,
    offset,
    require_error,
    require_success,
    ServerAnswer,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.subject import largest_step, once, Poses, Posture, Subject
from ik_service.ros.common.conversions import matrix_from_pose
from ik_service.ros.common.errors import RequestError

FORWARD = Section('forward kinematics')
_POSTURES, _MOST_LINKS = 10, 200  # that are compared
_DISTANCE, _ANGLE = 1e-5, 1e-5  # by which poses may differ [m], [rad]
_MISSING = 'there_is_no_such_link'


@FORWARD.check('GetPositionFK')
def _fk_links(subject: Subject) -> str:
    """The poses of all links at random postures are those of the URDF."""
    links = subject.arm.described(subject.arm.robot.links)[:_MOST_LINKS]
    worst = (0.0, 0.0)
    for posture in subject.postures(_POSTURES, 'fk'):
        asked = f'the poses of all {len(links)} links at a random posture'
        found = answered_poses(subject.fk(links, posture, asked), links, asked)
        expected = subject.links_at(posture)
        for link in links:
            distance, angle = offset(found[link], expected[link])
            if distance > _DISTANCE or angle > _ANGLE:
                raise CheckFailedError(
                    asked,
                    f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad away',
                    f'{link} where the URDF puts it, within {_DISTANCE * 1e3:g} mm, '
                    f'{_ANGLE:g} rad',
                )
            worst = max(worst[0], distance), max(worst[1], angle)
    return f'{len(links)} links, {_POSTURES} postures, worst {worst[0] * 1e3:.1g} mm'


@FORWARD.check("MoveIt's server: header.frame_id")
def _fk_frame(subject: Subject) -> str:
    """The pose of the tip in the frame of a link that moves is relative to that link."""
    between = subject.arm.links_between()
    frame = between[0] if between else subject.arm.base_link
    link = subject.arm.tips[0]
    asked = f'the present poses of {link} and {frame}, then that of {link} in the frame {frame}'
    at = answered_poses(subject.fk([link, frame], None, asked), [link, frame], asked)
    answer = subject.fk([link], None, asked, frame)
    found = answered_poses(answer, [link], asked)[link]
    distance, angle = offset(found, inverse_transform(at[frame]) @ at[link])
    if not subject.close(distance, angle):
        came = f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad away'
        raise CheckFailedError(asked, came, 'the same pose, in the other frame')
    if answer.pose_stamped[0].header.frame_id.lstrip('/') != frame:
        came = f'frame_id {answer.pose_stamped[0].header.frame_id!r}'
        raise CheckFailedError(asked, came, f'frame_id {frame!r}')
    return f'{link} in {frame}'


@FORWARD.check("MoveIt's server: FK")
def _fk_no_links(subject: Subject) -> str:
    """An empty list of links is answered with INVALID_LINK_NAME."""
    asked = 'the poses of no links at all'
    return require_error(subject.fk([], None, asked).error_code.val, asked, Code.INVALID_LINK_NAME)


@FORWARD.check("MoveIt's server: FK")
def _fk_unknown_link(subject: Subject) -> str:
    """With an unknown link among others, the poses of the others and INVALID_LINK_NAME come."""
    [posture] = subject.postures(1, 'unknown link')
    tip = subject.arm.tips[0]
    asked = f'the poses of {tip} and of {_MISSING}'
    answer = subject.fk([tip, _MISSING], posture, asked)
    note = require_error(answer.error_code.val, asked, Code.INVALID_LINK_NAME)
    if list(answer.fk_link_names) != [tip] or len(answer.pose_stamped) != 1:
        came = f'INVALID_LINK_NAME with {len(answer.pose_stamped)} poses'
        raise CheckFailedError(asked, came, f'INVALID_LINK_NAME with the pose of {tip}')
    return note


@FORWARD.check("MoveIt's server: a failed transform")
def _fk_unknown_frame(subject: Subject) -> str:
    """An unknown frame is answered with FRAME_TRANSFORM_FAILURE."""
    asked = f'the pose of {subject.arm.tips[0]} in the frame there_is_no_such_frame'
    answer = subject.fk([subject.arm.tips[0]], None, asked, 'there_is_no_such_frame')
    return require_error(answer.error_code.val, asked, Code.FRAME_TRANSFORM_FAILURE)


def answered_poses(
    answer: GetPositionFK.Response, links: list[str], asked: str
) -> dict[str, np.ndarray]:
    """Return the poses (4, 4) by link of an answer of ``compute_fk``; it has to be a success."""
    require_success(answer.error_code.val, asked)
    names, count = list(answer.fk_link_names), len(answer.pose_stamped)
    if names != links or count != len(links):
        came = f'{count} poses for {len(names)} links'
        if len(names) == count == len(links):
            pairs = zip(names, links, strict=True)
            there, wanted = next(pair for pair in pairs if len({*pair}) > 1)
            came = f'fk_link_names with {quote(there)} in the place of {quote(wanted)}'
        raise CheckFailedError(asked, came, f'a pose for each of the {len(links)} links, in order')
    try:
        return {
            link: matrix_from_pose(stamped.pose)
            for link, stamped in zip(names, answer.pose_stamped, strict=True)
        }
    except RequestError as error:
        raise CheckFailedError(asked, str(error), 'poses') from error


SOLUTIONS = Section('solutions')
_SOLVED = 0.9  # share of reachable poses that has to be solved
_NEAR = 1e-3  # how far from a seed that is a solution the answer may be [rad] or [m]
_WALK_STEP = 0.01  # of the joint that moves most [rad] or [m]
_WALK_LENGTH = 100  # steps
_WALK_RATIO = 1.05  # largest motion of a joint, in steps of the walk
_REDUNDANT_RATIO = 20.0  # where self-motion is added; another elbow is still farther
_SCALES = (0.01, 0.5, 2.0, 100.0, -1.0)  # lengths of a quaternion

TIMES = Section('time-outs')
_LONG, _SHORT = 2, 0.9  # time-outs that are compared [s]
_USED = 0.75  # share of a time-out after which a search counts as ended by it
_CUT, _TRIES = 1000, 20  # a time-out that no search keeps [ns], and poses that it is tried with
_LATE = 2.0  # by which an answer may come after its time-out [s]
_UNSEEN = 'it gives up on all poses that were tried before the time is over'


@SOLUTIONS.check('what SUCCESS means')
def _round_trip(subject: Subject) -> str:
    """Solutions of random reachable poses put the tip there and keep all joint limits."""
    worst, solved = (0.0, 0.0), 0
    for answer, poses in _asked_far(subject):
        if not answer.solved:
            answer.without_solution()
            continue
        found, distance, angle = subject.reached(answer, poses)
        worst = max(worst[0], distance), max(worst[1], angle)
        solved += 1
        if solved == 1 and subject.connection.offers(GetPositionFK, COMPUTE_FK):
            _same_as_fk(subject, found, poses)
    if not solved:
        raise answer.fail(
            'SUCCESS for some of them', f'no SUCCESS for {subject.settings.count} of them'
        )
    return f'{solved} poses, worst {worst[0] * 1e3:.1g} mm, {worst[1]:.1g} rad'


@SOLUTIONS.check(
    'what a solver is for',
    summary=f'At least {_SOLVED:.0%} of random reachable poses are solved, within 1 s each',
)
def _solve_rate(subject: Subject) -> str:
    answers = [answer for answer, _ in _asked_far(subject)]
    solved = sum(answer.solved for answer in answers)
    text = f'{solved} of {len(answers)} solved'
    if solved < _SOLVED * len(answers):
        first = next(answer for answer in answers if not answer.solved)
        raise first.fail(
            f'at least {_SOLVED:.0%} solved within 1 s each',
            f'{text}; the first that is not: {first.text}',
        )
    return text


@SOLUTIONS.check('GetPositionIK: robot_state is the seed')
def _seed_is_solution(subject: Subject) -> str:
    """A seed that solves the pose is the answer."""
    names, worst = subject.arm.joint_names, 0.0
    for posture in subject.postures(max(1, subject.settings.count // 5), 'truth'):
        poses = subject.tips_at(posture)
        asked = 'the pose of the seed itself'
        answer = subject.ik(subject.request(poses, posture), asked)
        found, _, _ = subject.reached(answer, poses)
        step = largest_step(found, posture, names)
        if step > _NEAR:
            came = f'SUCCESS {step:.4g} rad or m from the seed'
            raise answer.fail(f'the seed, within {_NEAR:g} rad or m', came)
        worst = max(worst, step)
    return f'worst {worst:.1g} rad or m from the seed'


@SOLUTIONS.check(
    'GetPositionIK: robot_state is the seed',
    summary=f'On a walk of small steps no joint moves by more than {_WALK_RATIO} × the step; of a '
    f'redundant arm, which can move without its tip, by {_REDUNDANT_RATIO:g} ×',
)
def _random_walk(subject: Subject) -> str:
    arm, worst = subject.arm, 0.0
    ratio = _REDUNDANT_RATIO if arm.redundant else _WALK_RATIO
    walk = list(arm.walk(np.random.default_rng(7), _WALK_LENGTH, _WALK_STEP))
    if not walk:
        raise NotSupportedError('the arm is nearly singular in all postures that were tried')
    for number, (posture, truth) in enumerate(walk, 1):
        poses = subject.tips_at(truth)
        asked = f'step {number} of a walk, from the posture before it'
        answer = subject.ik(subject.request(poses, posture), asked)
        found, _, _ = subject.reached(answer, poses)
        motion = largest_step(found, posture, arm.joint_names)
        if motion > ratio * _WALK_STEP:
            came = f'SUCCESS with a joint that moves by {motion:.4g} rad or m'
            raise answer.fail(
                f'no joint to move by more than {ratio:g} × the {_WALK_STEP:g} of the walk', came
            )
        worst = max(worst, motion / _WALK_STEP)
    return f'{len(walk)} steps, largest {worst:.2f} × the step of the walk'


@SOLUTIONS.check(
    'determinism', moveit='its solvers search on from random postures, another time from others'
)
def _repeatable(subject: Subject) -> str:
    """The same request gives the same answer, bit by bit."""
    count = max(1, subject.settings.count // 10)
    goals, seeds = subject.postures(count, 'again'), subject.postures(count, 'again, seeds')
    for goal, seed in zip(goals, seeds, strict=True):
        request = subject.request(subject.tips_at(goal), seed)
        first, second = (subject.ik(request, 'the same pose twice') for _ in range(2))
        if first.code != second.code:
            raise second.fail(f'{first.text}, as before')
        if first.values != second.values or first.names != second.names:
            raise second.fail('the same positions, bit by bit', f'SUCCESS {_apart(first, second)}')
    return f'{count} poses, bit by bit'


@SOLUTIONS.check('answer table: quaternions are normalised')
def _quaternion_scale(subject: Subject) -> str:
    """A quaternion of another length than 1 means the same rotation."""
    request, poses, _ = subject.ordinary_request('quaternions')
    quaternion = subject.first_pose(request).pose.orientation
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    for scale in _SCALES:
        quaternion.x, quaternion.y, quaternion.z, quaternion.w = (
            scale * x, scale * y, scale * z, scale * w,
        )  # fmt: skip
        answer = subject.ik(request, f'a pose whose quaternion is {scale:g} × a unit one')
        subject.reached(answer, poses)
    return f'{len(_SCALES)} lengths'


@SOLUTIONS.check('answer table: a seed outside the limits is brought inside')
def _seed_outside(subject: Subject) -> str:
    """From a seed outside the joint limits, the solution is within them."""
    limited = [(n, high) for n, _, high in subject.arm.bounds() if np.isfinite(high)]
    request, poses, _ = subject.ordinary_request('outside')
    if not limited:
        return 'no joint has limits'
    name, high = limited[0]
    joints = request.ik_request.robot_state.joint_state
    joints.position[joints.name.index(name)] = high + 0.5
    answer = subject.ik(request, f'a reachable pose, with a seed 0.5 beyond a limit of {name}')
    if answer.solved:
        subject.reached(answer, poses)
        return 'solved within the limits'
    raise answer.fail('SUCCESS within the limits')


@SOLUTIONS.check("MoveIt's server: an empty robot_state")
def _no_seed(subject: Subject) -> str:
    """Without a seed, whatever is_diff says, the solution starts from the present state."""
    for is_diff in (True, False):
        for goal in subject.postures(5, 'no seed'):
            poses = subject.tips_at(goal)
            request = subject.request(poses)
            request.ik_request.robot_state.is_diff = is_diff
            asked = f'a reachable pose without a seed, is_diff {str(is_diff).lower()}'
            answer = subject.ik(request, asked)
            if answer.solved:
                subject.reached(answer, poses)
                break
        else:
            raise answer.fail('SUCCESS for one of 5 poses')
    return 'solved'


@once
def _asked_far(subject: Subject) -> list[tuple[ServerAnswer, Poses]]:
    """Ask for random reachable poses from random seeds; the answers with their poses."""
    found, count = [], subject.settings.count
    seeds = subject.postures(count, 'seeds')
    for goal, seed in zip(subject.postures(count, 'goals'), seeds, strict=True):
        poses = subject.tips_at(goal)
        answer = subject.ik(subject.request(poses, seed), 'a reachable pose, from a far seed')
        found.append((answer, poses))
    return found


def _same_as_fk(subject: Subject, posture: Posture, poses: Poses) -> None:
    links, asked = list(poses), 'compute_fk where the solution of compute_ik puts the tip'
    found = answered_poses(subject.fk(links, posture, asked), links, asked)
    for link, T in poses.items():
        distance, angle = offset(found[link], T)
        if not subject.close(distance, angle):
            came = f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad from the pose'
            raise CheckFailedError(asked, came, 'the pose that compute_ik was asked for')


def _apart(first: ServerAnswer, second: ServerAnswer) -> str:
    a, b = first.positions(), second.positions()
    if a.keys() != b.keys():
        return 'with other joints'
    return f'{largest_step(a, b, list(a)):.4g} rad or m from the first answer'


@TIMES.check('answer table: timeout 0')
def _time_default(subject: Subject) -> str:
    """A time-out of 0 means the default of the server."""
    request, poses, _ = subject.ordinary_request('default time')
    request.ik_request.timeout = Duration()
    subject.reached(subject.ik(request, 'a pose near its seed, with a time-out of 0'), poses)
    return 'solved'


@TIMES.check('answer table: timeout', summary=f'A search in vain for {_LONG} s ends then')
def _time_seconds(subject: Subject) -> str:
    answer, _ = _searched_long(subject)
    if answer.seconds > _LONG + _LATE:
        raise answer.fail(f'an answer after {_LONG} s', f'one after {answer.seconds:.2f} s')
    return f'{answer.seconds:.2f} s'


@TIMES.check(
    'answer table: timeout',
    summary=f'A search in vain for {_SHORT} s lasts as long: nanoseconds count; or one for '
    f'{_CUT * 1e-3:g} µs is cut short',
    moveit='it drops the nanoseconds, so 0.9 s becomes 0: its default',
)
def _time_part_of_a_second(subject: Subject) -> str:
    if _searched(subject) is None:
        answer = _cut_short(subject)
        return f'{code_name(answer.code)} with a time-out of {_CUT * 1e-3:g} µs'
    answer = _searched_shortly(subject)
    if not _USED * _SHORT <= answer.seconds <= _SHORT + _LATE:
        raise answer.fail(
            f'an answer after {_SHORT} s, as the search for {_LONG} s shows that it lasts',
            f'one after {answer.seconds:.2f} s',
        )
    return f'{answer.seconds:.2f} s'


@TIMES.check(
    'answer table: time ran out',
    moveit='a time-out is answered with NO_IK_SOLUTION, as any other failure',
)
def _time_code(subject: Subject) -> str:
    """When the time has run out, the answer is TIMED_OUT."""
    shortly = _cut_short if _searched(subject) is None else _searched_shortly
    return shortly(subject).refused(Code.TIMED_OUT)


def _cut_short(subject: Subject) -> ServerAnswer:
    """Return the answer to a reachable pose whose search was cut short by its time-out."""
    found = _unsolved_in_time(subject)
    if found is None:
        raise NotSupportedError(_UNSEEN)
    return found


@once
def _unsolved_in_time(subject: Subject) -> ServerAnswer | None:
    seeds = subject.postures(_TRIES, 'cut seeds')
    for goal, seed in zip(subject.postures(_TRIES, 'cut'), seeds, strict=True):
        request = subject.request(subject.tips_at(goal), seed)
        request.ik_request.timeout = Duration(nanosec=_CUT)
        answer = subject.ik(request, f'a reachable pose, within {_CUT * 1e-3:g} µs')
        if not answer.solved:
            return answer
    return None


@once
def _searched_shortly(subject: Subject) -> ServerAnswer:
    """Return the answer to the pose that is searched for in vain, in a part of a second."""
    _, poses = _searched_long(subject)
    request = subject.request(poses, subject.postures(1, 'time')[0])
    request.ik_request.timeout = Duration(nanosec=int(_SHORT * 1e9))
    return subject.ik(request, f'a pose that is searched for in vain, for {_SHORT} s')


def _searched_long(subject: Subject) -> tuple[ServerAnswer, Poses]:
    found = _searched(subject)
    if found is None:
        raise NotSupportedError(_UNSEEN)
    return found


@once
def _searched(subject: Subject) -> tuple[ServerAnswer, Poses] | None:
    """Return the answer to a pose that was searched for until the time was over, and the pose."""
    for poses in _hopeless(subject):
        request = subject.request(poses, subject.postures(1, 'time')[0], seconds=_LONG)
        answer = subject.ik(request, f'a pose that is searched for in vain, for {_LONG} s')
        if not answer.solved and answer.seconds >= _USED * _LONG:
            return answer, poses
    return None


def _hopeless(subject: Subject) -> list[Poses]:
    """Return poses without a solution, but of which a server hardly knows that at once."""
    tip = subject.arm.tips[0]
    postures = subject.postures(200, 'hopeless')
    at = [(subject.links_at(posture)[tip], posture) for posture in postures]
    base = subject.links_at(postures[0])[subject.arm.base_link][:3, 3]
    farthest, posture = max(at, key=lambda pair: float(np.linalg.norm(pair[0][:3, 3] - base)))
    out = farthest[:3, 3] - base
    return [
        {**subject.tips_at(posture), tip: rigid_transform(farthest[:3, :3], base + factor * out)}
        for factor in (0.0, 1.05, 1.15, 1.3)
    ]
