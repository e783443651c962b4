"""
Access policy of the page and its websocket: a check of each request's headers.

Messages on the websocket can move the arm, and a browser opens websockets for any page. A foreign
page cannot forge the headers ``Host`` and ``Origin``, which its browser writes. So a request has
to name a host that the page is served under (which excludes foreign names that resolve to this
machine), and a websocket has to come from the page's own origin. A page that other machines can
reach requires a token besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import hmac
import ipaddress
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

if TYPE_CHECKING:
    from websockets.datastructures import Headers

_HOST = re.compile(r'(\[[0-9a-f:.]{2,45}\]|[a-z0-9](?:[a-z0-9._-]{0,252}))(?::([0-9]{1,5}))?')
_ORIGIN = re.compile(r'(https?)://(.+)')
_STANDARD_PORTS = {'http': '80', 'https': '443'}
EVERYWHERE = ('', '0.0.0.0', '::')  # hosts that stand for all addresses of this machine
_LOOPBACK = ('localhost', '127.0.0.1', '[::1]')
_TOKEN = 'token'  # key in the query of the page's address
_SHOWN = 100  # characters of a header that a refusal repeats


@dataclass(frozen=True)
class Request:
    """HTTP request; the path includes the query."""

    path: str
    headers: Headers
    local_address: str = ''


class AccessPolicy:
    """
    Rules for requests to the page.

    :param names: host names and addresses that the page is served under, from :func:`host_name`.
    :param token: secret that each request has to carry; empty for none.
    :ivar token: the secret; empty for none.
    """

    def __init__(
        self,
        names: Iterable[str],
        secured: Iterable[str] = (),
        token: str = '',
        cookie: str = _TOKEN,
        any_address: bool = False,
    ) -> None:
        self._secured = frozenset(secured)
        self._names = frozenset(names) | self._secured
        self.token, self._cookie = token, cookie
        self._any_address = any_address

    def page_refusal(self, request: Request) -> str:
        """Return why a file of the page is not served; empty when it is."""
        return self._host_refusal(request) or self._origin_refusal(request, is_required=False)

    def socket_refusal(self, request: Request) -> str:
        """Return why a websocket is not opened; empty when it is."""
        return (
            self._host_refusal(request)
            or self._origin_refusal(request, is_required=True)
            or self.token_refusal(request)
        )

    def token_refusal(self, request: Request) -> str:
        """Return why the token of a request is not accepted; empty when it is."""
        if not self.token or self._is_token(_query_token(request.path)):
            return ''
        cookies = '; '.join(request.headers.get_all('Cookie'))
        for cookie in cookies.split(';'):
            name, _, value = cookie.strip().partition('=')
            if name == self._cookie and self._is_token(value):
                return ''
        return 'the token is missing or not that of this start; ik_viewer prints the whole address'

    def has_token_in_address(self, request: Request) -> bool:
        """Whether the address of a request holds the token."""
        return bool(self.token) and self._is_token(_query_token(request.path))

    def new_cookie(self) -> str:
        """Return the cookie in which the page sends the token from now on."""
        return f'{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict'

    def clean_path(self, request: Request) -> str:
        """Path of a request with only the token of its query, which could name another server."""
        path = request.path.partition('?')[0]
        return f'{path}?{_TOKEN}={self.token}' if self.has_token_in_address(request) else path

    def _host_refusal(self, request: Request) -> str:
        hosts = request.headers.get_all('Host')
        host = split_host(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return f'the header Host is invalid: {_shown(hosts)}'
        name = host[0]
        if name in self._names or (self._any_address and name == host_name(request.local_address)):
            return ''
        return f'the page is not served under the name {_shown([name])}; allowed_hosts adds names'

    def _origin_refusal(self, request: Request, is_required: bool) -> str:
        origins = request.headers.get_all('Origin')
        if not origins and not is_required:
            return ''  # such as for an address that was typed in
        host = request.headers.get_all('Host')[0]
        if len(origins) == 1 and self._is_own(origins[0], host):
            return ''
        return f'the request comes from {_shown(origins) or "no page"}, not from the page itself'

    def _is_own(self, origin: str, host: str) -> bool:
        parts = _ORIGIN.fullmatch(origin)
        if parts is None:
            return False
        own, other = split_host(host), split_host(parts[2])
        if own is None or other is None or own[0] != other[0]:
            return False
        scheme = parts[1]
        if scheme == 'https' and own[0] not in self._secured:
            return False
        standard = _STANDARD_PORTS[scheme]
        return (own[1] or standard) == (other[1] or standard)

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode('utf-8', 'surrogateescape'), self.token.encode())


def access_policy(
    host: str, port: int, allowed: Iterable[str], own_name: str, token: str
) -> AccessPolicy:
    """Policy of a page; its token counts beyond loopback, or with further host names."""
    allowed = tuple(allowed)
    is_everywhere = host in EVERYWHERE
    is_private = is_loopback(host) and not allowed
    names = {*_LOOPBACK, host_name(host)} - {''}
    if is_everywhere:
        names |= {host_name(own_name)} - {''}
    return AccessPolicy(
        names, allowed, '' if is_private else token, f'ik_viewer_{port}', is_everywhere
    )


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == 'localhost':
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(text: str) -> str:
    """Name or address as a ``Host`` header has it, in lower case without port; empty for none."""
    host = split_host(f'[{text}]' if ':' in text and not text.startswith('[') else text)
    return host[0] if host is not None and not host[1] else ''


def split_host(text: str) -> tuple[str, str] | None:
    """Split the text of a ``Host`` header into name and port; None when it is no host."""
    parts = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if parts is None:
        return None
    name, port = parts[1], parts[2] or ''
    if port and not 0 < int(port) < 65536:
        return None
    if name.startswith('['):
        try:
            name = f'[{ipaddress.IPv6Address(name[1:-1]).compressed}]'
        except ValueError:
            return None
    return name, str(int(port)) if port else ''


def _query_token(path: str) -> str:
    """Return the token in the query of a path; empty when it is not the only entry."""
    fields = parse_qsl(path.partition('?')[2], keep_blank_values=True)
    return fields[0][1] if len(fields) == 1 and fields[0][0] == _TOKEN else ''


def _shown(values: Sequence[str]) -> str:
    text = ', '.join(values)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + '…') if values else ''
