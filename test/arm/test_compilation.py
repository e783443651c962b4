"""Kernels that are compiled by another process or in the background, so that the node goes on."""

import os
import queue
import subprocess
import sys
import threading

import pytest
from support.chains import arm_path, planar
from support.scripts import without

import ik_service as iks
import ik_service.arm.compilation as compiling
from ik_service.arm.compilation import (
    Compiler,
    KernelPreparation,
    MOST_TREE_REQUESTS,
    TreePreparation,
)
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.exceptions import CompilationError, IkServiceError
from ik_service.kinematics.tree import KinematicTree
from ik_service.robot import Robot
from ik_service.solvers.solver import Solver

PREPARE = """
import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.arm.compilation import Compiler
from ik_service.paths.preparation import CartesianPathKernels
from ik_service.paths.search.problem import row_errors
warnings = []
chain = iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')
kernels = CartesianPathKernels(chain)
print(kernels.compiled)
Compiler(warnings.append).prepare(kernels)
print(kernels.compiled, sum(row_errors.stats.cache_hits.values()))
print(sum(row_errors.stats.cache_misses.values()), warnings)
"""


PATIENCE = 60.0  # for another thread [s]


class FakeSolver:
    """A solver of a name, that is not compiled until it is warmed up."""

    def __init__(self, name):
        self.name = name
        self.chain = None
        self.compiled = self.cached = False

    def warm_up(self):
        self.compiled = True


class FakeChild:
    """Stands for the process that compiles."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_compilation_runs_in_another_process(tmp_path):
    answer = subprocess.run(
        [sys.executable, '-c', PREPARE], capture_output=True, text=True, check=True,
        env={**os.environ, **without('.problem.row_errors.', tmp_path)},
    )  # fmt: skip
    assert answer.stdout.splitlines() == ['False', 'True 1', '0 []']


@pytest.mark.parametrize('reason', ['compiled', 'on disk', 'nowhere to keep it'])
def test_no_process_is_started_where_it_is_of_no_use(monkeypatch, reason):
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    solver = FakeSolver('bfgs')
    if reason == 'compiled':
        solver = iks.Solver(planar(1.0, 1.0))
        solver.warm_up()
    elif reason == 'on disk':
        solver.cached = True
    else:
        monkeypatch.setattr(compiling, 'cache_folder', lambda: None)
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
    compiler, errors, started = Compiler(pytest.fail), [], queue.SimpleQueue()

    def start(*arguments, **options):
        started.put(child := ChildProcess(*arguments, **options))
        return child

    monkeypatch.setattr(compiling, 'ChildProcess', start)

    def prepare():
        try:
            compiler.prepare(FakeSolver('extended_jacobian'))
        except IkServiceError as error:
            errors.append(str(error))

    thread = threading.Thread(target=prepare)
    thread.start()
    pid = started.get(timeout=PATIENCE).pid
    compiler.end()
    thread.join(PATIENCE)
    assert errors == ['the node is ending']
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_kernels_of_a_first_start_are_compiled_side_by_side_and_are_waited_for(monkeypatch):
    all_three, commands, goes = threading.Barrier(3, timeout=PATIENCE), [], threading.Event()

    class Child(FakeChild):
        def __init__(self, name, module, words):
            commands.append(' '.join(words))

        def wait_for(self, pattern, patience):
            all_three.wait()
            assert goes.wait(PATIENCE)
            raise ChildFailedError('it fails', '')  # then all is compiled when it is needed

    monkeypatch.setattr(compiling, 'ChildProcess', Child)
    monkeypatch.setattr(compiling, 'loaded_modules', lambda: ())
    compiler = Compiler(pytest.fail)
    Solver(planar(1.0, 1.0)).warm_up()
    compiler.begin('levenberg_marquardt')
    assert commands == [], 'of what is cached'
    monkeypatch.setattr(Solver, 'cached', False)
    # Two are of other nodes in this process; ccd leaves several poses to the default method.
    methods = ('levenberg_marquardt', 'levenberg_marquardt', 'ccd')
    compilers = [compiler, Compiler(pytest.fail), Compiler(pytest.fail)]
    for each, method in zip(compilers, methods, strict=True):
        each.begin(method)
    goes.set()
    for each in compilers:
        each.finish()
    several, batches = '--tree levenberg_marquardt', '--batch levenberg_marquardt'
    solvers = f'levenberg_marquardt --then {several} --then {batches}'
    assert sorted(commands) == ['--collisions', 'ccd --then --batch ccd', solvers]


def test_what_a_first_start_compiles_is_awaited_and_compiled_once(monkeypatch):
    commands, done, goes = [], [], threading.Semaphore(0)

    class Child(FakeChild):
        def __init__(self, name, module, words):
            commands.append(words)
            self.solves = len(words) > 1

        def wait_for(self, pattern, patience):
            if self.solves:
                assert goes.acquire(timeout=PATIENCE)
                done.append(pattern)

    monkeypatch.setattr(compiling, 'ChildProcess', Child)
    monkeypatch.setattr(compiling, 'loaded_modules', lambda: ())
    monkeypatch.setattr(Solver, 'cached', property(lambda self: len(done) > 1))
    monkeypatch.setattr(Solver, 'compiled', False)
    monkeypatch.setattr(Solver, 'warm_up', lambda self: done.append('loaded'))
    compiler = Compiler(pytest.fail)
    compiler.begin('levenberg_marquardt')
    tree = Solver(KinematicTree.of_chain(planar(1.0, 1.0)))
    request = threading.Thread(target=compiler.prepare, args=(tree,))
    request.start()
    goes.release()  # the solver for one pose
    compiler.finish()
    assert 'loaded' not in done
    goes.release(2)
    request.join(PATIENCE)
    assert 'loaded' in done
    assert len(commands) == 2


def test_a_solver_for_other_chains_is_left_to_its_arm(monkeypatch):
    monkeypatch.setattr(compiling, 'ChildProcess', None)
    compiler = Compiler(pytest.fail)
    compiler.begin('no such method')
    compiler.finish()


def test_an_ended_compiler_compiles_nothing_more():
    compiler = Compiler(pytest.fail)
    compiler.end()
    with pytest.raises(IkServiceError, match='ending'):
        compiler.prepare(FakeSolver('bfgs'))


class Compilation:
    """A compiler that goes as the test says, and what is heard of it."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.begun, self.goes = threading.Semaphore(0), threading.Semaphore(0)
        self.ready, self.errors = threading.Semaphore(0), []
        self.failed = threading.Event()
        self.preparation = KernelPreparation(self.ready.release, self._fail, 0.01)

    def begin(self):
        self.preparation.begin(self.compile)
        assert self.begun.acquire(timeout=PATIENCE)

    def compile(self):
        self.begun.release()
        assert self.goes.acquire(timeout=PATIENCE)
        if self.faults:
            raise self.faults.pop(0)

    def _fail(self, error):
        self.errors.append(error)
        self.failed.set()


