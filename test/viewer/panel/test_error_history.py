import numpy as np

from ik_service.viewer.panel.error_history import ErrorHistory, FLOOR, SPAN, Trail


def test_errors_are_shown_in_people_s_units_against_time_before_now():
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
    assert history.series(0.0)[1].tolist() == [FLOOR, FLOOR]


def test_the_trail_takes_steps_of_some_length_and_forgets_the_oldest():
    trail = Trail(length=3, step=0.09)
    assert trail.segments().shape == (0, 2, 3)
    assert trail.add(np.zeros(3))
    assert not trail.add(np.array([0.05, 0.0, 0.0]))
    for x in (0.1, 0.2, 0.3, 0.4):
        assert trail.add(np.array([x, 0.0, 0.0]))
    segments = trail.segments()
    assert np.allclose(segments[:, :, 0], [[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]])
    colors = trail.colors((200, 0, 0), (100, 0, 0))
    assert colors.shape == segments.shape
    assert colors[0, 0, 0] == 100
    assert colors[-1, -1, 0] == 200
    trail.clear()
    assert len(trail.segments()) == 0
