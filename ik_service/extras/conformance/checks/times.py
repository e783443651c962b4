"""Checks of time-outs."""

from __future__ import annotations

from builtin_interfaces.msg import Duration
from moveit_msgs.msg import MoveItErrorCodes as Code
import numpy as np

from ik_service.common.transforms import rigid_transform
from ik_service.extras.conformance.answers import IkAnswer
from ik_service.extras.conformance.check import Check, NotSupportedError
from ik_service.extras.conformance.subject import Poses, Subject

_SECTION = 'time-outs'
_LONG, _SHORT = 2, 0.9  # time-outs that are compared [s]
_USED = 0.75  # share of a time-out after which a search counts as ended by it
_CUT, _TRIES = 1000, 20  # a time-out that no search keeps [ns], and poses that it is tried with
_LATE = 2.0  # by which an answer may come after its time-out [s]
_UNSEEN = 'it gives up on all poses that were tried before the time is over'


def _default(subject: Subject) -> str:
    request, poses, _ = subject.ordinary_request('default time')
    request.ik_request.timeout = Duration()
    subject.reached(subject.ik(request, 'a pose near its seed, with a time-out of 0'), poses)
    return 'solved'


def _seconds(subject: Subject) -> str:
    answer, _ = _searched_long(subject)
    if answer.seconds > _LONG + _LATE:
        raise answer.fail(f'an answer after {_LONG} s', f'one after {answer.seconds:.2f} s')
    return f'{answer.seconds:.2f} s'


def _part_of_a_second(subject: Subject) -> str:
    if _searched(subject) is None:
        answer = _cut_short(subject)
        return f'{answer.text.partition(":")[0]} with a time-out of {_CUT * 1e-3:g} µs'
    answer = _searched_shortly(subject)
    if not _USED * _SHORT <= answer.seconds <= _SHORT + _LATE:
        raise answer.fail(
            f'an answer after {_SHORT} s, as the search for {_LONG} s shows that it lasts',
            f'one after {answer.seconds:.2f} s',
        )
    return f'{answer.seconds:.2f} s'


def _code(subject: Subject) -> str:
    shortly = _cut_short if _searched(subject) is None else _searched_shortly
    shortly(subject).refused(Code.TIMED_OUT)
    return 'TIMED_OUT'


def _cut_short(subject: Subject) -> IkAnswer:
    """
    Return the answer to a reachable pose whose search was cut short by its time-out.

    :raises NotSupportedError: none was, so nothing can be said about time-outs.
    """

    def ask() -> IkAnswer | None:
        seeds = subject.postures(_TRIES, 'cut seeds')
        for goal, seed in zip(subject.postures(_TRIES, 'cut'), seeds, strict=True):
            request = subject.request(subject.tips_at(goal), seed)
            request.ik_request.timeout = Duration(nanosec=_CUT)
            answer = subject.ik(request, f'a reachable pose, within {_CUT * 1e-3:g} µs')
            if not answer.solved:
                return answer
        return None

    found = subject.once('cut short', ask)
    if found is None:
        raise NotSupportedError(_UNSEEN)
    return found


def _searched_shortly(subject: Subject) -> IkAnswer:
    """Return the answer to the pose that is searched for in vain, in a part of a second."""

    def ask() -> IkAnswer:
        _, poses = _searched_long(subject)
        request = subject.request(poses, subject.postures(1, 'time')[0])
        request.ik_request.timeout = Duration(nanosec=int(_SHORT * 1e9))
        return subject.ik(request, f'a pose that is searched for in vain, for {_SHORT} s')

    return subject.once('searched shortly', ask)


def _searched_long(subject: Subject) -> tuple[IkAnswer, Poses]:
    found = _searched(subject)
    if found is None:
        raise NotSupportedError(_UNSEEN)
    return found


def _searched(subject: Subject) -> tuple[IkAnswer, Poses] | None:
    """Return the answer to a pose that was searched for until the time was over, and the pose."""

    def ask() -> tuple[IkAnswer, Poses] | None:
        for poses in _hopeless(subject):
            request = subject.request(poses, subject.postures(1, 'time')[0], seconds=_LONG)
            answer = subject.ik(request, f'a pose that is searched for in vain, for {_LONG} s')
            if not answer.solved and answer.seconds >= _USED * _LONG:
                return answer, poses
        return None

    return subject.once('searched', ask)


def _hopeless(subject: Subject) -> list[Poses]:
    """Return poses without a solution, but of which a server hardly knows that at once."""
    tip = subject.arm.tips[0]
    postures = subject.postures(200, 'hopeless')
    at = [(subject.links_at(posture)[tip], posture) for posture in postures]
    base = subject.links_at(postures[0])[subject.arm.base_link][:3, 3]
    farthest, posture = max(at, key=lambda pair: float(np.linalg.norm(pair[0][:3, 3] - base)))
    out = farthest[:3, 3] - base
    found: list[Poses] = []
    for factor in (0.0, 1.05, 1.15, 1.3):
        T = rigid_transform(farthest[:3, :3], base + factor * out)
        found.append({**subject.tips_at(posture), tip: T})
    return found


CHECKS = (
    Check(
        'time-default',
        _SECTION,
        'A time-out of 0 means the default of the server',
        _default,
        'answer table: timeout 0',
    ),
    Check(
        'time-seconds',
        _SECTION,
        f'A search in vain for {_LONG} s ends then',
        _seconds,
        'answer table: timeout',
    ),
    Check(
        'time-part-of-a-second',
        _SECTION,
        f'A search in vain for {_SHORT} s lasts as long: nanoseconds count; or one for '
        f'{_CUT * 1e-3:g} µs is cut short',
        _part_of_a_second,
        'answer table: timeout',
        moveit='it drops the nanoseconds, so 0.9 s becomes 0: its default',
    ),
    Check(
        'time-code',
        _SECTION,
        'When the time has run out, the answer is TIMED_OUT',
        _code,
        'answer table: time ran out',
        moveit='a time-out is answered with NO_IK_SOLUTION, as any other failure',
    ),
)
