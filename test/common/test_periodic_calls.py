"""Periodic calls, and the simulated time that they may go by."""

import math
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from support.harness import until

from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.common.simulated_time import SETTLED, SimulatedTime
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

    def told(self, beginning):
        """What was told so; a machine that stands still may make the watch tell more."""
        return [text for text in self.texts if text.startswith(beginning)]


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
    until(lambda: rig.texts == [] or rig.longest > 0.4, what='the call after a standstill')


def test_a_step_that_hangs_is_told_with_its_place_and_then_its_end(rig):
    began = time.monotonic()
    rig.go_on.clear()
    told = 'arm: a command could not be handed over for '
    [text] = until(lambda: rig.told(told), what='a text')
    assert time.monotonic() - began > 0.4
    assert 'hang_here' in text
    assert 'FASTDDS_BUILTIN_TRANSPORTS=UDPv4' in text
    rig.go_on.set()
    _, end = until(lambda: rig.told(told)[1:] and rig.told(told), what='the end')
    assert end.endswith('it goes on now\n')
    assert rig.watch.count == sum('The thread is here' in text for text in rig.texts)


def test_a_step_that_is_not_begun_is_told(rig):
    """Another call in the same thread hangs, which is none of this watch."""
    held = threading.Event()
    with PeriodicCall(lambda _: held.wait(), 50.0, print, thread=rig.thread):
        until(lambda: rig.told('arm: no tick has begun for '), what='a text')
        held.set()
        until(lambda: rig.texts[-1].endswith('it goes on now\n'), what='the end')


def started(program, path):
    """A process that runs a program with a path."""
    pipes = {'stdin': subprocess.PIPE, 'stdout': subprocess.PIPE}
    return subprocess.Popen([sys.executable, '-c', program, path], text=True, bufsize=1, **pipes)


def test_a_call_that_lets_no_thread_run_is_told_while_it_lasts(tmp_path):
    """As rclpy's publish does: it keeps the interpreter's lock."""
    program = textwrap.dedent("""
        import ctypes, sys, time
        from ik_service.common.stall_watch import InterpreterWatch
        with open(sys.argv[1], 'w') as file, InterpreterWatch('ik_node', file):
            time.sleep(0.5)
            print('hangs', flush=True)
            ctypes.PyDLL(None).getchar()  # of stdin, with the lock
            print('goes on', flush=True)
            sys.stdin.readline()
    """)
    path = tmp_path / 'text'
    with started(program, path) as process:
        assert process.stdout.readline() == 'hangs\n'
        until(lambda: 'ik_node: no thread has run for ' in path.read_text(), what='the report')
        process.stdin.write('x\n')
        assert process.stdout.readline() == 'goes on\n'
        until(lambda: 'threads run again' in path.read_text(), what='its end')
        process.stdin.close()
        assert process.wait(60) == 0


def test_a_process_that_is_suspended_goes_on_unharmed(tmp_path):
    program = textwrap.dedent("""
        import sys, threading
        from ik_service.common.stall_watch import InterpreterWatch
        def work():
            while True:
                sorted(range(100), key=lambda number: -number)
        with open(sys.argv[1], 'w') as file, InterpreterWatch('ik_node', file):
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            print('runs', flush=True)
            sys.stdin.readline()
    """)
    path = tmp_path / 'text'
    with started(program, path) as process:
        assert process.stdout.readline() == 'runs\n'
        for count in range(1, 4):
            process.send_signal(signal.SIGSTOP)
            until(lambda: path.read_text().count('no thread has run') >= count, what='the report')  # noqa: B023
            process.send_signal(signal.SIGCONT)
            until(lambda: path.read_text().count('threads run again') >= count, what='its end')  # noqa: B023
        process.stdin.close()
        assert process.wait(60) == 0


def test_an_interpreter_that_runs_is_left_alone(tmp_path):
    with open(tmp_path / 'text', 'w+') as file, InterpreterWatch('ik_node', file):
        began = last = time.monotonic()
        longest = 0.0
        while last - began < 1.0:
            time.sleep(0.01)
            now = time.monotonic()
            last, longest = now, max(longest, now - last)
    assert (tmp_path / 'text').read_text() == '' or longest > 0.4  # the machine stood still


STEP = 0.0005  # of the real time [s]


class Simulation:
    """Clock that is published at a frequency, in its own time, and read every 2.5 ms."""

    def __init__(self, frequency, start=3.0):
        self.time, self.real, self.frequency = SimulatedTime(7.0), 100.0, frequency
        self.clock = self.shown = self._next = start
        self._way, self._random = [], np.random.default_rng(1)
        self.errors, self.times = [], []

    def run(self, seconds, rate=1.0):
        """Return errors of the estimate, ahead positive [s]."""
        errors = []
        for k in range(round(seconds / STEP)):
            self.real += STEP
            self.clock += STEP * rate
            while self.clock >= self._next:
                late = 0.0005 + 0.003 * self._random.random()
                self._way.append((self.real + late, self._next))
                self._next += 1.0 / self.frequency
            while self._way and self._way[0][0] <= self.real:
                self.shown = self._way.pop(0)[1]
            if k % 5 == 0:
                self.time.read(self.real, self.shown)
            self.times.append(self.time.at(self.real))
            errors.append(self.time.clock_at(self.times[-1]) - self.clock)
        return np.array(errors)

    def jump(self, clock):
        self.clock = self.shown = self._next = clock
        self._way.clear()


