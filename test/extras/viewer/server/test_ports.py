import socket

import pytest

from ik_service.extras.viewer.server.page import free_port, PortError


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
