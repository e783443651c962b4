import numpy as np

from ik_service.viewer.panel.error_history import ErrorHistory, FLOOR, SPAN


def test_errors_are_in_millimetres_and_degrees_against_relative_time():
    history = ErrorHistory(period=0.1)
    assert history.add(10.0, 0.25, np.radians(2.0))
    assert not history.add(10.05, 1.0, 1.0)  # too soon
    assert history.add(10.5, 0.0, 0.0)
    time, position, orientation = history.series(11.0)
    assert np.allclose(time, [-1.0, -0.5])
    assert np.allclose(position, [250.0, FLOOR])
    assert np.allclose(orientation, [2.0, FLOOR])


def test_old_errors_are_dropped():
    history = ErrorHistory()
    for second in range(100):
        history.add(float(second), 1.0, 1.0)
    time, _, _ = history.series(99.0)
    assert time[0] == -SPAN
    assert len(time) == SPAN + 1
    history.clear()
    assert (history.series(0.0)[1] < FLOOR).all()  # nothing is drawn
