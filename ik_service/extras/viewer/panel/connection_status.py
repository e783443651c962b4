"""Status of the connection to the IK node and the arm, in words for the page."""

from __future__ import annotations

from dataclasses import dataclass

from ik_service.extras.viewer.panel.status_text import Level, StatusText

DIAGNOSTICS_TIMEOUT = 3.5
"""Silence after which a node that publishes diagnostics once a second counts as gone [s]."""

CHANGE_TIMEOUT = 1.0
"""Time that a change of parameters may take until the node counts as busy [s]."""

STATES_TIMEOUT = 1.0
"""Age of the joint states from which on the arm counts as silent [s]."""


@dataclass(frozen=True)
class ConnectionFacts:
    """
    Observations of the node and the arm; times on the monotonic clock [s].

    :ivar node: full name of the node that offers ``compute_ik``; empty before one was seen.
    :ivar is_offered: whether ``compute_ik`` is on the graph now.
    :ivar diagnostics_at: time of the node's last diagnostics; None without any.
    :ivar changing_since: time of the oldest change of parameters that the node has not answered;
        None when it has answered all.
    :ivar activity: what the node reports to be doing.
    :ivar is_warning: whether it reports so with a warning or an error.
    :ivar states_at: time of the last joint state; None without any.
    :ivar has_robot: whether the robot's description is known.
    :ivar robot_error: why the robot cannot be shown; empty when it can.
    """

    node: str = ''
    is_offered: bool = False
    diagnostics_at: float | None = None
    changing_since: float | None = None
    activity: str = ''
    is_warning: bool = False
    states_at: float | None = None
    has_robot: bool = False
    robot_error: str = ''


@dataclass(frozen=True)
class ConnectionStatus(StatusText):
    """
    Status that the page shows.

    :ivar is_connected: whether the IK node takes requests.
    """

    is_connected: bool = False


def connection_status(facts: ConnectionFacts, now: float) -> ConnectionStatus:
    """
    Return the status that observations amount to.

    :param facts: the observations.
    :param now: on the monotonic clock [s].
    """
    heard_at = facts.diagnostics_at
    is_silent = heard_at is not None and now - heard_at > DIAGNOSTICS_TIMEOUT
    if facts.robot_error:
        return ConnectionStatus(
            Level.BAD, 'The robot cannot be shown', facts.robot_error, facts.is_offered
        )
    since = facts.changing_since
    if facts.is_offered and since is not None and now - since > CHANGE_TIMEOUT:
        return ConnectionStatus(
            Level.WAITING,
            'The IK node is busy',
            f'changing parameters for {now - since:.0f} s; a solver that is chosen for the first '
            'time has to be compiled',
            True,
        )
    if not facts.is_offered or is_silent:
        return _without_node(facts, now)
    if not facts.has_robot:
        return ConnectionStatus(
            Level.WAITING,
            'Waiting for a robot description',
            'from the node, the topic robot_description, or the parameter urdf',
            True,
        )
    if facts.states_at is None or now - facts.states_at > STATES_TIMEOUT:
        return _without_states(facts, now)
    level = Level.WAITING if facts.is_warning else Level.GOOD
    return ConnectionStatus(level, f'Connected to {facts.node}', facts.activity, True)


def _without_node(facts: ConnectionFacts, now: float) -> ConnectionStatus:
    if not facts.node:
        return ConnectionStatus(
            Level.WAITING,
            'Waiting for an IK node',
            'no node on the ROS graph offers compute_ik yet',
            False,
        )
    since = '' if facts.diagnostics_at is None else f' for {now - facts.diagnostics_at:.0f} s'
    return ConnectionStatus(
        Level.BAD,
        'The IK node is gone',
        f'nothing received from {facts.node}{since}; this page continues when it is back',
        False,
    )


def _without_states(facts: ConnectionFacts, now: float) -> ConnectionStatus:
    if facts.states_at is None:
        detail = 'nothing received on joint_states yet'
    else:
        detail = f'nothing received on joint_states for {now - facts.states_at:.0f} s'
    return ConnectionStatus(Level.BAD, 'No joint states', detail, True)
