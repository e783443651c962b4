"""Access to a page that other machines can reach: the token, and further host names."""

from __future__ import annotations

import socket

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from support.page_client import Client, OWN, PORT, serving


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
