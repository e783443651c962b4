"""Gains of servos."""

import numpy as np
import pytest

from ik_service.sim.mujoco_engine import (
    ServoGains,
    sufficient_effort,
)

SPEED = np.array([2.175, 2.61, 0.2])
INERTIA = np.array([2.0, 0.01, 40.0])


def test_gains_of_the_first_panda_joint_match_the_docstring():
    gains = ServoGains.derive(np.array([87.0]), np.array([2.175]), np.array([1.0]))
    assert gains.stiffness == pytest.approx([4000.0])
    assert gains.rotor == pytest.approx([0.4])
    assert gains.friction == pytest.approx([0.4])


def test_the_time_constants_are_the_same_for_any_unit():
    """A joint in millimetres instead of metres has the same dynamics."""
    metres = ServoGains.derive(np.array([100.0]), np.array([0.2]), np.array([3.0]))
    # Energy stays: efforts per millimetre are a thousandth, inertias a millionth.
    millimetres = ServoGains.derive(np.array([0.1]), np.array([200.0]), np.array([3e-6]))
    for gains, inertia in ((metres, 3.0), (millimetres, 3e-6)):
        frequency = np.sqrt(gains.stiffness / (inertia + gains.rotor))
        assert frequency == pytest.approx([np.sqrt(50_000.0 / 8.0)])


def test_an_unknown_effort_is_enough_to_hold_and_to_start():
    gravity = np.array([30.0, 0.0, 500.0])
    effort = sufficient_effort(SPEED, INERTIA, gravity)
    assert (effort > gravity).all()
    assert (effort - gravity >= INERTIA * SPEED / 0.1).all()
