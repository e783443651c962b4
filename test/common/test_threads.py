"""Pauses of the interpreter in a process that sends commands."""

import gc

import pytest

from ik_service.common.threads import lasting


def fail_in(block):
    with block:
        assert not gc.isenabled()
        raise OSError('no urdf')


def test_the_collector_is_kept_from_what_lasts_also_after_an_error(monkeypatch):
    collects = []
    monkeypatch.setattr(gc, 'freeze', lambda: collects.append(gc.isenabled()))
    with pytest.raises(OSError, match='no urdf'):
        fail_in(lasting())
    assert collects == [False]
    assert gc.isenabled()
