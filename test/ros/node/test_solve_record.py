"""Numbers of a solve as values of the diagnostics."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from rclpy.time import Time
from support.ros.servers import hopeless, panda_arm, reachable

from ik_service.ros.node.diagnostics import solve_values
from ik_service.ros.requests.service_handler import SolveRecord
from ik_service.solvers.result import IkStatus
from ik_service.solvers.solver import Solver


@pytest.mark.parametrize('reached', [True, False])
def test_every_number_can_be_read_back(reached):
    arm = panda_arm()
    solver = Solver(arm.chain)
    result = solver.solve(reachable(arm) if reached else hopeless(), arm.chain.mid_range())
    stamp = Time(seconds=7, nanoseconds=5)
    values = solve_values(SolveRecord(stamp, 'compute_ik', solver.name, result))
    assert all(key.startswith('last_solve.') for key in values)
    values = {key.removeprefix('last_solve.'): value for key, value in values.items()}
    assert IkStatus[values['status']] is result.status
    assert result.success is reached
    assert int(values['iterations']) == result.iterations
    assert int(values['searches']) == result.searches
    assert float(values['solve_time']) == result.solve_time
    assert float(values['position_error']) == result.position_error
    assert float(values['orientation_error']) == result.orientation_error
    assert values['solver'] == 'levenberg_marquardt'
    assert values['source'] == 'compute_ik'
    assert values['stamp'] == '7.000000005'
