"""The engine of the first order, and the choice of engines."""

import numpy as np
import pytest
from support.chains import arm_path

from ik_service import Robot
from ik_service.exceptions import ArgumentError, MissingExtraError, UnknownEngineError
from ik_service.sim.engine import DriveLimits, FirstOrderEngine
from ik_service.sim.simulated_arm import ENGINES, make_engine

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


PLANAR = Robot.from_urdf(arm_path('planar_6r'))


def test_the_error_for_an_unknown_engine_lists_the_known_ones():
    with pytest.raises(UnknownEngineError, match="unknown engine 'warp'; valid: first_order, muj"):
        make_engine('warp', PLANAR, np.zeros(6), 0.05)


def test_an_absent_extra_names_the_command(monkeypatch):
    import sys

    for name in [*sys.modules]:
        if name.startswith('ik_service.sim.mujoco'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ik_service\[sim\]'"):
        make_engine('mujoco', PLANAR, np.zeros(6), 0.05)


@pytest.mark.parametrize('name', ENGINES)
class TestEveryEngine:
    """What every engine promises."""

    @pytest.fixture
    def engine(self, name):
        if name == 'mujoco':
            pytest.importorskip('mujoco', reason='the extra sim is not installed')
        self.start = DriveLimits.of(PLANAR).middle() + 0.2
        return make_engine(name, PLANAR, self.start, 0.05)

    def run(self, engine, target, seconds, speed=0.0):
        for _ in range(round(100 * seconds)):
            engine.step(target, np.full(6, speed), 0.01)

    def test_starts_at_rest_where_it_is_told_and_stays_there(self, engine):
        assert engine.position == pytest.approx(self.start)
        self.run(engine, self.start, 0.5)
        assert engine.position == pytest.approx(self.start, abs=1e-4)
        assert engine.velocity == pytest.approx(np.zeros(6), abs=1e-4)

    def test_goes_to_its_target_and_no_faster_than_the_joints_can(self, engine):
        target = self.start + np.linspace(-0.8, 0.8, 6)
        limits = DriveLimits.of(PLANAR)
        fastest = np.zeros(6)
        for _ in range(200):
            engine.step(target, np.zeros(6), 0.01)
            fastest = np.maximum(fastest, np.abs(engine.velocity))
        assert engine.position == pytest.approx(target, abs=1e-4)
        assert (fastest < 1.1 * limits.velocity).all()
        assert fastest.max() > 0.3

    def test_a_blocked_joint_stays_and_the_others_move(self, engine):
        blocked = np.arange(6) == 2
        engine.block(blocked)
        self.run(engine, self.start + 0.5, 1.0)
        assert engine.position[2] == pytest.approx(self.start[2], abs=2e-3)
        assert engine.velocity[2] == pytest.approx(0.0, abs=1e-3)
        assert engine.position[~blocked] == pytest.approx(self.start[~blocked] + 0.5, abs=5e-3)
        engine.block(np.zeros(6, dtype=bool))
        self.run(engine, self.start + 0.5, 1.5)
        assert engine.position == pytest.approx(self.start + 0.5, abs=1e-4)

    def test_is_at_rest_after_a_reset(self, engine):
        self.run(engine, self.start + 0.5, 0.2)
        assert np.abs(engine.velocity).max() > 0.01
        engine.reset(self.start - 0.1)
        assert engine.position == pytest.approx(self.start - 0.1)
        assert not engine.velocity.any()
        self.run(engine, self.start - 0.1, 0.3)
        assert engine.position == pytest.approx(self.start - 0.1, abs=1e-4)

    def test_the_same_steps_give_the_same_motion(self, engine, name):
        other = make_engine(name, PLANAR, self.start, 0.05)
        for each in (engine, other):
            self.run(each, self.start + 0.3, 0.5, speed=0.2)
        assert other.position.tolist() == engine.position.tolist()
