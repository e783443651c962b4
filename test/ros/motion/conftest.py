"""Fixtures of the tests of following over real DDS."""

import pytest


@pytest.fixture(scope='module')
def shared_cell(shared_bench):
    """A node and a simulated arm that the tests of a module share."""
    from support.ros.cells import Cell

    return Cell(shared_bench)


@pytest.fixture
def cell(shared_cell):
    """The shared node and arm; the arm rests in the pose of READY, whatever tests did before."""
    shared_cell.rest()
    return shared_cell
