"""ROS domains: check of the one that is set, and reservation of one that nobody else uses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
import fcntl
import os
from pathlib import Path
import socket
import tempfile
from typing import IO

from ik_service.common.quoting import quote
from ik_service.exceptions import ArgumentError, IkServiceError

DOMAINS = range(1, 102)
"""Domains whose UDP ports lie below Linux's ephemeral ports, which begin at 32768."""


_LAST = 232  # whose ports are below 65536 (RTPS 2.2, section 9.6.1.1)


def check_domain() -> None:
    """Refuse a ``ROS_DOMAIN_ID`` at which ROS fails without naming it; raises ArgumentError."""
    text = os.environ.get('ROS_DOMAIN_ID', '')
    if text and not (text.isdecimal() and int(text) <= _LAST):
        raise ArgumentError(
            'ROS_DOMAIN_ID', f'has to be a whole number from 0 to {_LAST}, not {quote(text)}'
        )


class NoFreeDomainError(IkServiceError):
    """Every ROS domain of this machine is taken."""


@contextmanager
def own_domain() -> Iterator[int]:
    """
    Reserve a ROS domain that no other program on this machine uses, for a ``with`` block.

    The reservation is an advisory lock on a file, so it ends with the process, however that ends.

    :returns: the number of the domain.
    :raises NoFreeDomainError: all of them are taken.
    """
    # Start where no other process starts: two runs that begin together then rarely collide.
    start = os.getpid() % len(DOMAINS)
    for domain in (*DOMAINS[start:], *DOMAINS[:start]):
        lock = _lock(domain)
        if lock is None:
            continue
        with lock:
            if _is_silent(domain):
                yield domain
                return
    raise NoFreeDomainError(
        f'every ROS domain from {DOMAINS[0]} to {DOMAINS[-1]} is in use on this machine; '
        'set ROS_DOMAIN_ID to share one of them'
    )


def _lock(domain: int) -> IO[bytes] | None:
    """Lock the file that stands for a domain; None where another process holds it."""
    path = Path(tempfile.gettempdir()) / f'ik_service_ros_domain_{domain}_{os.getuid()}.lock'
    file = path.open('ab')
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _is_silent(domain: int) -> bool:
    """Whether nobody on this machine listens in the domain, locked or not."""
    # The first participant of a domain takes the port 7400 + 250 domain + 10 for discovery
    # (RTPS 2.2, section 9.6.1.1: PB, DG and d1).
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(('', 7410 + 250 * domain))
        except OSError:
            return False
    return True
