"""Smooth time from a simulated clock that goes on in steps."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.common.simulated_time import SETTLED, SimulatedTime

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
