"""Velocities for an arm that takes those, and drifts."""

from dataclasses import replace

import numpy as np
import pytest

from ik_service.motion.command.joint_motion import JointMotion
from ik_service.motion.command.motion_limits import MotionLimits
from ik_service.motion.command.velocity_command import FAREWELL, VelocityCommand

PERIOD = 0.01
LIMITS = MotionLimits(np.full(2, -2.0), np.full(2, 2.0), np.array([1.0, 2.0]), 0.5, 2.5)
SPEED, ACCELERATION = LIMITS.velocity * LIMITS.scaling, LIMITS.velocity * LIMITS.acceleration


class DrivenArm:
    """Arm that moves with the velocity of some periods ago, too slow or too fast."""

    def __init__(self, q, latency=3, factor=0.9, drift=0.01):
        self.q = np.array(q, dtype=float)
        self.factor, self.drift = factor, drift
        self._waiting = [np.zeros(2)] * latency

    def step(self, velocity):
        self._waiting.append(velocity)
        moving = self._waiting.pop(0)
        self.q = self.q + PERIOD * (self.factor * moving + self.drift * moving.any())


class Rig:
    """Commands on their way to a goal, and the arm that is driven after them."""

    def __init__(self, q=(0.0, 0.0), **arm):
        self.arm, self.motion = DrivenArm(q, **arm), JointMotion(np.array(q, dtype=float))
        self.velocities, self.now, self.sent = VelocityCommand(2), 10.0, []

    def run(self, goal, ticks):
        for _ in range(ticks):
            self.now += PERIOD
            self.motion.move(goal, LIMITS, PERIOD)
            command, error = self.motion.speed * LIMITS.velocity, self.motion.q - self.arm.q
            self.take(self.velocities.next(command, error, self.arm.q, LIMITS, self.now, PERIOD))

    def rest(self, ticks, measured=True):
        for _ in range(ticks):
            self.now += PERIOD
            q, busy = self.arm.q if measured else self.motion.q, self.velocities.busy
            sent = self.velocities.rest(q, LIMITS, self.now, PERIOD)
            assert busy is (sent is not None)
            if sent is None:
                return
            self.take(sent)

    def take(self, velocity):
        self.sent.append(velocity)
        self.arm.step(velocity)


def assert_within_bounds(sent):
    sent = np.vstack([np.zeros(2), *sent])
    assert (np.abs(sent) <= SPEED * (1.0 + 1e-9)).all()
    assert (np.abs(np.diff(sent, axis=0)) <= ACCELERATION * PERIOD * (1.0 + 1e-9)).all()


@pytest.mark.parametrize('factor', [0.8, 1.0, 1.2])
def test_the_arm_arrives_where_the_commands_mean(factor):
    rig = Rig(factor=factor, drift=0.0)
    rig.run(np.array([0.6, -0.8]), 600)
    np.testing.assert_allclose(rig.arm.q, [0.6, -0.8], atol=1e-3)
    assert_within_bounds(rig.sent)


def test_a_drift_is_corrected_while_the_arm_is_held():
    rig = Rig(drift=0.02)
    goal = np.array([0.6, -0.8])
    rig.run(goal, 600)
    before = rig.arm.q
    rig.run(goal, 2000)
    assert np.abs(rig.arm.q - before).max() < 1e-3
    assert np.abs(rig.arm.q - goal).max() < 0.02


def test_an_arm_far_from_its_command_is_not_drawn_there_faster_than_the_correction_allows():
    rig = Rig(drift=0.0, factor=1.0)
    rig.arm.q = np.array([0.5, -0.5])
    rig.run(np.zeros(2), 50)
    assert (np.abs(rig.sent) <= 0.2 * SPEED + 1e-9).all()
    assert_within_bounds(rig.sent)


@pytest.mark.parametrize('measured', [True, False])
def test_the_last_velocities_are_zeros_and_then_there_are_none(measured):
    rig = Rig()
    rig.run(np.array([1.5, 1.5]), 60)
    assert np.abs(rig.sent[-1]).min() > 0.1
    rig.rest(1000, measured)
    assert_within_bounds(rig.sent)
    assert not np.array(rig.sent[-round(FAREWELL / PERIOD) :]).any()
    assert not rig.velocities.busy
    assert len(rig.sent) < 1000


def test_a_correction_ends_smoothly_where_the_speed_limit_is_reached():
    limits, jerk = replace(LIMITS, jerk=np.full(2, 20.0), window=0.1), 20.0 * LIMITS.velocity
    velocities, sent, q = VelocityCommand(2), [np.zeros(2)] * 2, np.zeros(2)
    for k in range(100):
        command = SPEED * np.sin(min(0.03 * k, 0.5 * np.pi)) ** 2  # an acceleration without leaps
        sent.append(velocities.next(command, SPEED, q, limits, PERIOD * k, PERIOD))
    assert (np.abs(np.diff(sent, n=2, axis=0)) <= jerk * PERIOD**2 * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(sent[-1], SPEED)


@pytest.mark.parametrize(('seed', 'period'), [*((k, PERIOD) for k in range(4)), (80, 0.1)])
def test_velocities_with_a_limited_jerk_end_in_zeros_too(seed, period):
    random, still = np.random.default_rng(seed), np.zeros(2)
    jerk = random.uniform(10.0, 300.0, 2)
    limits, velocities, now = replace(LIMITS, jerk=jerk, window=0.1), VelocityCommand(2), 10.0
    for _ in range(40):
        now += period
        velocities.next(still, random.normal(size=2) * 0.01, still, limits, now, period)
    for _ in range(round(2.0 / period)):
        now += 1.1 * period
        if velocities.rest(still, limits, now, period) is None:
            return
    pytest.fail('velocities are sent for ever')


def test_a_motion_that_begins_during_the_zeros_ends_with_zeros_again():
    rig = Rig()
    rig.run(np.array([0.5, 0.5]), 30)
    rig.rest(40)
    rig.run(rig.arm.q + 0.3, 30)
    assert rig.sent[-1].any()
    rig.rest(1000)
    assert not np.array(rig.sent[-round(FAREWELL / PERIOD) :]).any()


def test_a_process_that_stalls_sends_its_zeros_afterwards():
    rig = Rig()
    rig.run(np.array([1.5, 1.5]), 60)
    while rig.sent[-1].any():
        rig.rest(1)
    rig.now += 2.0 * FAREWELL
    before = len(rig.sent)
    rig.rest(1000)
    zeros = rig.sent[before:]
    assert len(zeros) >= round(FAREWELL / PERIOD) - 2
    assert not np.array(zeros).any()


def test_no_velocity_leads_beyond_a_joint_limit():
    rig = Rig((1.9, -1.9), latency=0, factor=1.0, drift=0.0)
    rig.run(np.array([2.0, -2.0]), 100)
    for _ in range(300):  # the commands go wrong, and ask for more
        rig.now += PERIOD
        rig.take(
            rig.velocities.next(SPEED * [1.0, -1.0], None, rig.arm.q, LIMITS, rig.now, PERIOD)
        )
    assert (np.abs(rig.arm.q) <= 2.0 + 1e-6).all()


def test_numbers_that_are_none_do_not_get_through():
    rig = Rig()
    rig.run(np.array([0.5, 0.5]), 30)
    sent = rig.velocities.next(
        np.array([np.nan, np.inf]), np.array([np.nan, 0.0]), rig.arm.q, LIMITS, rig.now, PERIOD
    )
    assert np.isfinite(sent).all()
