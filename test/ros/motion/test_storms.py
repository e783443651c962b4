"""What a controller makes of the windows, whatever happens: the storm, judged from outside."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.motion.rigs import panda_solver
from support.motion.window_storm import VelocityStorm, WindowStorm


@pytest.mark.parametrize(('seed', 'jerk'), [(1, False), (2, False), (1, True), (2, True)])
def test_whatever_happens_a_controller_moves_within_the_limits(seed, jerk):
    storm = WindowStorm(panda_solver(), seed, jerk)
    storm.run(3000)
    seen = storm.windows
    assert seen.messages > 300
    figures = 'speed', 'step', 'acceleration', 'rest speed', 'rest acceleration'
    for figure in (*figures, 'jerk', 'rest jerk'):  # none without limits of jerk
        assert seen.worst.get(figure, 0.0) <= 1.021, (figure, seen.moments[figure])
    assert seen.worst['overrun'] <= 1e-6
    assert seen.worst['rest lasts'] < 5.0
    assert seen.over == 0
    assert storm.joints.gate.refused == 0


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
