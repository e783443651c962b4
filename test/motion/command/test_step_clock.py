"""Clock of the steps of a window: even, late, jittering and stalling ticks."""

import numpy as np
import pytest

from ik_service.motion.command.command_window import StepClock

PERIOD, BRAKING = 0.01, 5.0


def after(intervals):
    """Return the clocks after ticks, and how far ahead of the last one its step ends [s]."""
    clocks, ahead = [StepClock()], 0.0
    for elapsed in intervals:
        dt, ticked = min(elapsed, PERIOD), clocks[-1].ticked(elapsed, PERIOD)
        clocks.append(ticked.stepped(elapsed - ahead, dt, BRAKING))
        ahead += clocks[-1].ratio * dt - elapsed
    return clocks, ahead


def test_even_ticks_are_steps_as_they_are():
    clocks, ahead = after([PERIOD] * 50)
    assert clocks[-1] == StepClock()
    assert ahead == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize('late', [0.0005, 0.002, 0.008])
def test_ticks_that_are_all_late_are_longer_steps(late):
    clocks, ahead = after([PERIOD + late] * 1000)
    assert clocks[-1].ratio == pytest.approx(1.0 + late / PERIOD, rel=1e-3)
    assert ahead == pytest.approx(clocks[-1].reserve, rel=0.05)


def test_steps_keep_up_with_ticks_that_jitter():
    random = np.random.default_rng(1)
    clocks, ahead = after(PERIOD * random.uniform(0.8, 1.2, 2000))
    assert all(1.0 <= clock.ratio < 1.3 for clock in clocks)
    assert 0.0 < ahead < 2.0 * PERIOD
    assert clocks[-1].lateness == pytest.approx(0.05, abs=0.02)
    assert clocks[-1].reserve == pytest.approx(3.0 * 0.2 * PERIOD, rel=0.2)


def test_a_stall_tells_nothing_about_the_ticks_that_follow():
    clocks, _ = after([PERIOD, 0.5, PERIOD])
    assert (clocks[-1].lateness, clocks[-1].reserve) == (0.0, 0.0)


def test_the_ratio_changes_slowly_and_within_bounds():
    clock = StepClock()
    for _ in range(1000):
        ratio = clock.ratio
        clock = clock.ticked(2.0 * PERIOD, PERIOD).stepped(100.0, PERIOD, BRAKING)
        assert 0.0 <= clock.ratio - ratio <= 0.1 * BRAKING * PERIOD + 1e-12
    assert clock.ratio == 2.0
    assert clock.reserve == 1.5 * PERIOD
