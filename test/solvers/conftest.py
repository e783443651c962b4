"""Fixtures over all methods and all ways to keep the limits."""

import pytest

import ik_service as iks
from ik_service.solvers.options import JOINT_LIMIT_STRATEGIES


@pytest.fixture(params=iks.solver_names())
def solver(request):
    """Name of each method."""
    return request.param


@pytest.fixture(params=JOINT_LIMIT_STRATEGIES)
def strategy(request):
    """Name of each way to keep the limits."""
    return request.param
