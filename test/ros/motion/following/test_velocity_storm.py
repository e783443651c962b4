"""Velocities that are sent, whatever happens: the storm, judged from outside and by the gate."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.follower_helpers import panda_solver
from support.velocity_storm import VelocityStorm


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, False), (3, True)])
def test_whatever_happens_velocities_stay_within_the_limits_and_end_with_zeros(seed, jerk):
    storm = VelocityStorm(panda_solver(), seed, jerk)
    storm.run(3000)
    seen = storm.velocities
    assert seen.messages > 300
    assert seen.worst['velocity'] <= 1.0 + 1e-5
    assert seen.worst['acceleration'] <= 1.0 + 1e-4
    assert (seen.malformed, storm.ended) == (0, 0)
    assert storm.channel.refusals == 0
