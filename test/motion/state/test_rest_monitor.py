"""Detection of an arm at rest."""

import numpy as np
import pytest

from ik_service.motion.state.joint_state_tracker import RestMonitor

NOISE = np.array([0.025, 0.003])


def seen(path, rate=100.0, until=1.0, since=0.0):
    """Return a monitor that has seen a path of time, and whether it takes it for rest."""
    monitor = RestMonitor(('turn', 'slide'), NOISE)
    q = np.zeros(2)
    for t in np.arange(0.0, until, 1.0 / rate):
        q = np.asarray(path(t), float)
        monitor.update(q, float(t))
    return monitor, monitor.rests(q, since)


@pytest.mark.parametrize('rate', [1.0, 5.0, 10.0, 100.0, 1000.0])
def test_an_arm_that_stands_rests_also_with_noise(rate):
    random = np.random.default_rng(1)
    for _ in range(20):
        monitor, rests = seen(lambda t: random.uniform(-0.4, 0.4, 2) * NOISE, rate, 3.5 + 1 / rate)
        assert rests, monitor.reason


@pytest.mark.parametrize('rate', [5.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize(('speed', 'name'), [((0.4, 0.0), 'turn'), ((0.0, -0.05), 'slide')])
def test_an_arm_that_moves_does_not_rest(rate, speed, name):
    monitor, rests = seen(lambda t: np.multiply(speed, t), rate, 1.0 + 1 / rate)
    assert not rests
    assert monitor.reason.startswith(f'{name} moves')


def test_a_small_vibration_is_rest_and_a_large_one_is_not():
    assert seen(lambda t: (0.01 * np.sin(60.0 * t), 0.0))[1]
    assert not seen(lambda t: (0.1 * np.sin(60.0 * t), 0.0))[1]


def test_what_was_seen_before_the_last_command_does_not_count():
    monitor, rests = seen(lambda t: (0.0, 0.0), since=0.9)
    assert not rests
    assert 'not known to be at rest yet' in monitor.reason
    assert seen(lambda t: (0.0, 0.0), since=0.7)[1]


def test_a_gap_does_not_count_as_rest():
    monitor = RestMonitor(('turn', 'slide'), NOISE)
    monitor.update(np.zeros(2), 0.0)
    monitor.update(np.zeros(2), 5.0)
    assert not monitor.rests(np.zeros(2), 0.0)
    monitor.update(np.zeros(2), 5.1)
    assert monitor.rests(np.zeros(2), 0.0)


def test_an_arm_that_was_never_commanded_may_start_from_its_first_state():
    monitor, rests = seen(lambda t: (0.0, 0.0), until=0.01, since=-np.inf)
    assert rests
    monitor.update(np.array([0.1, 0.0]), 0.05)
    assert not monitor.rests(np.array([0.1, 0.0]), -np.inf)


def test_a_clock_that_was_set_back_begins_anew():
    monitor, _ = seen(lambda t: (t, 0.0), until=100.0, rate=10.0)
    for number in range(40):
        monitor.update(np.array([99.9, 0.0]), 0.01 * number)
    assert monitor.rests(np.array([99.9, 0.0]), 0.0)
