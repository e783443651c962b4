"""A node with the extra plan and a simulated arm, for all tests of a module."""

import numpy as np
import pytest


@pytest.fixture(scope='module')
def cell_and_mover(ros_context, tmp_path_factory):
    from support.harness import Bench
    from support.ros.cells import Cell
    from support.ros.plans import Mover

    bench = Bench(ros_context, tmp_path_factory.mktemp('cell'))
    try:
        yield Cell(bench), Mover(bench)
    finally:
        bench.close()


@pytest.fixture
def mover(cell_and_mover):
    return cell_and_mover[1]


@pytest.fixture
def cell(cell_and_mover):
    """The shared node and arm, in an empty world; the arm rests at LEFT."""
    from std_srvs.srv import Trigger
    from support.ros.cells import until_silent
    from support.ros.plans import gone, LEFT
    from support.ros.trajectories import message

    cell, mover = cell_and_mover
    cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())
    for name in ('post', 'wall'):
        mover.objects.publish(gone(name))

    def is_there(state):
        return np.abs(cell.positions(state) - LEFT).max() < 1e-4

    state = cell.states.next()
    if len(cell.commands) or not is_there(state):
        seconds = 0.5 + 2.0 * (np.abs(cell.positions(state) - LEFT) / cell.chain.velocity).max()
        end, result = mover.follow(message([seconds], [LEFT])).result()
        assert end == 'succeeded', result
        cell.states.wait(is_there, since=len(cell.states))
        until_silent(cell.commands)
    cell.commands.clear()
    cell.states.clear()
    cell.start = LEFT
    return cell
