"""Clock of the steps of a window: even, late, jittering and stalling ticks."""

import numpy as np
import pytest

from ik_service.following.step_clock import StepClock

PERIOD, BRAKING = 0.01, 5.0


def after(intervals, clock=None):
    """Return the clock after ticks, and how far ahead of the last one its step ends [s]."""
    clock, ahead = clock or StepClock(), 0.0
    for elapsed in intervals:
        dt = min(elapsed, PERIOD)
        clock = clock.ticked(elapsed, PERIOD).stepped(elapsed - ahead, dt, BRAKING)
        ahead += clock.ratio * dt - elapsed
    return clock, ahead


def test_even_ticks_are_steps_as_they_are():
    clock, ahead = after([PERIOD] * 50)
    assert clock == StepClock()
    assert ahead == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('late', [0.0005, 0.002, 0.008])
def test_ticks_that_are_all_late_are_longer_steps(late):
    clock, ahead = after([PERIOD + late] * 1000)
    assert clock.ratio == pytest.approx(1.0 + late / PERIOD, rel=1e-3)
    assert ahead == pytest.approx(clock.reserve, rel=0.05)


def test_steps_keep_up_with_ticks_that_jitter():
    random = np.random.default_rng(1)
    clock, _ = after(PERIOD * random.uniform(0.8, 1.2, 1000))
    for elapsed in PERIOD * random.uniform(0.8, 1.2, 1000):
        clock, ahead = after([elapsed], clock)
        assert 1.0 <= clock.ratio < 1.15
    assert clock.lateness == pytest.approx(0.05, abs=0.02)
    assert clock.reserve == pytest.approx(3.0 * 0.2 * PERIOD, rel=0.2)


def test_a_stall_tells_nothing_about_the_ticks_that_follow():
    clock, _ = after([PERIOD, 0.5, PERIOD])
    assert (clock.lateness, clock.reserve) == (0.0, 0.0)


def test_the_ratio_changes_slowly_and_within_bounds():
    clock = StepClock()
    for _ in range(1000):
        ratio = clock.ratio
        clock = clock.ticked(2.0 * PERIOD, PERIOD).stepped(100.0, PERIOD, BRAKING)
        assert 0.0 <= clock.ratio - ratio <= 0.1 * BRAKING * PERIOD + 1e-12
    assert clock.ratio == 2.0
    assert clock.reserve == 1.5 * PERIOD
