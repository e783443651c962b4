from dataclasses import replace

import pytest

from ik_service.viewer.panel.connection_status import (
    DIAGNOSTICS_PATIENCE,
    Level,
    connection_status,
    ConnectionFacts,
    STATES_PATIENCE,
)

NOW = 100.0
WELL = ConnectionFacts(
    node='/ik_service',
    offered=True,
    diagnostics_at=NOW - 0.5,
    doing='all is well',
    states_at=NOW - 0.01,
    has_robot=True,
)


def test_all_is_well():
    found = connection_status(WELL, NOW)
    assert (found.level, found.headline) == (Level.GOOD, 'Connected to /ik_service')
    assert found.detail == 'all is well'
    assert found.node_is_there


def test_a_worry_of_the_node_shows():
    assert connection_status(replace(WELL, worry=True), NOW).level is Level.WAITING


@pytest.mark.parametrize(
    ('change', 'level', 'words', 'is_there'),
    [
        ({'node': '', 'offered': False}, Level.WAITING, 'Waiting for an IK node', False),
        ({'offered': False}, Level.BAD, 'The IK node is gone', False),
        (
            {'diagnostics_at': NOW - DIAGNOSTICS_PATIENCE - 0.1},
            Level.BAD,
            'The IK node is gone',
            False,
        ),
        ({'has_robot': False}, Level.WAITING, 'Waiting for a robot description', True),
        ({'states_at': None}, Level.BAD, 'No word from the arm', True),
        ({'states_at': NOW - STATES_PATIENCE - 0.1}, Level.BAD, 'No word from the arm', True),
        ({'complaint': 'no mesh'}, Level.BAD, 'The robot cannot be shown', True),
    ],
)
def test_what_is_missing_is_said(change, level, words, is_there):
    found = connection_status(replace(WELL, **change), NOW)
    assert (found.level, found.headline, found.node_is_there) == (level, words, is_there)
    assert found.detail


def test_a_node_without_diagnostics_is_there_as_long_as_it_offers_its_service():
    assert connection_status(replace(WELL, diagnostics_at=None), NOW).level is Level.GOOD
    gone = connection_status(replace(WELL, diagnostics_at=None, offered=False), NOW)
    assert gone.headline == 'The IK node is gone'
