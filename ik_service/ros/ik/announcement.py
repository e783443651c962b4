"""Lines of the log about an arm that has come into use."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.impl.rcutils_logger import RcutilsLogger

from ik_service.arm.arm import Arm
from ik_service.ros.following.followers import Followers
from ik_service.ros.ik.parameters import NodeParameters

_MOST_REMARKS = 50  # a description may come from anybody, and holds thousands of parts


def announce(
    log: RcutilsLogger,
    followers: Followers,
    old: Arm | None,
    parameters: NodeParameters,
    seconds: float,
) -> None:
    """
    Log that an arm is in use, and what it cannot do.

    :param log: the node's log.
    :param followers: the followers of the arm.
    :param old: the arm before; None for the first one.
    :param parameters: the node's parameters.
    :param seconds: time since the node was made [s].
    """
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
        log.warning(f'nothing is followed: {fault}')


def _log_remarks(log: RcutilsLogger, remarks: Sequence[str]) -> None:
    """Log what of the robot's description is not used."""
    for remark in remarks[:_MOST_REMARKS]:
        log.warning(f'robot description: {remark}')
    if len(remarks) > _MOST_REMARKS:
        log.warning(f'robot description: {len(remarks) - _MOST_REMARKS} more parts are not used')


def announce_late(log: RcutilsLogger, service: str, seconds: float) -> None:
    """
    Log that a service is offered later than the rest.

    :param log: the node's log.
    :param service: its name.
    :param seconds: time since the node was made [s].
    """
    log.info(f'{service} is offered after {seconds:.1f} s')
