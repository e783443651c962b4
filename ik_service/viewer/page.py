"""The server of the page."""

from __future__ import annotations

from contextlib import redirect_stdout
import io
import socket

from ik_service.exceptions import MissingExtraError
from ik_service.viewer.ports import free_port, PortError

try:
    import viser
except ImportError as error:
    raise MissingExtraError('viser', 'viewer') from error

_BRAND = (25, 113, 194)


def serve(host: str, port: int, search: bool) -> viser.ViserServer:
    """
    Start to serve an empty page.

    :param host: address of this machine to bind.
    :param port: TCP port; 0 for any free one.
    :param search: whether the next free port will do when that one is busy.
    :raises PortError: the port is busy, or the address is none of this machine's.
    """
    # viser would take another port without asking, and wait for ever for an address that is not
    # this machine's.
    free = free_port(host, port, search)
    with redirect_stdout(io.StringIO()):  # it prints a box, with an address in it that is not ours
        server = viser.ViserServer(host=host, port=free, label='ik_service', verbose=False)
    if server.get_port() != free and not search:
        close(server)
        raise PortError(f'port {free} of {host} was taken by another program just now')
    server.gui.configure_theme(
        control_width='large', show_logo=False, show_share_button=False, brand_color=_BRAND
    )
    server.gui.main_panel.dock_right()
    return server


def close(server: viser.ViserServer) -> None:
    """Stop to serve the page."""
    with redirect_stdout(io.StringIO()):  # it prints that it has stopped
        server.stop()


def address(server: viser.ViserServer) -> str:
    """Return what to type into a browser."""
    host = server.get_host()
    if host in ('0.0.0.0', '::', ''):
        host = socket.gethostname()
    return f'http://{f"[{host}]" if ":" in host else host}:{server.get_port()}'
