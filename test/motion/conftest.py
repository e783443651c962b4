"""Fixtures of the tests of following; the robots are made in chains.py above."""

import pytest


@pytest.fixture(scope='session')
def solver():
    """The default solver of our Panda."""
    from support.motion.rigs import panda_solver

    return panda_solver()


@pytest.fixture
def rig(solver):
    """A follower and a perfect arm, ready and measured."""
    from support.motion.rigs import READY, Rig

    return Rig(solver, READY).measure()
