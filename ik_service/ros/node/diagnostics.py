"""Diagnostics of the node, and its log of an arm that is in use from now on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.node import Node

from ik_service.arm.arm import Arm
from ik_service.arm.loader import DescriptionFault
from ik_service.motion.settings import FollowerState
from ik_service.robot import Robot
from ik_service.ros.motion.followers import Followers
from ik_service.ros.node.parameters import NodeParameters
from ik_service.ros.requests.service_handler import RequestStatistics, SolveRecord
from ik_service.ros.scene.collision_world import CollisionWorld

_SHOWN_REMARKS = 3  # the log has them all
_GOOD = (
    FollowerState.IDLE,
    FollowerState.FOLLOWING,
    FollowerState.REACHED,
    FollowerState.RELEASED,
    FollowerState.TRAJECTORY,
    FollowerState.SERVO,
)
_BAD = FollowerState.STATE_STALE, FollowerState.STATE_IMPLAUSIBLE


class DiagnosticsPublisher:
    """
    Publisher of the diagnostics of a node.

    :param node: the node; its name begins the name of each part.
    :param motions: returns names and values about the motion interfaces besides targets.
    """

    def __init__(
        self,
        node: Node,
        services: Mapping[str, RequestStatistics],
        collisions: CollisionWorld,
        motions: Callable[[], Mapping[str, str]],
    ) -> None:
        self._motions = motions
        self._node = node
        self._services = services
        self._collisions = collisions
        self._publisher = node.create_publisher(DiagnosticArray, 'diagnostics', 10)

    def publish(
        self, waiting_for: str, fault: DescriptionFault, followers: Followers | None
    ) -> None:
        """Publish the diagnostics; without an arm, there are no followers."""
        array = DiagnosticArray()
        array.header.stamp = self._node.get_clock().now().to_msg()
        array.status = [_description(waiting_for, fault, followers)]
        if followers is not None:
            named = {'following': followers.default}
            named |= {f'following {name}': each for name, each in followers.others.items()}
            for name, following in named.items():
                state, values = following.follower.state, followers.reports[following].values()
                array.status.append(_status(name, _level(state), state.value, values))
        array.status.append(_status('motions', DiagnosticStatus.OK, '', self._motions()))
        array.status += [
            _status(service, DiagnosticStatus.OK, '', statistics.report())
            for service, statistics in self._services.items()
        ]
        array.status.append(self._collision_checks())
        last = self._last_solve(followers)
        if last is not None:
            array.status.append(_status('last solve', DiagnosticStatus.OK, '', solve_values(last)))
        for status in array.status:
            status.name = f'{self._node.get_name()}: {status.name}'
        self._publisher.publish(array)

    def _collision_checks(self) -> DiagnosticStatus:
        fault, required = self._collisions.fault, self._collisions.required
        level = DiagnosticStatus.WARN if fault and required else DiagnosticStatus.OK
        message = fault or 'robot and world are checked'
        return _status('collisions', level, message, self._collisions.report())

    def _last_solve(self, followers: Followers | None) -> SolveRecord | None:
        solves = [statistics.last_solve for statistics in self._services.values()]
        solves += [following.last_solve for following in followers or ()]
        known = [solve for solve in solves if solve is not None]
        return max(known, key=lambda solve: solve.stamp.nanoseconds, default=None)


def _level(state: FollowerState) -> bytes:
    if state in _BAD:
        return DiagnosticStatus.ERROR
    return DiagnosticStatus.OK if state in _GOOD else DiagnosticStatus.WARN


def _description(
    waiting_for: str, fault: DescriptionFault, followers: Followers | None
) -> DiagnosticStatus:
    refused = fault.reason
    values = {'refused': refused} if refused and not fault.in_use else {}
    if followers is None:
        # With a refused description there is nothing to work with; else it is only early.
        level = DiagnosticStatus.ERROR if refused else DiagnosticStatus.WARN
        return _status('robot description', level, refused or waiting_for, values)
    arm = followers.arm
    values |= {
        'robot': arm.robot.name,
        'base_link': arm.chain.base_link,
        'tip_link': arm.chain.tip_link,
        'joints': ', '.join(arm.chain.joint_names),
        **_remark_values(arm.robot),
    }
    if refused:
        message = (
            f'in use, but incomplete: {refused}'
            if fault.in_use
            else f'a new description was refused; the previous one remains in use: {refused}'
        )
        return _status('robot description', DiagnosticStatus.WARN, message, values)
    return _status('robot description', DiagnosticStatus.OK, 'in use', values)


def _remark_values(robot: Robot) -> dict[str, str]:
    """Return how many parts of the description are not used, the first, and refused groups."""
    remarks, refused = robot.remarks, robot.refused_groups
    first = {f'remark {i}': text for i, text in enumerate(remarks[:_SHOWN_REMARKS], start=1)}
    groups = {f'refused group {name}': reason for name, reason in refused.items()}
    return {'remarks': str(len(remarks)), **first, **groups}


def _status(name: str, level: bytes, message: str, values: Mapping[str, str]) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=level,
        name=name,
        message=message,
        hardware_id='',
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )


def solve_values(record: SolveRecord) -> dict[str, str]:
    """
    Return a solve as keys and values of the diagnostics; all numbers are plain decimal numbers.

    ``last_solve.stamp`` is the ROS time at its end [s], ``last_solve.solve_time`` is in [s],
    ``last_solve.position_error`` in [m] and ``last_solve.orientation_error`` in [rad];
    ``last_solve.status`` is the name of an :class:`~ik_service.IkStatus`.
    """
    result = record.result
    seconds, nanoseconds = divmod(record.stamp.nanoseconds, 10**9)
    return {
        'last_solve.stamp': f'{seconds}.{nanoseconds:09d}',
        'last_solve.source': record.source,
        'last_solve.solver': record.solver,
        'last_solve.status': result.status.name,
        'last_solve.iterations': str(int(result.iterations)),
        'last_solve.searches': str(int(result.searches)),
        'last_solve.solve_time': repr(float(result.solve_time)),
        'last_solve.position_error': repr(float(result.position_error)),
        'last_solve.orientation_error': repr(float(result.orientation_error)),
    }


_MOST_REMARKS = 50  # a description may come from anybody, and holds thousands of parts


def announce(
    log: RcutilsLogger,
    followers: Followers,
    old: Arm | None,
    parameters: NodeParameters,
    seconds: float,
) -> None:
    """Log that an arm is in use after a time [s], and its limitations; old: the one before."""
    arm, chain = followers.arm, followers.arm.chain
    what = f'{arm.robot.name}, {chain.base_link} to {chain.tip_link}, {chain.n} joints'
    if old is None:
        text = f'ready after {seconds:.1f} s: {what}, {parameters.solver.name}'
    else:
        same = arm.described is old.described
        news = 'other parameters of the arm' if same else 'the new robot description'
        text = f'ready with {news}: {what}; not following any target'
    log.info(text)
    known = old.robot.remarks if old is not None and arm.described is old.described else ()
    _log_remarks(log, [remark for remark in arm.robot.remarks if remark not in known])
    immobile = followers.immobile_joints
    if immobile:
        log.warning(
            f'not moved, because their velocity limit is 0: {", ".join(immobile)} '
            '(velocity="0" in the robot description, or in joint_limits)'
        )
    fault = followers.collision_fault(parameters.follower)
    if fault:
        log.warning(f'targets are not followed: {fault}')


def _log_remarks(log: RcutilsLogger, remarks: Sequence[str]) -> None:
    for remark in remarks[:_MOST_REMARKS]:
        log.warning(f'robot description: {remark}')
    if len(remarks) > _MOST_REMARKS:
        log.warning(
            f'robot description: {len(remarks) - _MOST_REMARKS} further parts are not used'
        )
