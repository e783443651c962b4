"""Following with an arm that has mass, over real DDS."""

import time

import numpy as np
import pytest
from support.ros.cells import Cell

from ik_service.kinematics.pose_error import pose_error


@pytest.mark.slow
def test_a_target_is_held_against_gravity(bench):
    pytest.importorskip('mujoco', reason='the extra sim is not installed')
    cell = Cell(bench, sim={'engine': 'mujoco', 'rate': 500.0})
    target = cell.pose_beside_ready(0.2, 0.15, -0.1)
    cell.send(target)
    cell.states.wait(cell.is_at(target, 1e-3), timeout=20.0)
    time.sleep(0.5)
    cell.states.clear()
    time.sleep(0.5)
    for state in cell.states.messages:
        error = pose_error(cell.chain.forward(cell.positions(state)), target)
        assert np.linalg.norm(error[:3]) < 1e-3, 'steady within 1 mm'
        assert np.linalg.norm(error[3:]) < np.radians(0.2), 'and 0.2°'
    assert max(map(abs, state.effort)) > 15.0, 'although it is heavy'
    cell.assert_commands_keep_the_bounds(0.8)
