"""Fixtures of the tests of nodes and of their parts."""

import pytest


@pytest.fixture(scope='session')
def arm(panda_model):
    """Our Panda, built as the node builds it."""
    return panda_model
