"""Velocities that go with commands: they change within the accelerations, tick by tick."""

import numpy as np
import pytest
from support.follower_helpers import panda_solver, READY, Rig
from support.playing import Playing

import ik_service as iks
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.command.command_stream import CommandVelocity
from ik_service.motion.command.motion_limits import MotionLimits

LIMITS = MotionLimits(
    np.full(2, -np.inf), np.full(2, np.inf), np.full(2, 2.0), 0.5, np.full(2, 2.0)
)
MOST = 0.04  # change in a tick of 10 ms [rad/s]


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


def uneven_ticks(rig, random, jitter, before=lambda: None):
    """Tick until the commands end; return times (k,) [s] and velocities (k, n) [rad/s]."""
    times, velocities = [], []
    for _ in range(1500):
        rig.measure()
        before()
        rig.now += 0.01 + random.uniform(-jitter, jitter)
        command = rig.follower.tick(rig.now)
        if command is None and times:
            break
        if command is not None:
            rig.q = command.q
            times.append(rig.now)
            velocities.append(command.velocity)
    return np.array(times), np.array(velocities)


def assert_within(times, velocities, acceleration):
    passed = np.maximum(np.diff(times), 0.01)
    change = np.abs(np.diff(velocities, axis=0))
    assert (change <= acceleration * passed[:, None] * (1.0 + 1e-9)).all()
    np.testing.assert_array_equal(velocities[-1], 0.0)


@pytest.mark.parametrize('jitter', [0.0, 3e-4, 1.5e-3])
@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('bound', [None, 3.0])
def test_trajectories_with_uneven_ticks(solver, jitter, seed, bound):
    random, names = np.random.default_rng(seed), solver.chain.joint_names
    ways = random.uniform(-0.5, 0.5, (1 + seed % 3, 7))
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.4, 1.5, len(ways)))])
    trajectory = iks.JointTrajectory(names, times, np.vstack([READY, READY + ways]))
    bounds = dict.fromkeys(names, JointBounds(acceleration=bound)) if bound else {}
    rig = Playing(solver, trajectory, velocity_scaling=0.5, bounds=MotionBounds(bounds))
    acceleration = rig.follower.limits.acceleration_now
    assert_within(*uneven_ticks(rig, random, jitter), acceleration)
    assert rig.ends


@pytest.mark.parametrize('seed', range(3))
def test_targets_that_move_with_uneven_ticks(solver, seed):
    random, rig = np.random.default_rng(seed), Rig(solver, READY, velocity_scaling=0.5, hold=False)
    rig.measure()
    start, T = rig.now, solver.chain.forward(READY)

    def send():
        angle, target = 3.0 * (rig.now - start), T.copy()
        if angle < 6.0:
            target[:3, 3] += 0.1 * np.array([np.sin(angle), 0.0, np.cos(angle) - 1.0])
            rig.follower.set_target(target, at=rig.now)

    times, velocities = uneven_ticks(rig, random, 1.5e-3, send)
    assert len(times) > 200
    assert_within(times, velocities, rig.follower.limits.acceleration_now)


def test_the_velocity_at_the_end_of_a_step_is_shown_as_far_as_it_may():
    shown = CommandVelocity()
    shown.last = np.array([0.1, 0.0])
    mean, at_end = np.array([0.12, 0.01]), np.array([0.14, 0.06])
    np.testing.assert_allclose(shown.next(mean, at_end, LIMITS, 0.01), [0.14, 0.03])
    # The next one changes by no more than a tick allows, and stays as near to its mean.
    following = shown.next(np.array([0.09, 0.01]), np.array([0.07, 0.01]), LIMITS, 0.01)
    np.testing.assert_allclose(following, [0.1, 0.01])
    np.testing.assert_array_equal(shown.next(np.zeros(2), None, LIMITS, 0.01), 0.0)


def test_after_a_late_tick_any_velocity_may_come():
    shown = CommandVelocity()
    shown.last = np.array([0.9, 0.0])
    shown.last = None
    mean = np.array([0.2, 0.0])
    np.testing.assert_array_equal(shown.next(mean, None, LIMITS, 0.01), mean)


def test_velocities_stay_below_the_limits():
    shown = CommandVelocity()
    mean = np.array([0.99, 1.5])
    np.testing.assert_allclose(shown.next(mean, mean + MOST, LIMITS, 0.01), [1.0, 1.5])
