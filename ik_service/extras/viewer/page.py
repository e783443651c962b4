"""Server of the page, to which requests come only as the access policy accepts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
import errno
import functools
import gzip
import http
import io
import logging
import secrets
import socket
import threading
from typing import Any

from ik_service.exceptions import IkServiceError, MissingExtraError
from ik_service.extras.viewer.access_policy import (
    access_policy,
    AccessPolicy,
    EVERYWHERE,
    Request,
)

try:
    import viser
    from websockets.asyncio import server as websockets_server
    from websockets.asyncio.server import ServerConnection
    from websockets.datastructures import Headers
    from websockets.http11 import Request as HttpRequest
    from websockets.http11 import Response
except ImportError as error:
    raise MissingExtraError('viser', 'viewer') from error

_Serve = Callable[[ServerConnection, HttpRequest], Response | None]

TITLE = 'ik_service'  # title of the page in a browser

# viser takes its scheme from its server, and this global overrides that for one browser. The sky
# is behind the scene, whose background is transparent; only the scene's canvas names its engine.
_HEAD = f"""<title>{TITLE}</title>
<script>
const dark = matchMedia('(prefers-color-scheme: dark)');
window.__VISER_EMBED_CONFIG__ = {{darkMode: dark.matches}};
dark.addEventListener('change', () => location.reload());
</script>
<style>
canvas[data-engine] {{ background: linear-gradient(#dee7f1, #fafbfc) }}
[data-mantine-color-scheme="dark"] canvas[data-engine] {{
  background: linear-gradient(#20262e, #3d444d)
}}
@media (prefers-color-scheme: dark) {{ html {{ background: #1f2328 }} }}
</style>"""

_one_at_a_time = threading.Lock()
_log = logging.getLogger('ik_service.page')
# Port scans and the like would leave a traceback each.
_log.addFilter(lambda record: record.getMessage() != 'opening handshake failed')


class AccessControlError(IkServiceError):
    """Error about a version of viser that offers no place for the access control."""


@contextmanager
def access_control(policy: AccessPolicy, report: Callable[[str], object]) -> Iterator[None]:
    """
    Apply a policy to the server that is started in a ``with`` block.

    viser has no setting for it, but starts its server by ``websockets.asyncio.server.serve``,
    which calls a function with each request before anything else happens.

    :param report: called with a sentence about each refused request, from the server's thread.
    :raises AccessControlError: no server was started with it, so that no request is checked.
    """
    original: Any = websockets_server.serve
    started = []

    def serve(*arguments: Any, **options: Any) -> Any:  # noqa: ANN401 (as the original)
        options.setdefault('logger', _log)
        options['process_request'] = _checked(policy, report, options.get('process_request'))
        started.append(policy)
        return original(*arguments, **options)

    server_module: Any = websockets_server
    with _one_at_a_time:
        server_module.serve = serve
        try:
            yield
        finally:
            server_module.serve = original
    if not started:
        raise AccessControlError(
            'the page is not served: this version of viser starts its server in a way that '
            'requests cannot be checked; install viser 1.x'
        )


def _checked(
    policy: AccessPolicy, report: Callable[[str], object], inner: _Serve | None
) -> _Serve:
    """Return a function that checks a request before viser's own function gets it."""

    def process(connection: ServerConnection, received: HttpRequest) -> Response | None:
        address = connection.local_address
        request = Request(received.path, received.headers, str(address[0]) if address else '')
        refusal = policy.page_refusal(request)
        if refusal:
            return _refused(refusal, report)
        # Without an answer of viser's, the websocket is opened.
        answer = None if inner is None else inner(connection, received)
        if answer is None:
            refusal = policy.socket_refusal(request)
            return _refused(refusal, report) if refusal else None
        return _page(policy, request, answer, report)

    return process if inner is None else functools.wraps(inner)(process)


def _page(
    policy: AccessPolicy, request: Request, answer: Response, report: Callable[[str], object]
) -> Response:
    """Return a file of the page with its headers, or a redirection to its path without query."""
    refusal = policy.token_refusal(request)
    if refusal:
        return _refused(refusal, report)
    clean = policy.clean_path(request)
    if clean != request.path:
        return Response(http.HTTPStatus.SEE_OTHER, 'See Other', Headers({'Location': clean}), b'')
    _adapt(answer)
    host = request.headers.get_all('Host')[0]
    for name, value in _security_headers(host).items():
        answer.headers[name] = value
    if policy.has_token_in_address(request):
        answer.headers['Set-Cookie'] = policy.new_cookie()
    return answer


def _adapt(answer: Response) -> None:
    """Give the page the name of this program and the browser's colour scheme."""
    packed = answer.headers.get('Content-Encoding') == 'gzip'
    if not answer.headers.get('Content-Type', '').startswith('text/html') or answer.body is None:
        return
    answer.body = _adapted(bytes(answer.body), packed)
    if 'Content-Length' in answer.headers:
        del answer.headers['Content-Length']
        answer.headers['Content-Length'] = str(len(answer.body))


@functools.lru_cache(maxsize=4)  # the page is several megabytes
def _adapted(body: bytes, packed: bool) -> bytes:
    page = gzip.decompress(body) if packed else body
    page = page.replace(b'<title>Viser</title>', _HEAD.encode(), 1)
    return gzip.compress(page, 6) if packed else page


def _security_headers(host: str) -> dict[str, str]:
    """Headers against foreign frames (hidden buttons) and other servers (foreign programs)."""
    servers = f"'self' ws://{host} wss://{host}"
    return {
        'Content-Security-Policy': (
            f"frame-ancestors 'self'; connect-src {servers} data: blob:; "
            "object-src 'none'; base-uri 'none'; form-action 'none'"
        ),
        'X-Frame-Options': 'SAMEORIGIN',
        'Referrer-Policy': 'no-referrer',
        'X-Content-Type-Options': 'nosniff',
        'Cross-Origin-Resource-Policy': 'same-origin',
    }


def _refused(refusal: str, report: Callable[[str], object]) -> Response:
    report(f'refused: {refusal}')
    headers = Headers({'Content-Type': 'text/plain; charset=utf-8'})
    body = f'ik_viewer: {refusal}\n'.encode()
    headers['Content-Length'] = str(len(body))
    return Response(http.HTTPStatus.FORBIDDEN, 'Forbidden', headers, body)


_TRIES = 100  # ports that are tried
_HIGHEST = 65535  # largest number of a port


class PortError(IkServiceError):
    """Error about a port or an address that the page cannot be served at."""


def free_port(host: str, port: int, search: bool) -> int:
    """Return a free port; ``search`` takes the next one. Raises PortError where there is none."""
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


_PANEL_WIDTH = 390  # so that all tabs fit into one row [px]
_BRAND = (25, 113, 194)  # color of the page
_TOKEN_BYTES = 24  # random bytes of a token: more than can be guessed


@dataclass(frozen=True)
class Page:
    """Page that is served; its address holds the token where one is required."""

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
        :func:`ik_service.extras.viewer.access_policy.host_name`.
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
        close(server)
        raise PortError(f'port {free} of {host} was taken by another program just now')
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=_BRAND)
    server.gui.main_panel.dock_right()
    # The theme's width reaches a docked panel only in some starts of a page (viser 1.1).
    server.gui.main_panel.set_width(_PANEL_WIDTH)
    return Page(server, _address(host, server.get_port(), policy.token))


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
            close(server)
        raise
    return server


def close(server: viser.ViserServer) -> None:
    """Stop the server of a page."""
    with redirect_stdout(io.StringIO()):  # it prints that it has stopped
        server.stop()


def _address(host: str, port: int, token: str) -> str:
    if host in EVERYWHERE:
        host = socket.gethostname()
    query = f'/?token={token}' if token else ''
    return f'http://{f"[{host}]" if ":" in host else host}:{port}{query}'
