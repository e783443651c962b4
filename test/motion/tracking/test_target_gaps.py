"""When the next target of a stream is overdue."""

import pytest

from ik_service.motion.tracking.target_velocity import LONGEST_AHEAD, TargetGaps

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
