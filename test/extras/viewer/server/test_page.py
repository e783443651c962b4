import io
import socket
import sys

import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.exceptions import MissingExtraError
from ik_service.extras.viewer.server.page import free_port, PortError


@pytest.fixture
def page():
    from ik_service.extras.viewer.server import page

    return page


def test_serves_at_the_given_address_and_prints_nothing(page, capsys):
    served = page.serve('127.0.0.1', 0, False)
    try:
        assert served.address == f'http://127.0.0.1:{served.server.get_port()}'
    finally:
        page.close(served)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ('', '')


def test_two_servers_do_not_share_a_port(page):
    first = page.serve('127.0.0.1', 0, False)
    try:
        port = first.server.get_port()
        with pytest.raises(page.PortError, match=f'port {port}'):
            page.serve('127.0.0.1', port, False)
        second = page.serve('127.0.0.1', port, True)
        assert second.server.get_port() > port
        page.close(second)
    finally:
        page.close(first)


def test_without_viser_the_error_names_the_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    monkeypatch.delitem(sys.modules, 'ik_service.extras.viewer.server.page', raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'ik_service\[viewer\]'"):
        import ik_service.extras.viewer.server.page  # noqa: F401


def test_standard_output_is_restored(page):
    before = sys.stdout
    page.close(page.serve('127.0.0.1', 0, False))
    assert sys.stdout is before
    assert not isinstance(sys.stdout, io.StringIO)


@pytest.fixture
def busy():
    """A port that some server listens at."""
    with socket.create_server(('127.0.0.1', 0)) as server:
        yield server.getsockname()[1]


def test_a_port_in_use_is_an_error(busy):
    with pytest.raises(PortError, match=f'port {busy} of 127.0.0.1 is in use; set .* port_search'):
        free_port('127.0.0.1', busy, search=False)


def test_the_next_free_port_is_taken_if_wanted(busy):
    assert busy < free_port('127.0.0.1', busy, search=True) <= busy + 100


def test_any_port():
    assert free_port('127.0.0.1', 0, search=False) > 0


@pytest.mark.parametrize('host', ['192.0.2.1', 'no such host'])
def test_an_address_that_is_not_this_machine_s_is_refused(host):
    with pytest.raises(PortError, match=f'cannot be served at {host}'):
        free_port(host, 8080, search=True)