@pytest.mark.parametrize('frequency', [10.0, 100.0, 1000.0])
@pytest.mark.parametrize('rate', [0.3, 0.5, 1.0, 2.0])
def test_it_goes_on_smoothly_at_the_rate_of_the_clock(frequency, rate):
    simulation = Simulation(frequency)
    simulation.run(3.0, rate)
    errors = simulation.run(3.0, rate)
    assert errors.min() > -0.001
    assert errors.max() < 0.3 / frequency + 0.005 * max(rate, 1.0)
    times = np.array(simulation.times[-len(errors) :])
    ten = round(0.01 / STEP)  # over 10 ms
    speeds = (times[ten:] - times[:-ten]) / 0.01
    assert np.abs(speeds / rate - 1.0).max() < 0.15


@pytest.mark.parametrize('frequency', [10.0, 100.0, 1000.0])
@pytest.mark.parametrize(('before', 'after'), [(1.0, 0.5), (0.5, 1.0), (1.0, 2.0), (1.0, 0.0)])
def test_it_never_runs_back_nor_far_ahead_when_the_rate_changes(frequency, before, after):
    simulation = Simulation(frequency)
    simulation.run(2.0, before)
    allowed = simulation.time.ahead + 0.01
    errors = simulation.run(2.0, after)
    assert np.diff(simulation.times).min() >= 0.0
    assert errors.max() <= allowed
    assert errors.min() >= -2.0 / frequency - 0.01


def test_it_stands_still_while_the_clock_does_and_then_goes_on():
    simulation = Simulation(100.0)
    simulation.run(2.0)
    simulation.run(0.1, 0.0)
    paused = simulation.times[-1]
    simulation.run(5.0, 0.0)
    assert simulation.times[-1] == paused
    assert simulation.time.wait(paused + 0.01, simulation.real) == np.inf
    errors = simulation.run(1.0)
    assert np.abs(errors).max() < 0.03


@pytest.mark.parametrize('clock', [2.0, 300.0, 1e9])
@pytest.mark.parametrize('frequency', [10.0, 100.0, 1000.0])
def test_it_goes_on_from_where_it_was_when_the_clock_jumps(frequency, clock):
    simulation = Simulation(frequency, start=50.0)
    simulation.run(2.0)
    before = simulation.times[-1]
    simulation.jump(clock)
    simulation.run(1.0)
    assert simulation.time.jumps == 1
    assert np.diff(simulation.times).min() >= 0.0
    assert simulation.times[-1] == pytest.approx(before + 1.0, abs=0.05 + 2.0 / frequency)
    shown = simulation.time.clock_at(simulation.times[-1])
    assert shown == pytest.approx(clock + 1.0, abs=0.03 + 0.3 / frequency)


@pytest.mark.parametrize('unknown', [0.0, 0.002, 0.5, 30.0])
def test_a_clock_that_runs_for_long_is_met_where_it_is(unknown):
    """Until its first message the time is 0, as ROS has it."""
    simulation = Simulation(100.0, start=1000.0)
    simulation.shown = 0.0
    time, begun = simulation.time, simulation.real
    while simulation.real < begun + unknown:
        simulation.real += 0.0025
        time.read(simulation.real, 0.0)
    errors = simulation.run(2.0, 0.5)
    assert time.jumps == 0
    assert np.abs(errors[200:]).max() < 0.02
    assert simulation.times[-1] == pytest.approx(7.0 + 1.0, abs=0.03)


def test_nothing_moves_right_after_the_start_of_a_clock():
    simulation = Simulation(100.0, start=0.0)
    simulation.run(SETTLED - 0.05)
    assert set(simulation.times) == {7.0}
    errors = simulation.run(2.0)[1000:]
    assert np.abs(errors).max() < 0.02


def test_moments_and_times_of_the_clock_are_converted_both_ways():
    simulation = Simulation(100.0)
    simulation.run(1.0, 0.5)
    time = simulation.time
    assert time.moment_of(time.clock_at(12.25)) == pytest.approx(12.25)
    assert time.clock_at(time.at(simulation.real)) == pytest.approx(simulation.clock, abs=0.02)


def test_it_knows_how_long_to_wait():
    simulation = Simulation(100.0)
    simulation.run(2.0, 0.5)
    now = simulation.time.at(simulation.real)
    assert simulation.time.wait(now + 0.004, simulation.real) == pytest.approx(0.008, rel=0.1)
    assert simulation.time.wait(now - 1.0, simulation.real) == 0.0
