"""Fixture that the tests of IkClient share."""

import pytest


@pytest.fixture
def client(bench):
    """Return a client at the node of the bench; tests of other settings have their own."""
    from ik_service.ros.clients import IkClient

    with IkClient(bench.node) as client:
        yield client
