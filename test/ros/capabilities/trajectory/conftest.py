"""Fixtures of the tests of trajectories over real DDS."""

import numpy as np
import pytest


@pytest.fixture(scope='module')
def shared_cell(shared_bench):
    """A node and a simulated arm that the tests of a module share, and clients of its actions."""
    from support.ros.cells import Cell
    from support.ros.trajectories import Player

    return Cell(shared_bench), Player(shared_bench)


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in READY, whatever tests did before."""
    from std_srvs.srv import Trigger
    from support.ros.cells import READY
    from support.ros.trajectories import message

    cell, player = shared_cell
    cell.bench.call(Trigger, 'ik_service/stop', Trigger.Request())

    def is_ready(state):
        return np.abs(cell.positions(state) - READY).max() < 1e-4

    state = cell.states.next()
    if len(cell.commands) or not is_ready(state):
        seconds = 0.5 + 2.0 * (np.abs(cell.positions(state) - READY) / cell.chain.velocity).max()
        end, result = player.follow(message([seconds], [READY])).result()
        assert end == 'succeeded', result
        cell.states.wait(is_ready, since=len(cell.states))
    cell.commands.clear()
    cell.states.clear()
    return cell


@pytest.fixture
def player(shared_cell):
    """Clients of the actions of the shared node."""
    return shared_cell[1]
