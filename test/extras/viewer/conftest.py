"""Fixtures for the tests of the page."""

import pytest


@pytest.fixture
def server():
    """The server of an empty page."""
    pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")
    from ik_service.extras.viewer import page

    served = page.serve('127.0.0.1', 0, False)
    yield served.server
    page.close(served.server)
