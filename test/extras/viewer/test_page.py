"""Server of the page: its port, and who may see it."""

import gzip
import logging
import socket
import sys

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.page.client import Client, is_ended, OWN, PORT, read_answer, serving
import viser
from websockets.asyncio import server as websockets_server

from ik_service.exceptions import MissingExtraError
from ik_service.extras.viewer import page
from ik_service.extras.viewer.page import free_port, PortError, TITLE


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
    with pytest.raises(page.AccessControlError, match=r'install viser 1\.x'):
        page.serve('127.0.0.1', 0, False)
    with pytest.raises(OSError, match='refused'):  # it was stopped
        socket.create_connection(('127.0.0.1', started[0].get_port()), timeout=60.0)
    assert websockets_server.serve is original


@pytest.fixture(scope='module')
def local():
    """A page that is bound to loopback."""
    with serving() as client:
        yield client


@pytest.mark.parametrize('name', ['127.0.0.1', 'localhost', 'LocalHost', '[::1]', '[0:0::1]'])
def test_the_page_s_own_program_is_accepted(local, name):
    host = f'{name}:{PORT}'
    status, _, body = local.ask(host=host)
    assert status == 200
    assert b'<html' in body[:300].lower()
    assert local.opens(host=host, origin=OWN)


@pytest.mark.parametrize('packed', [True, False])
def test_the_page_has_the_name_of_the_program(local, packed):
    extra = ('Accept-Encoding: gzip',) if packed else ()
    status, headers, body = local.ask(extra=extra)
    assert status == 200
    assert (headers.get('content-encoding') == 'gzip') == packed
    page = gzip.decompress(body) if packed else body
    assert f'<title>{TITLE}</title>'.encode() in page
    assert b'<title>Viser' not in page


def test_a_forwarded_port_is_accepted(local):  # ssh -L 9000:localhost:8080
    assert local.opens(host='localhost:9000', origin='http://localhost:9000')
    assert local.opens(host='localhost', origin='http://localhost')
    assert local.opens(host='localhost', origin='http://localhost:80')


@pytest.mark.parametrize(
    'origin',
    [
        None,
        '',
        'null',
        'http://evil.example',
        f'http://evil.example:{PORT}',
        'http://127.0.0.1',
        'http://127.0.0.1:3000',
        f'http://localhost:{PORT}',  # another name is another origin
        f'https://127.0.0.1:{PORT}',
        f'HTTP://127.0.0.1:{PORT}',
        f'http://127.0.0.1:{PORT}/',
        f'http://127.0.0.1:{PORT}.evil.example',
        f'http://evil@127.0.0.1:{PORT}',
        f'http://127.0.0.1:{PORT}, http://127.0.0.1:{PORT}',
        f' http://evil.example http://127.0.0.1:{PORT}',
        f'file://127.0.0.1:{PORT}',
        f'chrome-extension://127.0.0.1:{PORT}',
        '\xff\xfe',
        'x' * 7000,
    ],
)
def test_a_foreign_origin_is_refused_a_websocket(local, origin):
    status, _, body = local.ask(upgrade='websocket', origin=origin)
    assert status == 403, body
    assert len(body) < 300


@pytest.mark.parametrize(
    'host',
    [
        f'evil.example:{PORT}',
        f'localhost.evil.example:{PORT}',
        f'127.0.0.1.nip.io:{PORT}',
        f'evil-localhost:{PORT}',
        f'localhost.:{PORT}',
        f'127.0.0.1.:{PORT}',
        f'127.1:{PORT}',
        f'2130706433:{PORT}',
        f'0x7f.1:{PORT}',
        f'0177.0.0.1:{PORT}',
        f'127.0.0.2:{PORT}',
        f'0.0.0.0:{PORT}',
        f'192.168.1.5:{PORT}',
        f'[::ffff:127.0.0.1]:{PORT}',
        f'[::2]:{PORT}',
        f'[::1:{PORT}',
        f'[::1%lo]:{PORT}',
        '::1',
        f'127.0.0.1:{PORT}:{PORT}',
        '127.0.0.1:',
        '127.0.0.1:0',
        '127.0.0.1:99999',
        '127.0.0.1:-1',
        '127.0.0.1:٨',
        f'user@127.0.0.1:{PORT}',
        f'127.0.0.1:{PORT}/evil',
        f'127.0.0.1:{PORT}#evil',
        f'127.0.0.1:{PORT}, evil.example',
        f'127.0.0.1%00.evil.example:{PORT}',
        f'127.0.0.1 evil.example:{PORT}',
        socket.gethostname() + '.evil.example',
        'l\xf6calhost',
        '',
        'a' * 7000,
    ],
)
def test_a_foreign_host_is_refused(local, host):
    host = host.encode().decode('latin-1')
    for asked in ({}, {'upgrade': 'websocket', 'origin': OWN}):
        status, headers, body = local.ask(host=host, **asked)
        assert status == 403, body
        assert len(body) < 300
        assert 'content-security-policy' not in headers


