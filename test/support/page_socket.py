"""Page of a browser without the browser: a websocket that sends what viser's program would."""

from __future__ import annotations

from contextlib import contextmanager

import msgspec
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from support.harness import until

_CAMERA = {
    'type': 'ViewerCameraMessage',
    'wxyz': [1.0, 0.0, 0.0, 0.0],
    'position': [1.0, 1.0, 1.0],
    'fov': 1.0,
    'near': 0.1,
    'far': 10.0,
    'image_height': 100,
    'image_width': 100,
    'look_at': [0.0, 0.0, 0.0],
    'up_direction': [0.0, 0.0, 1.0],
}


class PageSocket:
    """
    Websocket of a page.

    :param connection: the websocket.
    """

    def __init__(self, connection):
        self._connection = connection

    def send(self, **message):
        self._connection.send(msgspec.msgpack.encode(message))

    def hold(self, button, rate):
        """Say that a button is held."""
        self.send(type='GuiButtonHoldMessage', uuid=button._impl.uuid, frequency=rate)

    def click(self, button):
        """Say that a button was clicked, or released."""
        self.send(type='GuiUpdateMessage', uuid=button._impl.uuid, updates={'value': True})

    def close(self):
        self._connection.close()


@contextmanager
def page_socket(served, origin=None):
    """Open the websocket of a page; None instead where it is refused."""
    port = served.server.get_port()
    known = len(served.server.get_clients())
    try:
        connection = connect(
            f'ws://127.0.0.1:{port}',
            origin=Origin(origin or f'http://127.0.0.1:{port}'),
            subprotocols=[Subprotocol(f'viser-v{viser.__version__}')],
            max_size=None,
        )
    except InvalidStatus:
        yield None
        return
    with connection:
        socket = PageSocket(connection)
        socket.send(**_CAMERA)  # from then on viser counts it as a page
        until(lambda: len(served.server.get_clients()) > known, 10.0, 'a page')
        yield socket
