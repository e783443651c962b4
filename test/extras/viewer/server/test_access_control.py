import socket

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

import viser
from websockets.asyncio import server as websockets_server

from ik_service.extras.viewer.server import access_control, page


def test_a_page_without_access_control_is_not_served(monkeypatch):
    class Unchecked(viser.ViserServer):
        """Starts its server by the function that was there before."""

        def __init__(self, **options):
            serve = websockets_server.serve
            websockets_server.serve = original
            try:
                super().__init__(**options)
            finally:
                websockets_server.serve = serve
            started.append(self)

    original, started = websockets_server.serve, []
    monkeypatch.setattr(page.viser, 'ViserServer', Unchecked)
    with pytest.raises(access_control.AccessControlError, match=r'install viser 1\.x'):
        page.serve('127.0.0.1', 0, False)
    with pytest.raises(OSError, match='refused'):  # it was stopped
        socket.create_connection(('127.0.0.1', started[0].get_port()), timeout=10.0)
    assert websockets_server.serve is original