def test_a_foreign_page_is_refused_files(local):
    assert local.ask(origin='http://evil.example')[0] == 403
    assert local.ask(origin='null')[0] == 403


@pytest.mark.parametrize('extra', [f'Host: 127.0.0.1:{PORT}', 'Host: evil.example'])
def test_two_hosts_are_refused(local, extra):
    extra = [extra.replace(PORT, str(local.port))]
    assert local.ask(extra=extra)[0] == 403
    assert not local.opens(origin=OWN, extra=extra)


def test_two_origins_are_refused(local):
    extra = [f'Origin: http://127.0.0.1:{local.port}']
    assert not local.opens(origin='http://evil.example', extra=extra)
    assert not local.opens(origin=OWN, extra=['Origin: http://evil.example'])


@pytest.mark.parametrize('upgrade', ['WebSocket', 'WEBSOCKET', 'h2c', 'websocket, foo'])
def test_other_spellings_of_upgrade_open_no_websocket(local, upgrade):
    assert not local.opens(upgrade, origin='http://evil.example')
    assert not local.opens(upgrade)


def test_a_request_without_a_host_is_refused(local):
    with socket.create_connection(('127.0.0.1', local.port), timeout=60.0) as connection:
        connection.sendall(b'GET / HTTP/1.1\r\n\r\n')
        assert read_answer(connection, whole=True)[0] == 403


def test_malformed_requests_are_not_logged(caplog, monkeypatch):
    # viser leaves a filter here, but only once it was asked for a file.
    monkeypatch.setattr(logging.getLogger('websockets.server'), 'filters', [])
    with serving() as client:  # a new one: nobody has asked it for anything
        for sent in (b'', b'\0' * 100, b'GET', b'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n'):
            with socket.create_connection(('127.0.0.1', client.port), timeout=60.0) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                assert is_ended(connection)
        assert client.ask()[0] == 200
    assert [record.getMessage() for record in caplog.records if record.levelname != 'INFO'] == []


def test_settings_in_the_query_are_removed(local):
    # viser's page would obey the server named here, also when that tells it to run a program.
    for query in ('?websocket=ws://evil.example', '?playbackPath=http://evil.example/a', '?a=1'):
        status, headers, _ = local.ask(f'/{query}')
        assert (status, headers['location']) == (303, '/')


def test_the_security_headers_of_the_page(local):
    headers = local.ask()[1]
    policy = headers['content-security-policy']
    assert "frame-ancestors 'self'" in policy
    own = f'127.0.0.1:{local.port}'
    assert f"connect-src 'self' ws://{own} wss://{own} data: blob:;" in policy
    assert headers['x-frame-options'] == 'SAMEORIGIN'
    assert 'set-cookie' not in headers


def test_a_refusal_is_reported_with_the_remedy():
    refusals = []
    with serving(refusals=refusals) as client:
        client.ask(host=f'arm.local:{PORT}')
        client.ask(upgrade='websocket', origin='http://evil.example')
    assert refusals == [
        "refused: the page is not served under the name 'arm.local'; allowed_hosts adds names",
        "refused: the request comes from 'http://evil.example', not from the page itself",
    ]


@pytest.fixture(scope='module')
def public():
    """A page that is bound to all addresses."""
    with serving('0.0.0.0') as client:
        yield client


@pytest.fixture(scope='module')
def named():
    """A page on loopback that has a further name."""
    with serving(allowed=('arm.example', '192.168.1.5')) as client:
        yield client


def test_a_page_that_others_can_reach_requires_the_token(public):
    assert public.token
    assert public.served.address == (
        f'http://{socket.gethostname()}:{public.port}/?token={public.token}'
    )
    for path in ('/', '/?token=', '/?token=x', '/?token=%00', f'/?token={public.token}x'):
        assert public.ask(path)[0] == 403
    twice = f'/?token=x&token={public.token}'
    assert public.ask(twice)[0] == 403
    assert public.ask(f'/index.html?token={public.token}')[0] == 200


