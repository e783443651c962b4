import numpy as np
import pytest

from ik_service.exceptions import ArgumentError
from ik_service.sim.engine import DriveLimits, FirstOrderEngine

STILL = np.zeros(2)


def limits(lower=-1.0, upper=1.0, velocity=2.0):
    columns = [np.full(2, value) for value in (lower, upper, velocity, 1.0)]
    return DriveLimits(('a', 'b'), *columns)


def test_the_motion_does_not_depend_on_the_length_of_the_steps():
    coarse, fine = (FirstOrderEngine(np.zeros(2), limits(velocity=9.0), 0.5) for _ in range(2))
    target, speed = np.array([0.4, -0.2]), np.array([0.1, 0.0])
    coarse.step(target, speed, 0.3)
    for _ in range(300):
        fine.step(target, speed, 0.001)
    assert fine.position == pytest.approx(coarse.position, abs=1e-12)


def test_a_target_that_moves_as_its_commands_say_is_followed_without_a_lag():
    told, untold = (FirstOrderEngine(np.zeros(2), limits(upper=9.0), 0.05) for _ in range(2))
    speed = np.array([0.5, 0.0])
    for tick in range(1, 201):
        told.step(speed * tick * 0.01, speed, 0.01)
        untold.step(speed * tick * 0.01, STILL, 0.01)
    # The command stands still for each tick, so its mean is half a tick behind its end.
    assert 1.0 - told.position[0] == pytest.approx(-0.5 * 0.005, abs=1e-3)
    assert 1.0 - untold.position[0] == pytest.approx(0.5 * 0.05, abs=3e-3)


def test_keeps_the_limits_however_fast_a_target_is_said_to_move():
    engine = FirstOrderEngine(np.zeros(2), limits(), 1.0)
    for _ in range(500):
        engine.step(np.array([1.0, -1.0]), np.array([2.0, -2.0]), 0.01)
        assert np.abs(engine.velocity).max() <= 2.0 * (1.0 + 1e-12)
        assert np.abs(engine.position).max() <= 1.0


def test_a_blocked_joint_stays_until_it_is_free_again():
    engine = FirstOrderEngine(np.zeros(2), limits(), 0.0)
    engine.block(np.array([True, False]))
    engine.step(np.ones(2), STILL, 0.1)
    assert engine.position.tolist() == [0.0, 0.2]
    assert engine.velocity[0] == 0.0
    engine.block(np.array([False, False]))
    engine.step(np.ones(2), STILL, 0.1)
    assert engine.position == pytest.approx([0.2, 0.4])


def test_reset_puts_it_at_rest():
    engine = FirstOrderEngine(np.zeros(2), limits(), 0.1)
    engine.step(np.ones(2), STILL, 0.1)
    engine.reset(np.array([0.3, -0.3]))
    assert engine.position.tolist() == [0.3, -0.3]
    assert not engine.velocity.any()


@pytest.mark.parametrize('time_constant', [-0.1, float('nan'), float('inf')])
def test_refuses_an_invalid_time_constant(time_constant):
    with pytest.raises(ArgumentError, match='time_constant'):
        FirstOrderEngine(np.zeros(2), limits(), time_constant)
