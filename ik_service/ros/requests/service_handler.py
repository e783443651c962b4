"""Shared part of the service handlers: start posture, error boundary, error code, statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import threading
from typing import Any, NamedTuple

from moveit_msgs.msg import MoveItErrorCodes, PositionIKRequest, RobotState
from moveit_msgs.srv import GetCartesianPath
import numpy as np
from rclpy.clock import Clock
from rclpy.time import Time
from sensor_msgs.msg import JointState

from ik_service.arm.arm import Arm
from ik_service.arm.group import ArmGroup, PreparedSolver
from ik_service.arm.measured_state import MeasuredState
from ik_service.arm.postures import check_lengths, PostureSpace
from ik_service.arm.task_solving import TestOf
from ik_service.common.threads import give_way
from ik_service.exceptions import ArgumentError, UnknownJointError
from ik_service.ros.common.errors import ErrorCode, invalid_state, RequestError
from ik_service.ros.requests.frame_resolver import FrameResolver
from ik_service.ros.scene.avoidance import avoidance
from ik_service.ros.scene.collision_world import CollisionWorld
from ik_service.ros.scene.frames import Frames
from ik_service.ros.scene.robot_states import read_multi_dof
from ik_service.solvers.result import IkResult


class SolveRecord(NamedTuple):
    """
    A solve that the diagnostics report.

    :ivar stamp: ROS time at its end.
    :ivar source: its origin: ``compute_ik`` or ``target_pose``.
    :ivar solver: name of the method.
    """

    stamp: Time
    source: str
    solver: str
    result: IkResult


_SOURCE = 'ik_service'
_THREADS = 2  # requests of a service that takes long that are worked on at once
_HAS_MESSAGE = hasattr(MoveItErrorCodes(), 'message')  # ROS 2 Humble has only the number


@dataclass(frozen=True)
class ServiceContext:
    """
    Parts of a node that the handler of a service works with.

    :ivar clock: fills in the stamps of answers.
    :ivar on_refused: called with the reason why a request could not be answered as it stood.
    """

    clock: Clock
    frames: Frames
    collisions: CollisionWorld
    on_error: Callable[[Exception], object]
    on_refused: Callable[[str], object]


class RequestStatistics:
    """
    Outcomes of the requests of a service. Thread-safe.

    :param solves: whether the service solves, so that there are times to report.
    :ivar last_solve: the last solve; None before there is one.
    """

    def __init__(self, solves: bool = False) -> None:
        self._reports_times = solves
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._refusal = ''
        self._solves = 0
        self._total_time = 0.0
        self._longest_time = 0.0
        self.last_solve: SolveRecord | None = None

    def add(self, outcome: str, solve: SolveRecord | None = None) -> None:
        """Count a request, with its solve if there was one."""
        with self._lock:
            self._outcomes[outcome] += 1
            if solve is not None:
                seconds = solve.result.solve_time
                self._solves += 1
                self._total_time += seconds
                if seconds > self._longest_time:
                    self._longest_time = seconds
                self.last_solve = solve

    def refuse(self, message: str) -> None:
        """Keep why a request was refused, until the next one is."""
        self._refusal = message

    def report(self) -> dict[str, str]:
        """Return the counts and times as keys and values of the diagnostics."""
        with self._lock:
            report = {
                'requests': str(self._outcomes.total()),
                **{name: str(count) for name, count in sorted(self._outcomes.items())},
                'last refusal': self._refusal or 'none',
            }
            if self._reports_times:
                mean = self._total_time / self._solves if self._solves else 0.0
                report['mean solve time [ms]'] = f'{1e3 * mean:.3f}'
                report['longest solve time [ms]'] = f'{1e3 * self._longest_time:.3f}'
            return report


class ServiceHandler:
    """
    Base of the handlers, which answer the requests of a service without a node.

    Safe to call from several threads at once; nothing raises out of :meth:`handle`.

    :cvar background: work that takes long, in a word: it is done in threads of its own, which
        yield to those that move the arm; empty for none.
    :ivar measured: the measured state, and with it the arm, that requests are answered for; None
        before there is one.
    """

    background = ''

    def __init__(self, context: ServiceContext) -> None:
        work = self.background
        self._workers = ThreadPoolExecutor(_THREADS, work, give_way) if work else None
        self.measured: MeasuredState | None = None
        self.statistics = RequestStatistics()
        self._clock = context.clock
        self._frames = context.frames
        self._collisions = context.collisions
        self._on_error = context.on_error
        self._on_refused = context.on_refused

    def handle(self, request: Any, response: Any) -> Any:  # noqa: ANN401 - of any service
        """Fill in the response to a request and return it."""

        def answer() -> str:
            return self._answer(request, require_arm(self.measured), response)

        self._answer_with_code(getattr(response, 'error_code', None), answer)
        return response

    def _answer(self, request: Any, measured: MeasuredState, response: Any) -> str:  # noqa: ANN401
        """Fill in the answer; return the message of success, or without a code the outcome."""
        raise NotImplementedError

    def _avoidance(
        self,
        request: PositionIKRequest | GetCartesianPath.Request,
        state: RobotState,
        measured: MeasuredState,
        chosen: PreparedSolver | ArmGroup,
        posture: np.ndarray,
    ) -> tuple[TestOf, Sequence[str]]:
        """
        Return the collision tests of a request, with the other joints as in the answer, and notes.

        :param chosen: the joints that the request moves.
        :param posture: (m,) full posture of the start [rad] or [m].
        :raises RequestError: COLLISION_CHECKING_UNAVAILABLE, or INVALID_ROBOT_STATE.
        """
        if not request.avoid_collisions:
            return (lambda joint_names: None), ()
        answered = posture.copy()
        bring_inside(measured.arm, chosen, answered)
        field = 'start_state' if isinstance(request, GetCartesianPath.Request) else 'robot_state'
        found = avoidance(self._collisions, measured.arm, state, answered, self._frames, field)
        return found.test, found.notes

    def _answer_with_code(
        self, error_code: MoveItErrorCodes | None, answer: Callable[[], str]
    ) -> None:
        """Answer a request with the message returned, and its code: success, or why not."""
        try:
            message = self._workers.submit(answer).result() if self._workers else answer()
            code = ErrorCode.SUCCESS
        except Exception as error:
            code, message = self._code_and_message(error)
        if error_code is not None:
            write_code(error_code, code, message)
        outcome = message if error_code is None and code is ErrorCode.SUCCESS else code.name
        self.statistics.add(outcome)

    def _code_and_message(self, error: Exception) -> tuple[ErrorCode, str]:
        """Report an exception; return the code and message that the client gets."""
        if isinstance(error, RequestError):
            message = str(error)
            self.statistics.refuse(f'{error.code.name}: {message}')
            self._on_refused(message)
            return error.code, message
        self._on_error(error)
        return ErrorCode.FAILURE, f'error in the server: {type(error).__name__}: {error}'


def write_code(error_code: MoveItErrorCodes, code: ErrorCode, message: str) -> None:
    """Fill in the error code of an answer, and its message where the field exists."""
    error_code.val = int(code)
    if _HAS_MESSAGE:
        error_code.message = message
        error_code.source = _SOURCE


def require_arm(measured: MeasuredState | None) -> MeasuredState:
    """Return the measured state to answer from; raises RequestError (FAILURE) without one."""
    if measured is None:
        raise RequestError(ErrorCode.FAILURE, 'there is no robot description yet')
    return measured


def start_posture(
    measured: MeasuredState,
    state: RobotState,
    used: np.ndarray | None = None,
    field: str = 'robot_state',
) -> tuple[np.ndarray, np.ndarray]:
    """
    Return the full posture that a request starts from.

    As with MoveIt, the measured state is overlaid by the positions given, whatever ``is_diff``
    says; velocities and efforts are not used. Joints that are neither measured nor given stand at
    :attr:`~ik_service.arm.arm.Arm.rest`.

    :param used: indices of the joints that the request uses, in the full posture: of the others
        NaN, as drivers send it for unmeasured joints, counts as not given; None for all.
    :returns: (m,) posture [rad] or [m], and the indices that the request gave.
    :raises RequestError: INVALID_ROBOT_STATE for an unknown joint, one named twice, lengths that
        differ, or a position that is NaN, infinite or beyond 1e6 rad or m.
    """
    posture = measured.posture()
    postures = measured.arm.postures
    joints = state.joint_state
    try:
        given = _overlay(postures, posture, joints, used)
        if state.multi_dof_joint_state.joint_names:
            _, more = read_multi_dof(measured.arm, state.multi_dof_joint_state, posture)
            given = np.union1d(given, np.array(more, dtype=given.dtype))
    except ArgumentError as error:
        raise invalid_state(f'{field}.{error}') from error
    except UnknownJointError as error:
        raise invalid_state(f'{field}.joint_state: {error}') from error
    return postures.complete(posture), given


def _overlay(
    postures: PostureSpace, posture: np.ndarray, joints: JointState, used: np.ndarray | None
) -> np.ndarray:
    try:
        return postures.overlay(posture, joints.name, joints.position)
    except ArgumentError:
        names, positions = _known_positions(postures, joints.name, joints.position, used)
        if len(names) == len(joints.name):
            raise
    return postures.overlay(posture, names, positions)


def _known_positions(
    postures: PostureSpace, names: Sequence[str], values: Sequence[float], used: np.ndarray | None
) -> tuple[Sequence[str], Sequence[float]]:
    """Return a joint state without the joints at NaN that do not matter; all where one does."""
    if used is None:
        return names, values
    check_lengths(names, values, 'joint_state')
    matter = set(used.tolist())
    indices = postures.indices(names).tolist()
    kept = [k for k, i in enumerate(indices) if i in matter or not np.isnan(values[k])]
    return [names[k] for k in kept], [values[k] for k in kept]


def bring_inside(
    arm: Arm,
    chosen: PreparedSolver | ArmGroup,
    posture: np.ndarray,
    among: np.ndarray | None = None,
    told: bool = False,
) -> list[str]:
    """
    Bring joints beside the chain inside their limits, unless they are ignored.

    :param posture: (m,) full posture [rad] or [m], changed in place.
    :param among: indices of the only joints that are checked; None for all.
    :param told: whether joints of the chain, which the solver brings inside, are reported too.
    :returns: the joints that were outside, with where they were.
    """
    if isinstance(chosen, PreparedSolver) and chosen.solver.options.joint_limits == 'ignore':
        return []
    return arm.postures.bring_inside(posture, chosen.indices, among, told)


def resolver_of(
    measured: MeasuredState, state: RobotState, posture: np.ndarray, frames: Frames
) -> FrameResolver:
    """
    Return the frame resolver of a request.

    :param state: the robot state of the request, which :func:`start_posture` has accepted.
    :param posture: (m,) the posture that it returned.
    """
    virtual: dict[str, np.ndarray] = {}
    if state.multi_dof_joint_state.joint_names:
        virtual, _ = read_multi_dof(measured.arm, state.multi_dof_joint_state, posture.copy())
    return FrameResolver(measured, posture, frames, virtual)


_APART = 1e-3
"""Distance from where it follows to at which the position given for a joint is wrong [rad, m]."""


def start_notes(
    measured: MeasuredState,
    state: RobotState,
    posture: np.ndarray,
    used: np.ndarray,
    given: np.ndarray,
    place: str = 'given',
) -> list[str]:
    """
    Return remarks on joints that are neither measured nor given, and on mimics given elsewhere.

    :param state: the robot state of the request, which :func:`start_posture` has accepted.
    :param posture: (m,) the posture in use [rad] or [m].
    :param used: indices of the joints that count, in the full posture.
    :param given: indices of those that the request gave.
    :param place: where they could be given, in words.
    """
    notes, postures, joints = [], measured.arm.postures, state.joint_state
    assumed = set(measured.unmeasured(used).tolist()).difference(given.tolist())
    if assumed:
        missing = ', '.join(postures.names[i] for i in used.tolist() if i in assumed)
        notes.append(f'neither measured nor {place}, so taken at mid-range: {missing}')
    followers = postures.followers
    elsewhere = [
        f'{name} at {value:.6g}'
        for name, value in zip(joints.name, joints.position, strict=True)
        if name in followers and abs(posture[followers[name]] - value) > _APART
    ]
    if elsewhere:
        what = 'given elsewhere than where they follow other joints to (<mimic>), and not used'
        notes.append(f'{what}: {", ".join(elsewhere)}')
    return notes
