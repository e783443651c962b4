"""Fixtures over all methods and all ways to keep the limits."""

from concurrent.futures import ThreadPoolExecutor
import threading

import pytest

import ik_service as iks
from ik_service.solvers.loop import search
from ik_service.solvers.options import JOINT_LIMIT_STRATEGIES


@pytest.fixture(params=iks.solver_names())
def solver(request):
    """Name of each method."""
    return request.param


@pytest.fixture(params=JOINT_LIMIT_STRATEGIES)
def strategy(request):
    """Name of each way to keep the limits."""
    return request.param


@pytest.fixture
def keeping():
    """Names of the ways to keep the limits that do not ignore them."""
    return [name for name in JOINT_LIMIT_STRATEGIES if name != 'ignore']


@pytest.fixture
def others_solve_last(monkeypatch):
    """Call after which threads beside the main one solve nothing before their batch is to end."""
    ending = threading.Event()
    solve_many, shutdown = search.solve_many, ThreadPoolExecutor.shutdown

    def solve(*arguments):
        assert threading.current_thread() is threading.main_thread() or ending.wait(60.0)
        return solve_many(*arguments)

    def end(pool, **settings):
        ending.set()
        shutdown(pool, **settings)

    def begin():
        monkeypatch.setattr(search, 'solve_many', solve)
        monkeypatch.setattr(ThreadPoolExecutor, 'shutdown', end)

    return begin
