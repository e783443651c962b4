"""Short runs of the randomised stress tests of the follower, see support/motion/storm.py."""

import pytest
from support.motion.storm import BoundedObserver, bounds_of, GoalStorm, Storm, WalledGoalStorm

TICKS = 3000


def run(storm, ticks=TICKS):
    """Run a storm, check what holds in all of them, and return its observer."""
    storm.run(ticks)
    seen = storm.observer
    assert seen.commands > ticks // 5
    assert seen.starts > 5
    assert seen.worst_step <= 1.0 + 1e-6
    assert seen.worst_speed_step <= 1.0 + 1e-6
    assert (seen.outside, seen.early, seen.unfinished) == (0, 0, 0)
    assert storm.follower.violations == 0
    assert storm.gate.corrected == 0, storm.gate.reason
    return seen


def test_commands_stay_within_their_bounds_under_random_faults(solver):
    storm = Storm(solver, 1)
    seen = run(storm)
    assert len(storm.faults.happened) == 9, 'everything has happened'
    assert seen.worst_start < 0.05, 'streams begin where the arm is'


def test_targets_references_and_hostile_velocities_together_stay_within_them_too(solver):
    storm = GoalStorm(solver, 2)
    assert run(storm).worst_start < 0.05
    assert storm.faults.happened['servo'] > 5
    assert storm.faults.happened['trajectory'] > 2
    assert storm.ended_once


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, True)])
def test_every_joint_keeps_its_own_bounds_under_random_faults(solver, seed, jerk):
    storm = GoalStorm(solver, seed, BoundedObserver, bounds=bounds_of(solver.chain, jerk))
    run(storm)


def test_in_even_ticks_the_jerk_keeps_its_bounds_whatever_is_asked_for(solver):
    bounds = bounds_of(solver.chain)
    storm = GoalStorm(solver, 1, BoundedObserver, regular=True, bounds=bounds)
    assert 0.5 < run(storm).worst_jerk <= 1.0 + 1e-6


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, True)])
def test_among_walls_no_aim_leads_into_one(solver, seed, jerk):
    bounds = {'bounds': bounds_of(solver.chain)} if jerk else {}
    storm = WalledGoalStorm(solver, seed, **bounds)
    assert run(storm).collisions == 0
    assert storm.stops > 20
