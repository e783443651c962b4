"""Access to a page on loopback: the real server, over real sockets."""

from __future__ import annotations

import gzip
import logging
import socket

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.page_client import is_ended, OWN, PORT, read_answer, serving

from ik_service.extras.viewer.server.access_control import TITLE


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
    with socket.create_connection(('127.0.0.1', local.port), timeout=10.0) as connection:
        connection.sendall(b'GET / HTTP/1.1\r\n\r\n')
        assert read_answer(connection, whole=True)[0] == 403


def test_malformed_requests_are_not_logged(caplog, monkeypatch):
    # viser leaves a filter here, but only once it was asked for a file.
    monkeypatch.setattr(logging.getLogger('websockets.server'), 'filters', [])
    with serving() as client:  # a new one: nobody has asked it for anything
        for sent in (b'', b'\0' * 100, b'GET', b'GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n'):
            with socket.create_connection(('127.0.0.1', client.port), timeout=10.0) as connection:
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
