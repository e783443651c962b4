"""Checks of ``move_action``: the arm moves, or stays where it is, and comes to rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
import threading
import time
from typing import Any
import zlib

from moveit_msgs import action
from moveit_msgs.msg import MoveItErrorCodes as Code
import numpy as np
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState

from ik_service.extras.conformance.answers import (
    CheckFailedError,
    code_name,
    JOINT_STATES,
    MOVE,
    moveit_type,
    NotSupportedError,
    offset,
    require_error,
    require_success,
)
from ik_service.extras.conformance.check import Section
from ik_service.extras.conformance.checks.collisions import random_states
from ik_service.extras.conformance.checks.plans import (
    is_valid,
    joint_goal,
    motion_request,
    pose_goal,
)
from ik_service.extras.conformance.connection import SentGoal
from ik_service.extras.conformance.subject import largest_step, once, Posture, Subject, TestedArm

MOTIONS = Section('motions')
_STEP = 0.2  # motion of the joint that moves most [rad] or [m]
_AROUND = 0.6  # by which no joint may leave the start during a motion to a pose [rad] or [m]
_SCALING, _SLOW = 0.2, 0.05  # factors of velocity and acceleration
_LONGEST = 60.0  # of a motion [s], beyond the patience
_TRIES = 20  # directions
_ARRIVED = 0.02  # of every joint from its goal [rad] or [m]
_POSITION_ARRIVED, _ANGLE_ARRIVED = 0.01, 0.05  # of the tip [m], [rad]
_STILL = 0.005  # by which an arm that stays may move, and that has begun to move does [rad] or [m]
_SETTLING = 0.5  # in which the arm comes to rest after a result [s]
_PAUSE = 0.5  # in which an arm at rest is watched [s]
_PERIOD = 0.02  # between two looks [s]


@MOTIONS.check('PlanningOptions: plan_only')
def _move_plan_only(subject: Subject) -> str:
    """With plan_only a trajectory comes back, and nothing moves."""
    asked = 'a goal with plan_only'
    with _from_start(subject) as start, _staying(subject, asked):
        goal = _goal(subject, joint_goal(subject, _near(subject, start)))
        goal.planning_options.plan_only = True
        result = _sent(subject, goal, asked).result(subject.connection.patience)
        require_success(result.error_code.val, asked)
        points = result.planned_trajectory.joint_trajectory.points
        if len(points) < 2:
            came = f'SUCCESS with {len(points)} points'
            raise CheckFailedError(asked, came, 'a planned_trajectory')
    return f'{len(points)} points'


@MOTIONS.check("MoveIt's server: move_action")
def _move_there(subject: Subject) -> str:
    """A goal where the arm is is a SUCCESS, and nothing moves."""
    asked = 'a goal where the arm is'
    with _from_start(subject) as start, _staying(subject, asked):
        result = _moved(subject, joint_goal(subject, start), asked)
        require_success(result.error_code.val, asked)
    return 'nothing moves'


@MOTIONS.check('MoveGroup')
def _move_joints(subject: Subject) -> str:
    """After SUCCESS the measured joints are at the joint goal."""
    asked = 'a motion to a joint goal'
    with _from_start(subject) as start:
        goal = _near(subject, start)
        result = _moved(subject, joint_goal(subject, goal), asked)
        require_success(result.error_code.val, asked)
        _require(
            subject,
            lambda at: largest_step(at, goal, subject.arm.joint_names) < _ARRIVED,
            asked,
            'SUCCESS, and joints that do not get to the goal',
            'joints at the goal',
        )
    return f'planned in {result.planning_time * 1e3:.3g} ms'


@MOTIONS.check('MoveGroup')
def _move_pose(subject: Subject) -> str:
    """After SUCCESS the measured joints put the tip at the pose."""
    asked, tip = 'a motion to a pose', subject.single_tip()
    with _from_start(subject) as start:
        T = subject.links_at(_near(subject, start))[tip]

        def is_there(at: Posture) -> bool:
            distance, angle = offset(subject.links_at(at)[tip], T)
            return distance < _POSITION_ARRIVED and angle < _ANGLE_ARRIVED

        goal = _goal(subject, pose_goal(subject, T))
        goal.request.path_constraints = joint_goal(subject, start, _AROUND)
        result = _sent(subject, goal, asked).result(subject.connection.patience + _LONGEST)
        require_success(result.error_code.val, asked)
        _require(subject, is_there, asked, f'SUCCESS, and {tip} elsewhere', f'{tip} at the pose')
    return f'planned in {result.planning_time * 1e3:.3g} ms'


@MOTIONS.check('MoveGroup; GetStateValidity')
def _move_goal_collides(subject: Subject) -> str:
    """A goal that is not valid is an error, and nothing moves."""
    asked = 'a motion to a posture that is not valid'
    with _from_start(subject) as start:
        _, invalid = random_states(subject)
        names = subject.arm.joint_names
        goals = ({**start, **{name: each[name] for name in names}} for each in invalid)
        goal = next((each for each in goals if not is_valid(subject, each)), None)
        if goal is None:
            raise NotSupportedError('check_state_validity finds no posture not valid')
        with _staying(subject, asked):
            return require_error(
                _moved(subject, joint_goal(subject, goal), asked).error_code.val, asked
            )


@MOTIONS.check('MoveGroup')
def _move_pipeline(subject: Subject) -> str:
    """An unknown pipeline_id is an error, and nothing moves."""
    asked = 'a motion with an unknown pipeline_id'
    with _from_start(subject) as start, _staying(subject, asked):
        goal = _goal(subject, joint_goal(subject, _near(subject, start)))
        goal.request.pipeline_id = 'there_is_no_such_name'
        result = _sent(subject, goal, asked).result(subject.connection.patience + _LONGEST)
        return require_error(result.error_code.val, asked)


@MOTIONS.check("MoveIt's server: move_action")
def _move_cancel(subject: Subject) -> str:
    """A motion that is canceled ends as PREEMPTED, with the arm at rest before the goal."""
    asked = 'a slow motion, canceled on its way'
    names = subject.arm.joint_names
    with _from_start(subject) as start:
        end = _near(subject, start)
        goal = _goal(subject, joint_goal(subject, end), _SLOW)
        sent, joints = _sent(subject, goal, asked), _joints_of(subject)
        subject.connection.waited_for(
            lambda: sent.ended or largest_step(joints.posture(), start, names) > _STILL, _LONGEST
        )
        if sent.ended:
            came = code_name(sent.result(0.0).error_code.val)
            raise CheckFailedError('a slow motion', f'{came} before it moves', 'a motion')
        sent.cancel()
        began = time.monotonic()
        code = sent.result(subject.connection.patience + _LONGEST).error_code.val
        seconds = time.monotonic() - began
        require_error(code, asked, Code.PREEMPTED)
        _require_rest(subject, asked)
        if largest_step(joints.posture(), end, names) < _ARRIVED:
            raise CheckFailedError(asked, 'joints at the goal', 'joints at rest before it')
    return f'PREEMPTED after {seconds:.2g} s, at rest'


@contextmanager
def _from_start(subject: Subject) -> Iterator[Posture]:
    """Yield where the arm is, and bring it back there after the ``with`` block."""
    if not subject.settings.move:
        raise NotSupportedError('it moves the arm: --move')
    subject.single_tip()
    joints, patience = _joints_of(subject), subject.connection.patience
    if not joints.wait(patience):
        missing, again = ', '.join(joints.missing()), joints.waited_in_vain
        joints.waited_in_vain = True
        raise NotSupportedError(
            'no joint states, as in the check before'
            if again
            else f'no joint state of {missing} on {joints.topic} in {patience:g} s'
        )
    start = joints.posture()
    try:
        yield start
    except CheckFailedError:
        with suppress(CheckFailedError):
            _go_back(subject, start)
        raise
    _go_back(subject, start)


def _go_back(subject: Subject, start: Posture) -> None:
    at = _joints_of(subject).posture()
    if largest_step(at, start, subject.arm.joint_names) > _STILL:
        asked = 'a motion back to where the arm began'
        result = _moved(subject, joint_goal(subject, start), asked)
        time.sleep(_SETTLING)  # before the next check reads the arm's position
        require_success(result.error_code.val, asked)


@contextmanager
def _staying(subject: Subject, asked: str) -> Iterator[None]:
    """Make sure that the arm stays where it is in a ``with`` block, and shortly after."""
    joints, names = _joints_of(subject), subject.arm.joint_names
    start = joints.posture()
    yield
    time.sleep(_PAUSE)
    away = largest_step(joints.posture(), start, names)
    if away > _STILL:
        raise CheckFailedError(asked, f'a motion of {away:.3g} rad or m', 'no motion')


@once
def _joints_of(subject: Subject) -> MeasuredJoints:
    return MeasuredJoints(subject.connection.node, subject.arm)


def _near(subject: Subject, start: Posture) -> Posture:
    """Return a valid posture near where the arm is, with a valid midpoint too."""
    rng = np.random.default_rng(zlib.crc32(b'motions'))
    for _ in range(_TRIES):
        moved = subject.arm.moved(start, rng, _STEP)
        goal = {**start, **{name: moved[name] for name in subject.arm.joint_names}}
        halfway = {name: 0.5 * (start[name] + goal[name]) for name in start}
        if is_valid(subject, goal) and is_valid(subject, halfway):
            return goal
    raise NotSupportedError(f'none of {_TRIES} postures near where the arm is is valid')


def _goal(subject: Subject, goal: Any, scaling: float = _SCALING) -> Any:  # noqa: ANN401
    made = moveit_type(action, 'MoveGroup').Goal(request=motion_request(subject, goal))
    made.request.max_velocity_scaling_factor = scaling
    made.request.max_acceleration_scaling_factor = scaling
    made.planning_options.planning_scene_diff.is_diff = True
    made.planning_options.planning_scene_diff.robot_state.is_diff = True
    return made


def _sent(subject: Subject, goal: Any, asked: str) -> SentGoal:  # noqa: ANN401
    kind = moveit_type(action, 'MoveGroup')
    return subject.connection.send_goal(kind, MOVE, goal, asked)


def _moved(subject: Subject, goal: Any, asked: str) -> Any:  # noqa: ANN401
    patience = subject.connection.patience + _LONGEST
    return _sent(subject, _goal(subject, goal), asked).result(patience)


def _require(
    subject: Subject, holds: Callable[[Posture], bool], asked: str, came: str, expected: str
) -> None:
    """Make sure that something holds of the measured joints when they have settled."""
    time.sleep(_SETTLING)
    if not holds(_joints_of(subject).posture()):
        raise CheckFailedError(asked, came, expected)


def _require_rest(subject: Subject, asked: str) -> None:
    joints, names = _joints_of(subject), subject.arm.joint_names
    time.sleep(_SETTLING)
    before, until = joints.posture(), time.monotonic() + _PAUSE
    while time.monotonic() < until:
        away = largest_step(joints.posture(), before, names)
        if away > _STILL:
            raise CheckFailedError(asked, 'PREEMPTED, and joints that move on', 'joints at rest')
        time.sleep(_PERIOD)


class MeasuredJoints:
    """Measured positions of several publishers together, of a node that another thread spins."""

    def __init__(self, node: Node, arm: TestedArm) -> None:
        self._arm = arm
        self._positions: dict[str, float] = {}
        self._news = threading.Condition()
        self._began = time.monotonic()
        self.waited_in_vain = False
        self.topic: str = node.create_subscription(
            JointState, JOINT_STATES, self._on_state, qos_profile_sensor_data
        ).topic_name

    def wait(self, patience: float) -> bool:
        """Wait until some seconds after the start for all joints; return whether all have come."""
        until = self._began + patience
        with self._news:
            while self.missing():
                if not self._news.wait(max(until - time.monotonic(), 0.0)):
                    return False
        return True

    def missing(self) -> list[str]:
        """Return the joints of the arm that no joint state has named."""
        return [name for name in self._arm.joint_names if name not in self._positions]

    def posture(self) -> Posture:
        """Return the latest positions; joints that are not measured stand next to 0."""
        with self._news:
            return self._arm.completed(self._positions)

    def _on_state(self, message: JointState) -> None:
        with self._news:
            self._positions.update(zip(message.name, message.position, strict=False))
            self._news.notify_all()
