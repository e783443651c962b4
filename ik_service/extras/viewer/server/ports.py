"""Search for a free TCP port."""

from __future__ import annotations

import errno
import socket

from ik_service.exceptions import IkServiceError

_TRIES = 100
_HIGHEST = 65535


class PortError(IkServiceError):
    """Error about a port or an address that the page cannot be served at."""


def free_port(host: str, port: int, search: bool) -> int:
    """
    Return a port that can be bound.

    :param host: address of this machine to bind.
    :param port: the preferred port; 0 for any.
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
