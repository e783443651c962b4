"""Smooth joint paths from posture to posture."""

import numpy as np

from ik_service.extras.studies.arms import load_arm
from ik_service.extras.studies.paths.paths import poses_along, wandering_path


def test_paths_stay_within_limits_and_are_smooth():
    chain = load_arm('panda')
    path = wandering_path(chain, 3, 500, 10)
    assert path.shape == (500, 7)
    assert (path >= chain.lower).all()
    assert (path <= chain.upper).all()
    assert np.ptp(path, axis=0).min() > 0.5
    assert np.abs(np.diff(path, axis=0)).max() < 0.06
    assert np.abs(np.diff(path, 2, axis=0)).max() < 0.01
    np.testing.assert_array_equal(path, wandering_path(chain, 3, 500, 10))
    assert np.abs(path - wandering_path(chain, 4, 500, 10)).max() > 0.5
    np.testing.assert_array_equal(poses_along(chain, path)[7], chain.forward(path[7]))
