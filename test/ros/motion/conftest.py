"""Fixtures of the tests of following over real DDS."""

import pytest
from support.harness import Bench
from support.ros.cells import Cell


@pytest.fixture(scope='module')
def shared_cell(ros_context, tmp_path_factory):
    """A node and a simulated arm that the tests of a module share."""
    bench = Bench(ros_context, tmp_path_factory.mktemp('cell'))
    try:
        yield Cell(bench)
    finally:
        bench.close()


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in the pose of READY, whatever tests did before."""
    shared_cell.rest()
    return shared_cell
