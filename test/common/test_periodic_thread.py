"""Periodic calls in a thread."""

from __future__ import annotations

import time

import numpy as np
import pytest

from ik_service.common.periodic_calls import PeriodicCalls
from ik_service.common.periodic_thread import periodic_call, PeriodicThread

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


def test_a_thread_makes_the_calls_of_several_at_their_rates():
    fast, slow, errors = [], [], []

    def fail(now):
        slow.append(now)
        raise ValueError('bad call')

    with PeriodicCalls() as calls, periodic_call(calls, fast.append, 100.0, print):
        with periodic_call(calls, fail, 20.0, errors.append):
            time.sleep(0.5)
        count = len(slow)
        time.sleep(0.5)
    assert len(slow) == len(errors) == count
    assert 5 <= count <= 12
    assert 70 <= len(fast) <= 103
    assert np.diff(fast).min() >= 0.98 * 0.01 - 1e-9
