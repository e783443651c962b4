"""A short run of the randomised stress test of the follower, see storm.py."""

import pytest
from support.storm import Storm

TICKS = 6000


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_commands_stay_within_their_bounds_under_random_faults(solver, seed):
    storm = Storm(solver, seed)
    storm.run(TICKS)
    seen = storm.observer
    assert seen.commands > TICKS // 4
    assert seen.starts > 5
    assert len(storm.faults.happened) == 9, 'everything has happened'
    assert seen.worst_step <= 1.0 + 1e-6
    assert seen.worst_speed_step <= 1.0 + 1e-6
    assert seen.worst_start < 0.05, 'streams begin where the arm is'
    assert (seen.outside, seen.early, seen.unfinished) == (0, 0, 0)
    assert storm.follower.violations == 0
