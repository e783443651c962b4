"""Watches over a thread that hangs, and over an interpreter in which nothing runs."""

import math
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from support.harness import until

from ik_service.common.periodic_calls import PeriodicCall, PeriodicCalls
from ik_service.common.stall_watch import InterpreterWatch, StallWatch


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
