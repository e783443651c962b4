"""Periodic calls, on a clock that the test moves and in a thread, and watches over threads."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from support.harness import until

from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.common.stall_watch import InterpreterWatch, StallWatch


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


class Rig:
    """A periodic thread whose calls can be made to hang, and a watch over it."""

    def __init__(self):
        self.texts, self.go_on = [], threading.Event()
        self.go_on.set()
        self.calls, self.last, self.longest = 0, math.inf, 0.0
        self.watch = StallWatch(
            'arm', lambda: self.ticker.due, lambda: self.ticker.thread_id, self.texts.append
        )
        self.thread = PeriodicCalls()
        self.ticker = PeriodicCall(self.call, 50.0, print, thread=self.thread)

    def call(self, now):
        self.calls += 1
        self.longest = max(self.longest, now - self.last)
        self.last = now
        self.watch.begin('a command could not be handed over')
        self.hang_here()
        self.watch.end()

    def hang_here(self):
        self.go_on.wait()


@pytest.fixture
def rig():
    rig = Rig()
    with rig.thread, rig.ticker, rig.watch:
        until(lambda: rig.calls > 3, what='calls')
        yield rig
        rig.go_on.set()


def test_nothing_is_told_while_all_is_well(rig):
    calls = rig.calls
    until(lambda: rig.calls > calls + 50, what='calls')
    assert rig.texts == [] or rig.longest > 0.4  # the machine stood still


def test_a_step_that_hangs_is_told_with_its_place_and_then_its_end(rig):
    began = time.monotonic()
    rig.go_on.clear()
    until(lambda: rig.texts, what='a text')
    assert time.monotonic() - began > 0.4
    assert rig.texts[0].startswith('arm: a command could not be handed over for 0.')
    assert 'hang_here' in rig.texts[0]
    assert 'FASTDDS_BUILTIN_TRANSPORTS=UDPv4' in rig.texts[0]
    assert rig.watch.count == 1
    rig.go_on.set()
    until(lambda: len(rig.texts) > 1, what='the end')
    assert rig.texts[1].startswith('arm: a command could not be handed over for ')
    assert rig.texts[1].endswith('it goes on now\n')


def test_a_step_that_is_not_begun_is_told(rig):
    """Another call in the same thread hangs, which is none of this watch."""
    held = threading.Event()
    with PeriodicCall(lambda _: held.wait(), 50.0, print, thread=rig.thread):
        until(lambda: rig.texts, what='a text')
        assert rig.texts[0].startswith('arm: no tick has begun for ')
        held.set()
        until(lambda: len(rig.texts) > 1, what='the end')


def test_a_call_that_lets_no_thread_run_is_told_while_it_lasts():
    """As rclpy's publish does: it keeps the interpreter's lock."""
    program = textwrap.dedent("""
        import ctypes, sys, threading, time
        from ik_service.common.stall_watch import InterpreterWatch
        locked = ctypes.PyDLL(None)
        def hand_over():
            locked.usleep(1_500_000)
        with InterpreterWatch('ik_node') as watch:
            time.sleep(0.5)
            thread = threading.Thread(target=hand_over)
            thread.start()
            thread.join()
            while not watch.count:
                time.sleep(0.01)
        print('done', flush=True)
    """)
    done = subprocess.run(
        [sys.executable, '-c', program], capture_output=True, text=True, timeout=60, check=True
    )
    stacks, _, told = done.stderr.partition('ik_node: no thread has run for ')
    assert 'hand_over' in stacks, done.stderr
    assert float(told.partition(' s')[0]) > 1.0
    assert done.stdout == 'done\n'


def test_an_interpreter_that_runs_is_left_alone(tmp_path):
    with open(tmp_path / 'text', 'w+') as file, InterpreterWatch('ik_node', file):
        began = last = time.monotonic()
        longest = 0.0
        while last - began < 1.0:
            time.sleep(0.01)
            now = time.monotonic()
            last, longest = now, max(longest, now - last)
    assert (tmp_path / 'text').read_text() == '' or longest > 0.4  # the machine stood still
