import numpy as np
import pytest

from ik_service.extras.reach import figures
from ik_service.extras.viewer.scene.colormap import viridis

VALUES = np.linspace(0.0, 1.0, 101)


def test_the_colours_are_those_of_the_study_s_figure():
    pytest.importorskip('matplotlib', reason="matplotlib comes with the extra 'plot'")
    expected = 255.0 * figures.share_colors(VALUES)[:, :3]
    assert np.abs(viridis(VALUES) - expected).max() < 7.0  # of 255: nobody sees that


def test_larger_values_are_brighter():
    colors = viridis(VALUES)
    assert colors.dtype == np.uint8
    brightness = colors @ (0.299, 0.587, 0.114)
    assert (np.diff(brightness) > 0.0).all()
    assert viridis(np.zeros(0)).shape == (0, 3)