def test_it_is_told_once_when_they_are_ready_also_for_arms_that_come_meanwhile():
    compilation = Compilation()
    compilation.begin()
    compilation.preparation.begin(compilation.compile)  # another arm
    assert not compilation.ready.acquire(blocking=False)
    compilation.goes.release()
    assert compilation.ready.acquire(timeout=PATIENCE)
    compilation.preparation.begin(compilation.compile)
    assert not compilation.begun.acquire(timeout=0.1)
    assert not compilation.ready.acquire(blocking=False)


def test_a_busy_compiler_is_asked_again():
    compilation = Compilation(CompilationError('others wait'), CompilationError('others wait'))
    compilation.goes.release(3)
    compilation.begin()
    assert compilation.ready.acquire(timeout=PATIENCE)
    assert not compilation.errors


@pytest.mark.parametrize('fault', [RuntimeError('no room'), ValueError('no such arm')])
def test_another_error_is_told_and_the_next_arm_is_another_try(fault):
    compilation = Compilation(fault)
    compilation.goes.release(2)
    compilation.begin()
    assert compilation.failed.wait(PATIENCE)
    assert compilation.errors == [fault]
    compilation.begin()
    assert compilation.ready.acquire(timeout=PATIENCE)


def test_after_the_end_nothing_is_told():
    compilation = Compilation()
    compilation.begin()
    compilation.preparation.end()
    compilation.goes.release()
    compilation.preparation.begin(compilation.compile)
    assert not compilation.ready.acquire(timeout=0.1)


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
        assert done.wait(PATIENCE)

    preparation.compile = compile_slowly
    waiting = [
        threading.Thread(target=preparation.finish, args=(solver,))
        for _ in range(MOST_TREE_REQUESTS)
    ]
    for thread in waiting:
        thread.start()
    for _ in waiting:
        assert begun.acquire(timeout=PATIENCE)
    with pytest.raises(CompilationError, match='still being compiled for several poses'):
        preparation.finish(solver)
    done.set()
    for thread in waiting:
        thread.join(PATIENCE)
    preparation.compile = lambda solver: pytest.fail('it was compiled twice')
    preparation.finish(solver)