def test_with_the_token_the_page_and_its_websocket_are_opened(public):
    status, headers, body = public.ask(f'/?token={public.token}')
    assert status == 200
    assert b'<html' in body[:300].lower()
    cookie, *attributes = headers['set-cookie'].split('; ')
    assert cookie == f'ik_viewer_{public.port}={public.token}'
    assert attributes == ['Path=/', 'HttpOnly', 'SameSite=Strict']
    assert public.ask(cookie=cookie)[0] == 200
    assert public.opens(origin=OWN, cookie=f'other=1; {cookie}')
    assert public.opens(path=f'/?token={public.token}', origin=OWN)


def test_without_the_token_no_websocket_is_opened(public):
    assert not public.opens(origin=OWN)
    for cookie in ('', 'x', f'ik_viewer_{public.port}=', f'ik_viewer_{public.port}=\xff'):
        assert not public.opens(origin=OWN, cookie=cookie)
    assert not public.opens(origin=OWN, cookie=f'ik_viewer_1={public.token}')


def test_the_token_makes_no_foreign_page_an_own_one(public):
    cookie = f'ik_viewer_{public.port}={public.token}'
    assert not public.opens(origin='http://evil.example', cookie=cookie)
    assert not public.opens(cookie=cookie)
    assert not public.opens(host=f'evil.example:{PORT}', origin=OWN, cookie=cookie)
    assert public.ask(f'/?token={public.token}', host='evil.example')[0] == 403


def test_all_addresses_of_this_machine_are_served_when_it_is_bound_to_all(public):
    cookie = f'ik_viewer_{public.port}={public.token}'
    for name in ('127.0.0.1', 'localhost', socket.gethostname().upper()):
        origin = f'http://{name.lower()}:{PORT}'
        assert public.opens(host=f'{name}:{PORT}', origin=origin, cookie=cookie)
    assert Client(public.served, '127.0.0.2').opens(
        host=f'127.0.0.2:{PORT}', origin=OWN, cookie=cookie
    )
    assert not public.opens(host=f'192.0.2.1:{PORT}', origin=OWN, cookie=cookie)


def test_the_token_differs_from_start_to_start(public):
    with serving('0.0.0.0') as other:
        assert other.token != public.token
        assert len(other.token) >= 32


def test_further_names_are_served_with_a_token(named):
    cookie = f'ik_viewer_{named.port}={named.token}'
    for name in ('arm.example', '192.168.1.5', 'localhost'):
        host = f'{name}:{PORT}'
        assert named.ask(host=host)[0] == 403
        assert named.ask(f'/?token={named.token}', host=host)[0] == 200
        assert named.opens(host=host, origin=OWN, cookie=cookie)
    assert not named.opens(host=f'other.example:{PORT}', origin=OWN, cookie=cookie)
    # Behind a server that adds TLS.
    assert named.opens(host='arm.example', origin='https://arm.example', cookie=cookie)
    assert not named.opens(host='localhost', origin='https://localhost', cookie=cookie)


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason='this machine has no IPv6')
def test_access_with_ipv6():
    with serving('::1') as client:
        assert client.served.address == f'http://[::1]:{client.port}'
        assert client.opens(host=f'[::1]:{PORT}', origin=OWN)
        assert not client.opens(host=f'[::2]:{PORT}', origin=OWN)
    with serving('::') as client:
        cookie = f'ik_viewer_{client.port}={client.token}'
        assert client.opens(host=f'[::1]:{PORT}', origin=OWN, cookie=cookie)
        assert not client.opens(host=f'[::1]:{PORT}', origin=OWN)


def test_serves_at_the_given_address_and_prints_nothing(capsys):
    before, served = sys.stdout, page.serve('127.0.0.1', 0, False)
    try:
        assert sys.stdout is before
        assert served.address == f'http://127.0.0.1:{served.server.get_port()}'
    finally:
        page.close(served.server)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('', '')


def test_two_servers_do_not_share_a_port():
    first = page.serve('127.0.0.1', 0, False)
    try:
        port = first.server.get_port()
        with pytest.raises(page.PortError, match=f'port {port}'):
            page.serve('127.0.0.1', port, False)
        second = page.serve('127.0.0.1', port, True)
        assert second.server.get_port() > port
        page.close(second.server)
    finally:
        page.close(first.server)


def test_without_viser_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    monkeypatch.delitem(sys.modules, 'ik_service.extras.viewer.page', raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'ik_service\[viewer\]'"):
        import ik_service.extras.viewer.page  # noqa: F401


@pytest.mark.parametrize('host', ['192.0.2.1', 'no such host'])
def test_an_address_that_is_not_this_machine_s_is_refused(host):
    with pytest.raises(PortError, match=f'cannot be served at {host}'):
        free_port(host, 8080, search=True)
