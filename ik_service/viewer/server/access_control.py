"""A viser server behind a door: no request reaches viser that the door has not let through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import functools
import http
import logging
import threading

from websockets.asyncio import server as websockets_server
from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers
from websockets.http11 import Request as HttpRequest
from websockets.http11 import Response

from ik_service.exceptions import IkServiceError
from ik_service.viewer.server.access_policy import AccessPolicy, Request

_Serve = Callable[[ServerConnection, HttpRequest], Response | None]

_one_at_a_time = threading.Lock()
_log = logging.getLogger('ik_service.page')
# What is no request at all, such as a port scan, leaves a page of traceback each time.
_log.addFilter(lambda record: record.getMessage() != 'opening handshake failed')


class AccessControlError(IkServiceError):
    """The page cannot be access_control, and so is not served."""


@contextmanager
def access_control(door: AccessPolicy, report: Callable[[str], object]) -> Iterator[None]:
    """
    Put a door in front of the server that is started in a ``with`` block.

    viser offers no place for it, but starts its server by ``websockets.asyncio.server.serve``,
    which asks a function about each request before anything else happens.

    :param door: decides.
    :param report: called with a sentence about a refused request, from the server's thread.
    :raises AccessControlError: no server was started in this way, so that there is no door.
    """
    serve = websockets_server.serve
    doors = []

    def serve_guarded(*arguments: object, **options: object) -> object:
        doors.append(door)
        options.setdefault('logger', _log)
        options['process_request'] = _ask_first(door, report, options.get('process_request'))
        return serve(*arguments, **options)

    with _one_at_a_time:
        websockets_server.serve = serve_guarded
        try:
            yield
        finally:
            websockets_server.serve = serve
    if not doors:
        raise AccessControlError(
            'the page is not served: this version of viser starts its server in a way that its '
            'websocket cannot be access_control; install viser 1.x'
        )


def _ask_first(door: AccessPolicy, report: Callable[[str], object], inner: _Serve | None) -> _Serve:
    """Return what decides on a request in the place of viser's own function."""

    def process(connection: ServerConnection, received: HttpRequest) -> Response | None:
        address = connection.local_address
        request = Request(received.path, received.headers, str(address[0]) if address else '')
        refusal = door.page_refusal(request)
        if refusal:
            return _refused(refusal, report)
        # Without an answer of viser's, the websocket is opened.
        answer = None if inner is None else inner(connection, received)
        if answer is None:
            refusal = door.socket_refusal(request)
            return _refused(refusal, report) if refusal else None
        return _page(door, request, answer, report)

    return process if inner is None else functools.wraps(inner)(process)


def _page(
    door: AccessPolicy, request: Request, answer: Response, report: Callable[[str], object]
) -> Response:
    """Return a file of the page: with the rules for it, from an address without orders."""
    refusal = door.token_refusal(request)
    if refusal:
        return _refused(refusal, report)
    clean = door.clean_path(request)
    if clean != request.path:
        return Response(http.HTTPStatus.SEE_OTHER, 'See Other', Headers({'Location': clean}), b'')
    host = request.headers.get_all('Host')[0]
    for name, value in _rules(host).items():
        answer.headers[name] = value
    if door.brings_token(request):
        answer.headers['Set-Cookie'] = door.new_cookie()
    return answer


def _rules(host: str) -> dict[str, str]:
    """
    Return the headers that hold the page together.

    It is not shown inside foreign pages, where people would click on what they do not see, and
    connects to its own server only: viser's page runs programs that its server sends.

    :param host: what the page was asked for under; the door has accepted it.
    """
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
