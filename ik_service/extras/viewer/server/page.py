"""Server of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
import errno
import io
import secrets
import socket

from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.extras.viewer.server.access_policy import access_policy, AccessPolicy, EVERYWHERE

_TRIES = 100
_HIGHEST = 65535


class PortError(IkServiceError):
    """Error about a port or an address that the page cannot be served at."""


def free_port(host: str, port: int, search: bool) -> int:
    """
    Return a port that can be bound.

    :param search: whether the next free one is taken when it is in use.
    :raises PortError: it is in use, or the address is none of this machine's.
    """
    last = min(port + _TRIES, _HIGHEST) if search and port else port
    for candidate in range(port, last + 1):
        try:
            return _bound(host, candidate)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise PortError(
                    f'the page cannot be served at {host}:{candidate}: {error.strerror or error}'
                ) from error
            reason = 'in use' if error.errno == errno.EADDRINUSE else 'not allowed'
    if search:
        raise PortError(f'no port from {port} to {last} of {host} is free')
    raise PortError(
        f'port {port} of {host} is {reason}; set the parameter port to another one, or '
        'port_search to true to take the next free one'
    )


def _bound(host: str, port: int) -> int:
    """Bind a port for a moment; return its number."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do
        probe.bind(address)
        return probe.getsockname()[1]


try:
    import viser

    from ik_service.extras.viewer.server.access_control import access_control, AccessControlError
except ImportError as error:
    raise MissingExtraError('viser', 'viewer') from error

_PANEL_WIDTH = 390  # so that all tabs fit into one row [px]
_BRAND = (25, 113, 194)
_TOKEN_BYTES = 24


@dataclass(frozen=True)
class Page:
    """
    Page that is served.

    :ivar address: its address for a browser, with the token where one is required.
    """

    server: viser.ViserServer
    address: str


def serve(
    host: str,
    port: int,
    search: bool,
    allowed_hosts: Sequence[str] = (),
    report: Callable[[str], object] = lambda refusal: None,
) -> Page:
    """
    Start the server of an empty page, which serves its own program in a browser and no other.

    :param search: whether the next free port is taken when that one is in use.
    :param allowed_hosts: further host names that the page is served under, of
        :func:`ik_service.extras.viewer.server.access_policy.host_name`.
    :param report: called with a sentence about each refused request, from another thread.
    :raises PortError: the port is in use, or the address is none of this machine's.
    :raises AccessControlError: this version of viser offers no place for the access control.
    """
    # viser would take another port without asking, and wait for ever for an address that is not
    # this machine's.
    free = free_port(host, port, search)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    policy = access_policy(host, free, allowed_hosts, socket.gethostname(), token)
    server = _start(host, free, policy, report)
    if server.get_port() != free and not search:
        _stop(server)
        raise PortError(f'port {free} of {host} was taken by another program just now')
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=_BRAND)
    server.gui.main_panel.dock_right()
    # The theme's width reaches a docked panel only in some starts of a page (viser 1.1).
    server.gui.main_panel.set_width(_PANEL_WIDTH)
    return Page(server, _address(host, server.get_port(), policy.token))


def close(page: Page) -> None:
    """Stop the server of a page."""
    _stop(page.server)


def _start(
    host: str, port: int, policy: AccessPolicy, report: Callable[[str], object]
) -> viser.ViserServer:
    server = None
    try:
        # It prints a box, with an address in it that is not ours.
        with redirect_stdout(io.StringIO()), access_control(policy, report):
            server = viser.ViserServer(host=host, port=port, label='ik_service', verbose=False)
    except AccessControlError:
        if server is not None:
            _stop(server)
        raise
    return server


def _stop(server: viser.ViserServer) -> None:
    with redirect_stdout(io.StringIO()):  # it prints that it has stopped
        server.stop()


def _address(host: str, port: int, token: str) -> str:
    if host in EVERYWHERE:
        host = socket.gethostname()
    query = f'/?token={token}' if token else ''
    return f'http://{f"[{host}]" if ":" in host else host}:{port}{query}'
