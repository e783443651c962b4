"""Checks of solutions: right, within the limits, near the seed, and the same each time."""

from __future__ import annotations

from collections.abc import Sequence

from moveit_msgs.srv import GetPositionFK
import numpy as np

from ik_service.extras.conformance.answers import IkAnswer, offset
from ik_service.extras.conformance.check import Check, CheckFailedError, NotSupportedError
from ik_service.extras.conformance.checks.forward import answered_poses
from ik_service.extras.conformance.names import COMPUTE_FK
from ik_service.extras.conformance.subject import largest_step, Poses, Posture, Subject

_SECTION = 'solutions'
_SOLVED = 0.9  # share of reachable poses that has to be solved
_NEAR = 1e-3  # how far from a seed that is a solution the answer may be [rad] or [m]
_WALK_STEP = 0.01  # of the joint that moves most [rad] or [m]
_WALK_LENGTH = 100
_WALK_RATIO = 1.05
_REDUNDANT_RATIO = 20.0  # where self-motion is added; another elbow is still farther
_SCALES = (0.01, 0.5, 2.0, 100.0, -1.0)


def _asked_far(subject: Subject) -> list[tuple[IkAnswer, Poses]]:
    """Ask for random reachable poses from random seeds; the answers with their poses."""

    def ask() -> list[tuple[IkAnswer, Poses]]:
        found = []
        count = subject.settings.count
        seeds = subject.postures(count, 'seeds')
        for goal, seed in zip(subject.postures(count, 'goals'), seeds, strict=True):
            poses = subject.tips_at(goal)
            answer = subject.ik(subject.request(poses, seed), 'a reachable pose, from a far seed')
            found.append((answer, poses))
        return found

    return subject.once('far', ask)


def _round_trip(subject: Subject) -> str:
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


def _same_as_fk(subject: Subject, posture: Posture, poses: Poses) -> None:
    """Make sure that compute_fk agrees with a solution."""
    links, asked = list(poses), 'compute_fk where the solution of compute_ik puts the tip'
    found = answered_poses(subject.fk(links, posture, asked), links, asked)
    for link, T in poses.items():
        distance, angle = offset(found[link], T)
        if not subject.close(distance, angle):
            came = f'{link} {distance * 1e3:.4g} mm and {angle:.4g} rad from the pose'
            raise CheckFailedError(asked, came, 'the pose that compute_ik was asked for')


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


def _seed_is_solution(subject: Subject) -> str:
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


def _repeatable(subject: Subject) -> str:
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


def _apart(first: IkAnswer, second: IkAnswer) -> str:
    a, b = first.positions(), second.positions()
    if a.keys() != b.keys():
        return 'with other joints'
    return f'{largest_step(a, b, list(a)):.4g} rad or m from the first answer'


def _quaternion_scale(subject: Subject) -> str:
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


def _seed_outside(subject: Subject) -> str:
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


def _no_seed(subject: Subject) -> str:
    for is_diff in (True, False):
        solved: Sequence[IkAnswer] = ()
        for goal in subject.postures(5, 'no seed'):
            poses = subject.tips_at(goal)
            request = subject.request(poses)
            request.ik_request.robot_state.is_diff = is_diff
            asked = f'a reachable pose without a seed, is_diff {str(is_diff).lower()}'
            answer = subject.ik(request, asked)
            if answer.solved:
                subject.reached(answer, poses)
                solved = (answer,)
                break
        if not solved:
            raise answer.fail('SUCCESS for one of 5 poses')
    return 'solved'


CHECKS = (
    Check(
        'round-trip',
        _SECTION,
        'Solutions of random reachable poses put the tip there and keep all joint limits',
        _round_trip,
        'what SUCCESS means',
    ),
    Check(
        'solve-rate',
        _SECTION,
        f'At least {_SOLVED:.0%} of random reachable poses are solved, within 1 s each',
        _solve_rate,
        'what a solver is for',
    ),
    Check(
        'seed-is-solution',
        _SECTION,
        'A seed that solves the pose is the answer',
        _seed_is_solution,
        'GetPositionIK: robot_state is the seed',
    ),
    Check(
        'random-walk',
        _SECTION,
        f'On a walk of small steps no joint moves by more than {_WALK_RATIO} × the step; of a '
        f'redundant arm, which can move without its tip, by {_REDUNDANT_RATIO:g} ×',
        _random_walk,
        'GetPositionIK: robot_state is the seed',
    ),
    Check(
        'repeatable',
        _SECTION,
        'The same request gives the same answer, bit by bit',
        _repeatable,
        'determinism',
        moveit='its solvers search on from random postures, another time from others',
    ),
    Check(
        'quaternion-scale',
        _SECTION,
        'A quaternion of another length than 1 means the same rotation',
        _quaternion_scale,
        'answer table: quaternions are normalised',
    ),
    Check(
        'seed-outside',
        _SECTION,
        'From a seed outside the joint limits, the solution is within them',
        _seed_outside,
        'answer table: a seed outside the limits is brought inside',
    ),
    Check(
        'no-seed',
        _SECTION,
        'Without a seed, whatever is_diff says, the solution starts from the present state',
        _no_seed,
        "MoveIt's server: an empty robot_state",
    ),
)
