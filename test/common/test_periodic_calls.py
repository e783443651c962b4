"""Periodic calls, on a clock that the test moves, and in a thread."""

from __future__ import annotations

import numpy as np
import pytest
from support.harness import until

from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls


class StepClock:
    """A clock that stands until the test moves it."""

    def __init__(self):
        self.time = 0.0

    def now(self):
        return self.time

    def wait(self, moment):
        return moment - self.time


def make_until(clock, end, *calls, late=0.0):
    """Make calls as their thread does, each so long [s] after it was due."""
    while True:
        call = min(calls, key=lambda call: call.moment)
        if call.moment + late > end:
            clock.time = end
            return
        clock.time = max(clock.time, call.moment + late)
        call.make()


def periodic(calls, tick, rate, clock, on_error=print):
    """A call that no thread makes."""
    call = PeriodicCall(tick, rate, on_error, clock, calls)
    calls.begin(call)
    return call


@pytest.mark.parametrize('late', [0.0, 0.0002])
def test_rate_holds_on_average_and_errors_do_not_end_it(late):
    clock, times, errors = StepClock(), [], []

    def tick(now):
        times.append(now)
        raise ValueError('bad tick')

    make_until(clock, 1.0, periodic(PeriodicCalls(), tick, 100.0, clock, errors.append), late=late)
    assert 99 <= len(times) <= 101, 'late calls do not shift the ones after them'
    assert len(errors) == len(times)
    assert np.diff(times).min() >= 0.98 * 0.01 - 1e-9


def test_rate_can_be_changed():
    clock, times = StepClock(), []
    call = periodic(PeriodicCalls(), times.append, 20.0, clock)
    make_until(clock, 0.501, call)
    assert len(times) == 11
    call.rate = 200.0
    make_until(clock, 1.0, call)
    assert times[11] == pytest.approx(0.505)
    np.testing.assert_allclose(np.diff(times[11:]), 0.005, rtol=0, atol=1e-9)


def test_missed_calls_are_left_out():
    clock, times = StepClock(), []

    def tick(now):
        times.append(now)
        if len(times) == 1:
            clock.time += 0.3

    make_until(clock, 0.5, periodic(PeriodicCalls(), tick, 100.0, clock))
    assert len(times) < 25
    assert np.diff(times).min() >= 0.98 * 0.01 - 1e-9, 'none is made up for'
    assert times[1] - times[0] >= 0.3 + 0.6 * 0.01, 'nor comes right behind the end of another'


def test_a_thread_makes_the_calls_of_several_at_their_rates():
    fast, slow, errors = [], [], []

    def fail(now):
        slow.append(now)
        raise ValueError('bad call')

    with PeriodicCalls() as calls, PeriodicCall(fast.append, 100.0, print, thread=calls):
        with PeriodicCall(fail, 20.0, errors.append, thread=calls):
            until(lambda: len(slow) > 4 and len(fast) > 20, what='calls')
        count = len(slow)
        later = len(fast) + 5
        until(lambda: len(fast) > later, what='calls after those of another have ended')
    assert len(slow) == len(errors) == count
    assert np.diff(fast).min() >= 0.98 * 0.01 - 1e-9
    assert np.diff(slow).min() >= 0.98 * 0.05 - 1e-9


def test_a_thread_calls_until_it_is_left_and_takes_another_rate_at_once():
    times = []
    with PeriodicCall(times.append, 0.1, print) as thread:
        until(lambda: times, what='the first call')
        thread.rate = 200.0
        until(lambda: len(times) > 5, what='calls at the new rate')
    count, others = len(times), []
    with PeriodicCall(others.append, 200.0, print):
        until(lambda: len(others) > 10, what='calls of another')
    assert len(times) == count
