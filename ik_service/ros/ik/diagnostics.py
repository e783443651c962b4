"""What the node says of itself on ``diagnostics``."""

from __future__ import annotations

from collections.abc import Mapping

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from ik_service.common.request_statistics import RequestStatistics
from ik_service.following.settings import FollowerState
from ik_service.ros.following.follower_interface import FollowerInterface

_LEVELS = {
    FollowerState.UNREACHABLE: DiagnosticStatus.WARN,
    FollowerState.LAGGING: DiagnosticStatus.WARN,
    FollowerState.NO_STATE: DiagnosticStatus.WARN,
    FollowerState.TARGET_TIMED_OUT: DiagnosticStatus.WARN,
    FollowerState.STATE_STALE: DiagnosticStatus.ERROR,
    FollowerState.STATE_IMPLAUSIBLE: DiagnosticStatus.ERROR,
    FollowerState.TARGET_DROPPED: DiagnosticStatus.WARN,
    FollowerState.OTHER_COMMANDER: DiagnosticStatus.WARN,
    FollowerState.DISABLED: DiagnosticStatus.WARN,
}


def diagnostic_array(
    name: str,
    stamp: Time,
    waiting_for: str,
    refused: str,
    following: FollowerInterface | None,
    services: Mapping[str, RequestStatistics],
) -> DiagnosticArray:
    """
    Return the state of the node.

    :param name: the node's name, which begins the name of each part.
    :param stamp: now.
    :param waiting_for: what the node needs before it can work; empty when it has all.
    :param refused: why the last robot description was refused; empty when it was not.
    :param following: the arm in use; None without one.
    :param services: the statistics of each service by its name.
    """
    array = DiagnosticArray()
    array.header.stamp = stamp
    array.status = [_description(waiting_for, refused, following)]
    if following is not None:
        array.status.append(_following(following))
    array.status += [
        _status(service, DiagnosticStatus.OK, '', statistics.report())
        for service, statistics in services.items()
    ]
    for status in array.status:
        status.name = f'{name}: {status.name}'
    return array


def _description(
    waiting_for: str, refused: str, following: FollowerInterface | None
) -> DiagnosticStatus:
    values = {'refused': refused} if refused else {}
    if following is None:
        # With a refused description there is nothing to work with; else it is only early.
        level = DiagnosticStatus.ERROR if refused else DiagnosticStatus.WARN
        return _status('robot description', level, refused or waiting_for, values)
    arm = following.measured.arm
    values |= {
        'robot': arm.robot.name,
        'base_link': arm.chain.base_link,
        'tip_link': arm.chain.tip_link,
        'joints': ', '.join(arm.chain.joint_names),
    }
    if refused:
        message = f'a new description was refused, the old one stays: {refused}'
        return _status('robot description', DiagnosticStatus.WARN, message, values)
    return _status('robot description', DiagnosticStatus.OK, 'in use', values)


def _following(following: FollowerInterface) -> DiagnosticStatus:
    state = following.follower.state
    level = _LEVELS.get(state, DiagnosticStatus.OK)
    return _status('following', level, state.value, following.report())


def _status(name: str, level: bytes, message: str, values: Mapping[str, str]) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=level,
        name=name,
        message=message,
        hardware_id='',
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )
