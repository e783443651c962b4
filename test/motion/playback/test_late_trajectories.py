"""Trajectories after late ticks and gaps in the joint states, and with limited jerk."""

import numpy as np
import pytest
from support.follower_helpers import panda_solver, READY
from support.playing import AWAY, chosen, Playing
from support.trajectories import distance_from_line, smooth_trajectory

import ik_service as iks
from ik_service.model.motion_bounds import JointBounds, MotionBounds
from ik_service.motion.playback.trajectory_goal import TrajectoryEnd, TrajectoryTolerances


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


@pytest.mark.parametrize('derivatives', [0, 1, 2])
@pytest.mark.parametrize('seed', range(4))
def test_late_ticks_and_discarded_commands_leave_it_on_the_trajectory(solver, derivatives, seed):
    """The arm stands still meanwhile, and goes on from there along the same way."""
    names, random = solver.chain.joint_names, np.random.default_rng(seed)
    trajectory = chosen(smooth_trajectory(names, READY, AWAY, 1.5), derivatives)
    rig = Playing(solver, trajectory, velocity_scaling=0.5)
    late = discarded = 0
    while not rig.ends:
        if random.random() < 0.05:
            rig.now += random.uniform(0.02, 0.1)
            late += 1
        if rig.tick() is not None and random.random() < 0.05:
            delay = random.uniform(0.025, 0.08)
            if rig.follower.discard_late(delay):
                rig.commands.pop()
                rig.now += delay
                discarded += 1
    assert late
    assert discarded
    assert rig.goal.outcome.end is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 3e-4
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-12)


def test_without_joint_states_for_a_while_it_stays_on_the_trajectory(solver):
    """The commands slow down, and go on when there are joint states again."""
    trajectory = smooth_trajectory(solver.chain.joint_names, READY, AWAY, 1.5)
    rig = Playing(solver, trajectory, velocity_scaling=0.5)
    for time in (0.4, 0.8, 1.2):
        rig.until(lambda time=time: rig.goal.progress and rig.goal.progress.time > time)
        rig.tick(8, measured=False)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 3e-4
    rig.assert_within(0.5, 0.2)


def jerk_limited(solver):
    joints = dict.fromkeys(solver.chain.joint_names, JointBounds(acceleration=6.0, jerk=60.0))
    return MotionBounds(joints)


def test_with_limited_jerk_it_is_as_exact_and_half_a_window_late(solver):
    trajectory = smooth_trajectory(solver.chain.joint_names, READY, AWAY, 1.5)
    tolerances = TrajectoryTolerances(np.full(7, 0.01), np.full(7, 0.01))
    settings = {'velocity_scaling': 0.5, 'bounds': jerk_limited(solver)}
    rig = Playing(solver, trajectory, tolerances, **settings)
    assert rig.finish() is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 1e-4
    jerk = np.diff(rig.path, n=3, axis=0) * rig.rate**3
    assert np.abs(jerk).max() <= 60.0 * (1.0 + 1e-6)
    assert rig.ends[0] - 100.0 < 2.0  # 2.9 s where the clock waits for the late commands


def test_limited_jerk_rounds_the_corners_of_positions_alone_by_little(solver):
    aside = READY + 0.4 * np.eye(7)[0]
    corner = np.array([READY, aside, aside + 0.4 * np.eye(7)[1]])
    trajectory = iks.JointTrajectory(solver.chain.joint_names, np.arange(3.0), corner)
    rig = Playing(solver, trajectory, velocity_scaling=1.0, bounds=jerk_limited(solver))
    assert rig.finish() is TrajectoryEnd.REACHED
    path = np.array(rig.path)
    away = np.minimum(corner[2, 0] - path[:, 0], path[:, 1] - corner[0, 1])
    assert away.max() < 0.004
    np.testing.assert_allclose(path[-1], corner[2], atol=1e-9)


@pytest.mark.parametrize('seed', range(4))
def test_late_ticks_and_limited_jerk(solver, seed):
    trajectory = smooth_trajectory(solver.chain.joint_names, READY, AWAY, 1.5)
    settings = {'velocity_scaling': 0.5, 'bounds': jerk_limited(solver)}
    rig, random = Playing(solver, trajectory, **settings), np.random.default_rng(seed)
    while not rig.ends:
        if random.random() < 0.05:
            rig.now += random.uniform(0.02, 0.1)
        rig.tick()
    assert rig.goal.outcome.end is TrajectoryEnd.REACHED
    assert distance_from_line(rig.path, READY, AWAY).max() < 1e-3
    np.testing.assert_allclose(rig.path[-1], AWAY, atol=1e-9)
