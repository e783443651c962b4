"""Steps and noise of measured positions, learnt from the positions."""

import numpy as np
import pytest

from ik_service.common.measurement_errors import MeasurementErrors

NOISE = np.array([0.0, 0.001, 0.005])


def learnt(path, noise, period=1):
    """Return the errors learnt from positions with noise, of which every so many-th is seen."""
    errors, random = MeasurementErrors(3), np.random.default_rng(0)
    for q in path[::period]:
        errors.update(q + random.normal(size=3) * noise)
    return errors.of()


def test_noise_of_joints_that_stand_is_learnt():
    found = [learnt(np.zeros((k, 3)), NOISE).noise for k in range(60, 400, 20)]
    assert np.abs(np.array(found)[:, 1:] / NOISE[1:] - 1.0).max() < 0.5
    np.testing.assert_allclose(np.mean(found, axis=0), NOISE, rtol=0.15)


@pytest.mark.parametrize('period', [1, 10])
def test_a_motion_is_no_noise(period):
    t = np.linspace(0.0, 1.0, 101)[:, None]
    path = np.array([1.0, -0.5, 0.2]) * (t**2 * (3.0 - 2.0 * t))
    assert learnt(path, 0.0, period).noise.max() < 1e-4


def test_positions_that_come_twice_tell_nothing():
    errors, random = MeasurementErrors(2), np.random.default_rng(0)
    for _ in range(300):
        q = np.array([random.normal(0.0, 0.002)])
        errors.update(q, np.array([1]))
        errors.update(q, np.array([1]))
        errors.update(np.array([0.5]), np.array([0]))  # of a gripper
    assert errors.of().noise == pytest.approx([0.0, 0.002], rel=0.3)


def test_steps_of_coarse_encoders_are_learnt_and_turns_counted_anew_are_no_noise():
    path = np.round(np.linspace([0.0, 0.0, 2.0], [1.0, 0.5, 4.0], 300) / 0.01) * 0.01
    path[:, 2] = (path[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
    found = learnt(path, 0.0)
    np.testing.assert_allclose(found.steps, 0.01)
    assert found.noise.max() < 1e-3
