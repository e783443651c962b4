"""Compilation for several poses and tolerances, while requests wait for it."""

import threading

import pytest
from support.chains import arm_path

from ik_service.arm.tree_preparation import MOST_WAITING, TreePreparation
from ik_service.exceptions import CompilationError
from ik_service.robot import Robot
from ik_service.solvers.solver import Solver


def test_a_chain_is_not_waited_for():
    preparation = TreePreparation()
    preparation.compile = lambda solver: pytest.fail('a chain was compiled')
    preparation.finish(Solver(Robot.from_urdf(arm_path('panda')).chain(None, 'panda_hand_tcp')))


def test_only_so_many_requests_wait_for_the_compiler():
    tree = Robot.from_urdf(arm_path('upper_body')).tree(None, ['left_grip', 'right_grip'])
    solver, preparation = Solver(tree), TreePreparation()
    begun, done = threading.Semaphore(0), threading.Event()

    def compile_slowly(_):
        begun.release()
        assert done.wait(10.0)

    preparation.compile = compile_slowly
    waiting = [
        threading.Thread(target=preparation.finish, args=(solver,)) for _ in range(MOST_WAITING)
    ]
    for thread in waiting:
        thread.start()
    for _ in waiting:
        assert begun.acquire(timeout=10.0)
    with pytest.raises(CompilationError, match='still being compiled for several poses'):
        preparation.finish(solver)
    done.set()
    for thread in waiting:
        thread.join(10.0)
    preparation.compile = lambda solver: pytest.fail('it was compiled twice')
    preparation.finish(solver)
