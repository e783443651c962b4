"""Periodic calls in a thread."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ik_service.common.periodic_thread import PeriodicThread

pytestmark = pytest.mark.alone


def test_rate_holds_on_average_and_errors_do_not_end_it():
    times, errors = [], []

    def tick(now):
        times.append(now)
        raise ValueError('bad tick')

    with PeriodicThread(tick, 100.0, errors.append):
        time.sleep(1.0)
    count = len(times)
    assert 70 <= count <= 102  # a busy machine may miss some
    assert len(errors) == count
    assert np.all(np.diff(times) > 0.0)
    time.sleep(0.05)
    assert len(times) == count


def test_rate_can_be_changed():
    times = []
    with PeriodicThread(times.append, 20.0, print) as thread:
        time.sleep(0.5)
        slow = len(times)
        thread.rate = 200.0
        time.sleep(0.5)
    assert slow <= 12
    assert np.diff(times).min() >= 0.98 * 0.005 - 1e-9
    assert len(times) - slow > 3 * slow


def test_missed_calls_are_left_out():
    times = []

    def tick(now):
        times.append(now)
        if len(times) == 1:
            time.sleep(0.3)

    with PeriodicThread(tick, 100.0, print):
        time.sleep(0.5)
    assert len(times) < 25
    assert np.diff(times).min() >= 0.98 * 0.01 - 1e-9, 'none is made up for'
    assert times[1] - times[0] >= 0.3 + 0.6 * 0.01, 'nor comes right behind the end of another'
