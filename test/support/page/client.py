"""Clients of a page over real sockets: with whatever headers, and as a browser would be."""

import base64
from contextlib import contextmanager
import os
import socket
from urllib.parse import urlsplit

import msgspec
from support.harness import until
import viser
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from ik_service.extras.viewer import page

OWN = object()  # stands for the origin of the page itself
PORT = '{port}'  # stands for the port of the page


class Client:
    """Client that requests files and websockets of a page, which it connects to by a host."""

    def __init__(self, served, host='127.0.0.1'):
        self.served, self.host = served, host
        self.port = served.server.get_port()
        self.token = urlsplit(served.address).query.partition('=')[2]

    def ask(self, path='/', host=None, upgrade=None, origin=None, cookie=None, extra=()):
        """Return the status of an answer, its headers in lower case, and its body."""
        name = f'127.0.0.1:{PORT}' if host is None else host
        name = name.replace(PORT, str(self.port))
        origin = f'http://{name}' if origin is OWN else origin
        lines = [f'GET {path} HTTP/1.1', f'Host: {name}']
        if upgrade:
            lines += ['Connection: Upgrade', f'Upgrade: {upgrade}', 'Sec-WebSocket-Version: 13']
            lines += [f'Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}']
            lines += [f'Sec-WebSocket-Protocol: viser-v{viser.__version__}']
        if origin is not None:
            lines += [f'Origin: {origin.replace(PORT, str(self.port))}']
        if cookie is not None:
            lines += [f'Cookie: {cookie}']
        request = '\r\n'.join([*lines, *extra, '', '']).encode('latin-1')
        with socket.create_connection((self.host, self.port), timeout=60.0) as connection:
            connection.sendall(request)
            return read_answer(connection, whole=not upgrade)

    def opens(self, upgrade='websocket', **headers):
        """Whether a websocket is opened."""
        return self.ask(upgrade=upgrade, **headers)[0] == 101


def is_ended(connection):
    """Whether a connection ends, after all that it still brings."""
    while connection.recv(65536):
        pass
    return True


def read_answer(connection, whole):
    """Return the status, the headers in lower case, and the body that a connection brings."""
    data = b''
    while whole or b'\r\n\r\n' not in data:
        part = connection.recv(65536)
        if not part:
            break
        data += part
    head, _, body = data.partition(b'\r\n\r\n')
    status, *lines = head.decode('latin-1').split('\r\n')
    headers = dict(line.split(': ', 1) for line in lines)
    return int(status.split()[1]), {k.lower(): v for k, v in headers.items()}, body


@contextmanager
def serving(host='127.0.0.1', allowed=(), refusals=None):
    """Serve a page for a ``with`` block; refusals are added to a list."""
    report = (lambda _: None) if refusals is None else refusals.append
    served = page.serve(host, 0, False, allowed, report)
    try:
        yield Client(served, {'0.0.0.0': '127.0.0.1', '::': '::1'}.get(host, host))
    finally:
        page.close(served.server)


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
        opened = PageSocket(connection)
        opened.send(**_CAMERA)  # from then on viser counts it as a page
        until(lambda: len(served.server.get_clients()) > known, what='a page')
        yield opened
