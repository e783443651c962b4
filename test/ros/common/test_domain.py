import socket

import pytest

from ik_service.ros.common import domain
from ik_service.ros.common.domain import DOMAINS, NoFreeDomainError, own_domain


def test_two_reservations_differ_and_are_released():
    with own_domain() as first, own_domain() as second:
        assert first in DOMAINS
        assert second in DOMAINS
        assert first != second
    with own_domain() as again:
        assert again == first


def test_a_domain_with_a_participant_is_skipped():
    with own_domain() as taken:
        pass
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as participant:
        participant.bind(('', 7410 + 250 * taken))
        with own_domain() as other:
            assert other != taken


def test_the_error_when_all_domains_are_in_use(monkeypatch):
    monkeypatch.setattr(domain, '_is_silent', lambda number: False)
    with pytest.raises(NoFreeDomainError, match='ROS_DOMAIN_ID'), own_domain():
        pass
