"""Velocities of targets, estimated from their poses."""

import numpy as np
import pytest

from ik_service.common.transforms import rotation_about_axis
from ik_service.motion.tracking.target_kernels import fit_motion
from ik_service.motion.tracking.target_velocity import (
    LONGEST_AHEAD,
    TargetGaps,
    TargetTimes,
    TargetVelocity,
)


def pose(position, angle=0.0):
    T = np.eye(4)
    T[:3, 3] = position
    T[:3, :3] = rotation_about_axis((0.0, 0.0, 1.0), angle)
    return T


def circle(time):
    return pose([0.2 * np.cos(time), 0.2 * np.sin(time), 0.3], 0.5 * np.sin(time))


def twist(time):
    return np.array([-0.2 * np.sin(time), 0.2 * np.cos(time), 0, 0, 0, 0.5 * np.cos(time)])


@pytest.mark.parametrize('rate', [20.0, 50.0, 100.0, 500.0])
def test_a_motion_is_estimated_whatever_the_rate_and_though_messages_are_lost(rate):
    velocity, random, motion = TargetVelocity(), np.random.default_rng(1), None
    for k in range(int(2 * rate)):
        if k > 20 and random.random() < 0.1:
            continue
        motion = velocity.update(circle(k / rate), k / rate)
        if k > 10:
            assert motion.velocity == pytest.approx(twist(k / rate), abs=0.01)
    assert motion.interval == pytest.approx(1.0 / rate, rel=0.01)


@pytest.mark.parametrize('count', [3, 4, 5, 9, 32])
def test_the_fit_is_that_of_least_squares(count):
    random = np.random.default_rng(count)
    for _ in range(50):
        times = 7.0 + np.cumsum(random.uniform(1e-3, 0.05, count))
        ways, motion = random.normal(size=(count, 6)), np.empty((2, 6))
        fit_motion(times, ways, count > 3, 0.0, np.inf, motion)
        powers = np.vander(times - times[-1], 3 if count > 3 else 2, increasing=True)
        wanted = np.linalg.lstsq(powers, ways, rcond=None)[0]
        assert motion[0] == pytest.approx(wanted[1], rel=1e-7, abs=1e-7)
        curve = 2.0 * wanted[2] if count > 3 else np.zeros(6)
        assert motion[1] == pytest.approx(curve, rel=1e-7, abs=1e-5)


def test_what_is_no_motion_has_no_velocity():
    velocity, random = TargetVelocity(), np.random.default_rng(2)
    for k in range(100):  # a still target with noise
        noisy = pose(random.normal(0.0, 1e-4, 3))
        motion = velocity.update(noisy, 0.01 * k)
        assert np.linalg.norm(motion.velocity[:3]) < 0.02
    for k in range(8):  # put elsewhere, again and again
        leap = velocity.update(pose([0.1 * (-1) ** k, 0.0, 0.3]), 1.0 + 0.02 * k)
        assert leap.still
    velocity.update(pose([0.0, 0.0, 0.0]), 5.0)
    assert velocity.update(pose([0.1, 0.0, 0.0]), 6.0).still  # too long ago
    for at in (6.01, 6.0, 3.0, 6.0, 6.0):  # clocks that stand still or run backwards
        assert np.isfinite(velocity.update(pose([0.0, 0.0, 0.1]), at).velocity).all()


def test_a_twist_that_is_known_counts():
    velocity = TargetVelocity()
    known = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.2])
    assert velocity.update(circle(0.0), 0.0, known).velocity == pytest.approx(known)


def test_stamps_count_without_the_time_on_the_way_and_whatever_the_clock():
    random = np.random.default_rng(3)
    for offset in (0.0, 0.03, 1000.0, -1000.0):
        times = TargetTimes()
        for k in range(100):
            true = 50.0 + 0.02 * k
            arrived = true + random.uniform(0.001, 0.005)
            found = times.time_of(true + offset, arrived)
            assert found <= arrived
            if k > 20:
                assert found == pytest.approx(true, abs=0.006)


def test_stamps_that_are_none_count_from_the_arrival():
    times = TargetTimes()
    for stamp, arrived in ((None, 1.0), (7.0, 1.1), (7.0, 1.2), (None, 1.3), (900.0, 1.4)):
        assert times.time_of(stamp, arrived) == arrived
    assert times.time_of(5.0, 1.5) == 1.5  # it leaps


INTERVAL = 0.02


def streamed(ways, lost=()):
    gaps = TargetGaps()
    for k, way in enumerate(ways):
        if k not in lost:
            gaps.update(k * INTERVAL, k * INTERVAL + way)
    return gaps.longest_ahead(INTERVAL)


def test_a_steady_stream_is_overdue_soon_after_its_interval():
    assert streamed([0.002] * 10) == pytest.approx(0.022 + 0.15 * INTERVAL)


def test_one_that_is_late_at_times_gets_as_long_as_it_took():
    assert streamed([0.002, 0.015] * 5) == pytest.approx(0.035 + 0.15 * INTERVAL)


def test_one_that_loses_targets_is_bridged():
    assert streamed([0.002] * 10, lost=(5,)) == pytest.approx(0.042 + 0.15 * INTERVAL)


def test_as_long_as_little_is_known_one_may_be_lost():
    assert streamed([0.002] * 3) == pytest.approx(2.2 * INTERVAL)
    gaps = TargetGaps()
    for k in range(10):
        gaps.update(k * INTERVAL, None)
    assert gaps.longest_ahead(INTERVAL) == pytest.approx(2.2 * INTERVAL)


def test_a_pause_of_the_stream_is_no_age():
    gaps = TargetGaps()
    for k in range(10):
        at = k * INTERVAL + (60.0 if k > 4 else 0.0)
        gaps.update(at, at)
    assert gaps.longest_ahead(INTERVAL) == pytest.approx(1.15 * INTERVAL)
    assert TargetGaps().longest_ahead(1.0) == LONGEST_AHEAD
