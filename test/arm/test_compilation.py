"""Solvers that are compiled by another process, so that the node goes on."""

import os
import subprocess
import sys
import threading
import time

import pytest
from support.chains import planar

import ik_service as iks
import ik_service.arm.compilation as compiling
from ik_service.arm.compilation import Compiler
from ik_service.exceptions import IkServiceError
from ik_service.kinematics.tree import KinematicTree

PREPARE = """
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.arm.compilation import Compiler
from ik_service.solvers.loop import search
warnings = []
chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
solver = iks.Solver(chain, 'transpose')
print(solver.compiled)
Compiler(warnings.append).prepare(solver)
print(solver.compiled, sum(search.solve.stats.cache_hits.values()))
print(sum(search.solve.stats.cache_misses.values()), warnings)
"""


class FakeSolver:
    """A solver of a name, that is not compiled until it is warmed up."""

    def __init__(self, name):
        self.name = name
        self.chain = None
        self.compiled = self.cached = False

    def warm_up(self):
        self.compiled = True


@pytest.mark.slow
def test_compilation_runs_in_another_process(tmp_path):
    answer = subprocess.run(
        [sys.executable, '-c', PREPARE], capture_output=True, text=True, check=True,
        env={**os.environ, 'XDG_CACHE_HOME': str(tmp_path), 'NUMBA_CACHE_DIR': ''},
    )  # fmt: skip
    assert answer.stdout.splitlines() == ['False', 'True 1', '0 []']


def test_compiled_solver_starts_no_process(monkeypatch):
    solver = iks.Solver(planar(1.0, 1.0))
    solver.warm_up()
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    Compiler(pytest.fail).prepare(solver)


def test_what_is_on_disk_is_loaded_without_a_process(monkeypatch):
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    solver = FakeSolver('bfgs')
    solver.cached = True
    Compiler(pytest.fail).prepare(solver)
    assert solver.compiled


def test_trees_have_kernels_of_their_own():
    solver = iks.Solver(planar(1.0, 1.0))
    solver.warm_up()
    assert solver.compiled
    assert solver.cached
    tree = iks.Solver(KinematicTree.of_chain(solver.chain))
    tree.warm_up()
    assert tree.compiled
    assert tree.cached


def test_without_a_cache_no_process_is_started(monkeypatch):
    monkeypatch.setattr(compiling, 'cache_folder', lambda: None)
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    solver = FakeSolver('bfgs')
    Compiler(pytest.fail).prepare(solver)
    assert solver.compiled


def test_failed_compiler_is_reported_and_the_node_compiles():
    said = []
    solver = FakeSolver('no such method')
    Compiler(said.append).prepare(solver)
    assert solver.compiled
    (sentence,) = said
    assert sentence.startswith(
        'no such method is compiled in the process of the node, which may delay commands: '
    )
    assert 'UnknownSolverError' in sentence


def test_ending_node_ends_the_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))  # of the other process: all is compiled
    monkeypatch.setenv('NUMBA_CACHE_DIR', '')
    compiler, errors = Compiler(pytest.fail), []

    def prepare():
        try:
            compiler.prepare(FakeSolver('extended_jacobian'))
        except IkServiceError as error:
            errors.append(str(error))

    thread = threading.Thread(target=prepare)
    thread.start()
    while (child := compiler._child) is None:
        assert thread.is_alive()
        time.sleep(0.01)
    pid = child.pid
    compiler.end()
    thread.join(10.0)
    assert errors == ['the node is ending']
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_ended_compiler_compiles_nothing_more():
    compiler = Compiler(pytest.fail)
    compiler.end()
    with pytest.raises(IkServiceError, match='ending'):
        compiler.prepare(FakeSolver('bfgs'))
