import pytest

from ik_service.sim.real_time_simulation import RealTimeFactor


def test_measures_since_the_last_measurement():
    clock = RealTimeFactor(10.0)
    for _ in range(10):
        clock.add(0.1, 0.02)
    assert clock.measure(11.0) == pytest.approx((1.0, 0.2))
    clock.add(0.5, 0.1)
    assert clock.measure(13.0) == pytest.approx((0.25, 0.05))
    assert clock.measure(14.0) == (0.0, 0.0)
    assert clock.simulated == pytest.approx(1.5)
