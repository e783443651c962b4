"""Trajectories that take the place of one on its way: no leap, within all limits, to the end."""

import numpy as np
import pytest
from support.follower_helpers import panda_solver, READY
from support.playing import AWAY, Playing
from support.trajectories import smooth_trajectory

import ik_service as iks
from ik_service.exceptions import TargetRefusedError, TrajectoryError
from ik_service.motion.playback.trajectory_fit import fitted
from ik_service.motion.playback.trajectory_goal import (
    TrajectoryEnd,
    TrajectoryGoal,
    TrajectoryTolerances,
)

STILL = np.zeros((1, 7))


@pytest.fixture(scope='module')
def solver():
    return panda_solver()


class Replacing(Playing):
    """A follower of which trajectories are replaced, as the node does it."""

    def replace(self, trajectory, joins=True):
        """Follow another trajectory in place of the one on its way; return its goal."""
        follower, motion = self.follower, self.follower.motion
        begun, joined = None, False
        if motion is not None and joins:
            try:
                begun = fitted(trajectory, self.chain, motion[0], None, motion[1])
                joined = True
            except TrajectoryError:
                pass
        place = follower.measured[0] if follower.commanded is None else follower.commanded
        begun = begun or fitted(trajectory, self.chain, place)
        goal = TrajectoryGoal(begun, follower.limits, 1.0 / self.rate, joins=joined)
        goal.replaces = follower.goal
        follower.follow_goal(goal)
        return goal


def to(q, seconds):
    names = panda_solver().chain.joint_names
    return iks.JointTrajectory(names, [seconds], np.array([q]), STILL)


@pytest.mark.parametrize('joins', [True, False])
@pytest.mark.parametrize('settings', [{}, {'velocity_scaling': 0.3}, {'acceleration_time': 0.6}])
@pytest.mark.parametrize('seed', range(4))
def test_trajectories_that_replace_each_other_keep_the_limits(solver, seed, settings, joins):
    rng = np.random.default_rng(seed)
    settings = {'velocity_scaling': 1.0, 'acceleration_time': 0.2, **settings}
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 1.5), **settings)
    goals = [rig.goal]
    for _ in range(15):
        rig.tick(int(rng.integers(1, 60)))
        end = READY + rng.uniform(-0.5, 0.5, 7)
        seconds = rng.uniform(0.3, 2.0)
        try:
            goals.append(rig.replace(to(end, seconds), joins))
        except TrajectoryError:  # faster than the limits even from rest: nothing is replaced
            assert rig.follower.goal is goals[-1] or goals[-1].outcome is not None
    rig.until(lambda: goals[-1].outcome is not None)
    assert goals[-1].outcome.end is TrajectoryEnd.REACHED
    replaced = [goal.outcome.end for goal in goals[:-1]]
    assert set(replaced) <= {TrajectoryEnd.PREEMPTED, TrajectoryEnd.REACHED}
    assert TrajectoryEnd.PREEMPTED in replaced
    rig.tick(100)
    np.testing.assert_allclose(rig.path[-1], goals[-1].trajectory.positions[-1], atol=1e-9)
    rig.assert_within(settings['velocity_scaling'], settings['acceleration_time'])
    assert rig.follower.violations == 0


def test_a_trajectory_that_joins_does_not_come_to_rest_between(solver):
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 2.0), acceleration_time=0.2)
    rig.until(lambda: rig.follower.motion is not None and rig.goal.progress.time > 1.0)
    before = len(rig.commands)
    goal = rig.replace(to(AWAY + 0.1, 1.5))
    rig.until(lambda: goal.outcome is not None)
    speeds = np.abs(np.diff(rig.path[before : before + 40], axis=0)).max(axis=1) * rig.rate
    assert speeds.min() > 0.1
    rig.assert_within(0.5, 0.2)


def test_only_the_trajectory_that_is_named_is_replaced(solver):
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 2.0))
    rig.tick(30)
    other = TrajectoryGoal(fitted(to(AWAY, 2.0), rig.chain, READY), rig.follower.limits, 0.01)
    with pytest.raises(TargetRefusedError):
        rig.follower.follow_goal(other)
    other.replaces = other
    with pytest.raises(TargetRefusedError):
        rig.follower.follow_goal(other)
    assert rig.follower.goal is rig.goal


def velocities(*values):
    """A tolerance of velocities, and what is measured one after the other."""
    measured = iter(values)
    return np.full(7, 0.05), lambda: np.full(7, next(measured, values[-1]))


@pytest.mark.parametrize(
    ('measured', 'end'),
    [
        ((0.0,), TrajectoryEnd.REACHED),
        ((np.nan,), TrajectoryEnd.REACHED),
        ((0.04,), TrajectoryEnd.REACHED),
        ((0.2,), TrajectoryEnd.OFF_GOAL),
    ],
)
def test_the_velocity_at_the_end_is_compared_where_it_is_measured(solver, measured, end):
    tolerance, measured_velocity = velocities(*measured)
    free = np.full(7, np.inf)
    tolerances = TrajectoryTolerances(free, free, 0.5, None, tolerance)
    rig = Replacing(solver, smooth_trajectory(solver.chain.joint_names, READY, AWAY, 1.0))
    begun = fitted(to(READY, 1.0), rig.chain, READY)
    goal = TrajectoryGoal(
        begun, rig.follower.limits, 0.01, tolerances, measured_velocity=measured_velocity
    )
    goal.replaces = rig.follower.goal
    rig.follower.follow_goal(goal)
    rig.until(lambda: goal.outcome is not None)
    assert goal.outcome.end is end
    if end is TrajectoryEnd.OFF_GOAL:
        assert "joint 'panda_joint1' moves at 0.2, not at 0" in goal.outcome.reason


def test_a_velocity_off_the_path_ends_it_at_rest(solver):
    free = np.full(7, np.inf)
    tolerance = np.array([np.inf, 0.05, *free[2:]])
    tolerances = TrajectoryTolerances(free, free, 1.0, tolerance)
    names = solver.chain.joint_names
    rig = Replacing(solver, smooth_trajectory(names, READY, AWAY, 2.0))
    trajectory = smooth_trajectory(names, READY, AWAY, 2.0)
    goal = TrajectoryGoal(
        trajectory, rig.follower.limits, 0.01, tolerances, measured_velocity=lambda: np.zeros(7)
    )
    goal.replaces = rig.follower.goal
    rig.follower.follow_goal(goal)
    rig.until(lambda: goal.outcome is not None)
    assert goal.outcome.end is TrajectoryEnd.OFF_PATH
    assert "joint 'panda_joint2' moves at 0, not at 0.0" in goal.outcome.reason
    rig.tick(50)
    np.testing.assert_allclose(rig.path[-1], rig.path[-2])
