from dataclasses import replace

import pytest

from ik_service.extras.viewer.link.node_monitor import (
    connection_status,
    ConnectionFacts,
    DIAGNOSTICS_TIMEOUT,
    Level,
    STATES_TIMEOUT,
)

NOW = 100.0
CONNECTED = ConnectionFacts(
    node='/ik_service',
    is_offered=True,
    diagnostics_at=NOW - 0.5,
    activity='all is well',
    states_at=NOW - 0.01,
    has_robot=True,
)


def test_all_connected():
    status = connection_status(CONNECTED, NOW)
    assert (status.level, status.headline) == (Level.GOOD, 'Connected to /ik_service')
    assert status.detail == 'all is well'
    assert status.is_connected


def test_a_warning_of_the_node_shows():
    assert connection_status(replace(CONNECTED, is_warning=True), NOW).level is Level.WAITING


@pytest.mark.parametrize(
    ('change', 'level', 'words', 'is_connected'),
    [
        ({'node': '', 'is_offered': False}, Level.WAITING, 'Waiting for an IK node', False),
        ({'is_offered': False}, Level.BAD, 'The IK node is gone', False),
        (
            {'diagnostics_at': NOW - DIAGNOSTICS_TIMEOUT - 0.1},
            Level.BAD,
            'The IK node is gone',
            False,
        ),
        ({'has_robot': False}, Level.WAITING, 'Waiting for a robot description', True),
        ({'states_at': None}, Level.BAD, 'No joint states', True),
        ({'states_at': NOW - STATES_TIMEOUT - 0.1}, Level.BAD, 'No joint states', True),
        ({'robot_error': 'no mesh'}, Level.BAD, 'The robot cannot be shown', True),
    ],
)
def test_the_status_names_what_is_missing(change, level, words, is_connected):
    status = connection_status(replace(CONNECTED, **change), NOW)
    assert (status.level, status.headline, status.is_connected) == (level, words, is_connected)
    assert status.detail


def test_a_node_without_diagnostics_is_connected_as_long_as_it_offers_its_service():
    assert connection_status(replace(CONNECTED, diagnostics_at=None), NOW).level is Level.GOOD
    gone = connection_status(replace(CONNECTED, diagnostics_at=None, is_offered=False), NOW)
    assert gone.headline == 'The IK node is gone'
