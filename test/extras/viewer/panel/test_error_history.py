from itertools import pairwise

import numpy as np
import pytest

from ik_service.extras.viewer.panel.panel import CEILING, ErrorHistory, FLOOR, SPAN


def test_errors_are_in_millimetres_and_degrees_against_relative_time():
    history = ErrorHistory(period=0.1)
    assert history.add(10.0, 0.25, np.radians(2.0))
    assert not history.add(10.05, 1.0, 1.0)  # too soon
    assert history.add(10.5, 0.0, 0.0)
    time, position, orientation = history.series(11.0)
    assert np.allclose(time, [-SPAN, -1.0, -1.0, -0.5, 0.0])
    assert (position[:2] < FLOOR).all()  # nothing is drawn before the first error
    assert (orientation[:2] < FLOOR).all()
    assert np.allclose(position[2:], [250.0, FLOOR, FLOOR])
    assert np.allclose(orientation[2:], [2.0, FLOOR, FLOOR])


def test_old_errors_are_dropped():
    history = ErrorHistory()
    for second in range(100):
        history.add(float(second), 1.0, 1.0)
    time, _, _ = history.series(99.0)
    assert len(time) == SPAN + 3
    assert (np.diff(time) >= 0.0).all()


def test_times_always_span_the_axis():
    history = ErrorHistory()
    np.testing.assert_allclose(history.series(0.0)[0], [-SPAN, 0.0], atol=1e-5)
    for now in (10.0, 10.05, 29.99, 31.0):
        history.add(10.0, 1.0, 1.0)
        time, *errors = history.series(now)
        assert time[0] == pytest.approx(-SPAN, abs=1e-5)
        assert time[-1] == 0.0
        assert all(column.shape == time.shape for column in errors)
    assert all((column < FLOOR).all() for column in errors)  # the only error is too old
    history.clear()
    np.testing.assert_allclose(history.series(31.0)[0], [-SPAN, 0.0], atol=1e-5)


def test_the_ends_of_the_axis_change_each_time():
    history = ErrorHistory()
    history.add(10.0, 1.0, 1.0)
    starts = [history.series(11.0)[0][0] for _ in range(4)]
    assert all(one != other for one, other in pairwise(starts))
    assert starts[0] == starts[2]


def test_errors_beyond_the_axis_are_shown_at_its_end():
    history = ErrorHistory()
    history.add(10.0, 25.0, 1.0)
    assert history.series(10.5)[1].max() == CEILING
