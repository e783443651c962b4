"""Two nodes of one name that both get the same targets: one of them moves the arm."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from support.harness import until
from support.ros.cells import Cell, CHAIN, NODE, RATE

pytestmark = pytest.mark.dds

TWO = 'ik_service runs, or was killed'
GAVE_WAY = 'ik_service commands the arm'  # too, or began before: at its start, or later


@pytest.fixture
def cell(bench):
    return Cell(bench)


@pytest.fixture
def second(cell):
    parameters = {'publish_rate': RATE, 'velocity_scaling': 0.8, **CHAIN}
    second = cell.bench.start(NODE, urdf=cell.urdf, **parameters)
    for node in (cell.node, second):
        until(lambda node=node: TWO in node.output, 20.0, 'both to say that there are two')
    return second


def test_of_two_nodes_one_moves_the_arm(cell, second):
    """Both start with the first target; the later one gives way, and the arm arrives."""
    target = cell.pose_beside_ready(0.05, -0.3, 0.1)

    def gave_way():
        cell.send(target)  # until both have heard of it
        return GAVE_WAY in cell.node.output + second.output

    until(gave_way, 20.0, 'one to give way', period=0.2)
    time.sleep(0.5)  # for its ramp
    since = len(cell.commands)
    cell.states.wait(cell.is_at(target), timeout=20.0)
    until(lambda: time.monotonic() - cell.commands.times[-1] > 1.0, 10.0, 'the commands to end')
    assert (GAVE_WAY in cell.node.output) != (GAVE_WAY in second.output)
    path = np.array([cell.positions(message) for message in cell.commands.messages[since:]])
    assert len(path) > 0.2 * RATE, 'most of those of a second at rest'
    assert (np.abs(np.diff(path, axis=0)) <= 2.0 * cell.chain.velocity / RATE).all()
