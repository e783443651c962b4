"""Plausibility of joint states: which are believed."""

from __future__ import annotations

import numpy as np
import pytest

from ik_service.motion.state.plausibility import PlausibilityMonitor, SETTLING_TIME

SPEEDS = np.array([2.0, 0.5])


class Watched:
    """A monitor, and an arm that it sees at a rate."""

    def __init__(self, rate=100.0):
        self.monitor = PlausibilityMonitor(('shoulder', 'lift'), SPEEDS)
        self.now, self.period = 5.0, 1.0 / rate
        self.q = np.zeros(2)

    def see(self, q=None, count=1):
        for _ in range(count):
            self.now += self.period
            believed = self.monitor.update(self.q if q is None else np.asarray(q, float), self.now)
        return believed


@pytest.mark.parametrize('rate', [5.0, 50.0, 100.0, 500.0])
def test_an_arm_at_full_speed_is_believed_also_with_noise(rate):
    watched, random = Watched(rate), np.random.default_rng(1)
    for _ in range(500):
        watched.q = watched.q + SPEEDS * watched.period
        noise = random.normal(0.0, [0.05, 0.01])
        assert watched.see(watched.q + noise)


@pytest.mark.parametrize('rate', [50.0, 100.0])
@pytest.mark.parametrize('samples', [1, 2, 5])
def test_a_leap_is_not_believed_and_neither_is_the_way_back_until_it_has_settled(rate, samples):
    watched = Watched(rate)
    watched.see(count=20)
    assert not watched.see([1.5, 0.0], samples)
    assert 'shoulder cannot have moved by +1.5 within' in watched.monitor.doubt
    settling = round(SETTLING_TIME * rate)
    assert not watched.see(count=settling)
    assert watched.see(count=2)
    assert watched.monitor.doubt == ''
    assert not watched.monitor.contradictory


def test_an_arm_that_keeps_moving_is_not_still():
    watched = Watched()
    watched.see(count=20)
    watched.see([1.5, 0.0])
    for _ in range(200):
        watched.q = watched.q + np.array([0.01, 0.0])
        assert not watched.see([1.5 + watched.q[0], 0.0])
    assert watched.see([1.5 + watched.q[0], 0.0], 60)


def test_two_publishers_that_contradict_each_other_are_noticed():
    watched = Watched()
    watched.see(count=20)
    for _ in range(100):
        watched.see([1.0, 0.0])
        assert not watched.see([0.0, 0.0])
    assert watched.monitor.contradictory
    assert watched.see(count=60)
    assert not watched.monitor.contradictory


def test_bunched_states_are_believed():
    """Ten states of an arm at full speed that arrive together after a pause of the process."""
    watched = Watched()
    watched.see(count=20)
    watched.now += 0.1
    for number in range(10):
        assert watched.monitor.update(SPEEDS * 0.01 * number, watched.now + 1e-4 * number)


def test_the_position_is_the_median_of_the_last_states():
    watched = Watched()
    watched.see(count=20)
    watched.see([0.09, 0.0], 2)
    assert watched.monitor.position().tolist() == [0.0, 0.0]
    watched.see([0.09, 0.0], 3)
    assert watched.monitor.position().tolist() == [0.09, 0.0]


def test_the_speed_comes_from_the_last_two_states_unless_they_are_old():
    watched = Watched()
    assert watched.monitor.speed(watched.now) is None
    watched.see()
    watched.see([0.01, 0.0])
    assert np.allclose(watched.monitor.speed(watched.now), [1.0, 0.0])
    assert watched.monitor.speed(watched.now + 1.0) is None
