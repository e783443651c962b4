"""A node with the extra plan and a simulated arm, for all tests of a module."""

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
    from support.ros.plans import gone, LEFT
    from support.ros.trajectories import rest_at

    cell, mover = cell_and_mover
    for name in ('post', 'wall'):
        mover.change(gone(name))
    rest_at(cell, mover, LEFT)
    return cell
