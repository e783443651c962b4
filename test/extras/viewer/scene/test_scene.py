import numpy as np
import pytest

pytest.importorskip('viser', reason="viser comes with the extra 'viewer'")

from ik_service.extras.viewer.scene.scene import Trail


def test_segments_have_a_least_length_and_the_oldest_are_dropped():
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
