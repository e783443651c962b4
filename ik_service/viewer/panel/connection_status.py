"""Whether the node and the arm are there, in words for the page."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

DIAGNOSTICS_PATIENCE = 3.5
"""Silence of a node that publishes diagnostics once a second after which it counts as gone [s]."""

CHANGE_PATIENCE = 1.0
"""Time that a change of parameters may take until the node counts as busy [s]."""

STATES_PATIENCE = 1.0
"""Age of the joint states from which on the arm counts as silent [s]."""


class Level(Enum):
    """How things stand."""

    GOOD = 'good'
    WAITING = 'waiting'
    BAD = 'bad'


@dataclass(frozen=True)
class ConnectionFacts:
    """
    What is known of the others on the graph; times on the monotonic clock [s].

    :ivar node: the full name of the node that offers ``compute_ik``; empty before one was seen.
    :ivar offered: whether ``compute_ik`` is on the graph now.
    :ivar diagnostics_at: when the node's diagnostics came last; None when they never did.
    :ivar changing_since: when the node was asked to change parameters, the oldest request that it
        has not answered; None when it has answered all.
    :ivar doing: what the node says that it does.
    :ivar worry: whether it says so with a warning or an error.
    :ivar states_at: when a joint state came last; None when none did.
    :ivar has_robot: whether the robot's description is known.
    :ivar complaint: why the robot cannot be shown; empty when it can.
    """

    node: str = ''
    offered: bool = False
    diagnostics_at: float | None = None
    changing_since: float | None = None
    doing: str = ''
    worry: bool = False
    states_at: float | None = None
    has_robot: bool = False
    complaint: str = ''


@dataclass(frozen=True)
class ConnectionStatus:
    """
    What the page says.

    :ivar level: how things stand.
    :ivar headline: in a few words.
    :ivar detail: in a sentence.
    :ivar node_is_there: whether the IK node can be asked.
    """

    level: Level
    headline: str
    detail: str
    node_is_there: bool


def connection_status(signs: ConnectionFacts, now: float) -> ConnectionStatus:
    """
    Judge what is known.

    :param now: on the monotonic clock [s].
    """
    silent = signs.diagnostics_at is not None and now - signs.diagnostics_at > DIAGNOSTICS_PATIENCE
    if signs.complaint:
        return ConnectionStatus(Level.BAD, 'The robot cannot be shown', signs.complaint, signs.offered)
    if signs.offered and _is_busy(signs, now):
        return ConnectionStatus(
            Level.WAITING,
            'The IK node is busy',
            f'with a change of parameters for {now - signs.changing_since:.0f} s; a solver that '
            'is chosen for the first time has to be compiled',
            True,
        )
    if not signs.offered or silent:
        return _without_node(signs, now)
    if not signs.has_robot:
        return ConnectionStatus(
            Level.WAITING,
            'Waiting for a robot description',
            'from the node, the topic robot_description, or the parameter urdf',
            True,
        )
    if signs.states_at is None or now - signs.states_at > STATES_PATIENCE:
        return _without_states(signs, now)
    level = Level.WAITING if signs.worry else Level.GOOD
    return ConnectionStatus(level, f'Connected to {signs.node}', signs.doing, True)


def _is_busy(signs: ConnectionFacts, now: float) -> bool:
    return signs.changing_since is not None and now - signs.changing_since > CHANGE_PATIENCE


def _without_node(signs: ConnectionFacts, now: float) -> ConnectionStatus:
    if not signs.node:
        return ConnectionStatus(
            Level.WAITING,
            'Waiting for an IK node',
            'no node on the ROS graph offers compute_ik yet',
            False,
        )
    since = '' if signs.diagnostics_at is None else f' for {now - signs.diagnostics_at:.0f} s'
    return ConnectionStatus(
        Level.BAD,
        'The IK node is gone',
        f'{signs.node} has not been heard{since}; this page goes on when it is back',
        False,
    )


def _without_states(signs: ConnectionFacts, now: float) -> ConnectionStatus:
    if signs.states_at is None:
        detail = 'nothing has arrived on joint_states yet'
    else:
        detail = f'joint_states has been silent for {now - signs.states_at:.0f} s'
    return ConnectionStatus(Level.BAD, 'No word from the arm', detail, True)
