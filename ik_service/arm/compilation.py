"""
Compilation of solvers in a separate process, so that a running node is not blocked.

The compiler holds the interpreter for up to half a second at a time, in which a moving arm would
get no commands. So while the node is at work, kernels are compiled by another process,
which runs this module, and loaded from the cache on disk:

    python -m ik_service.arm.compilation [--tree] bfgs [module that registers it]
    python -m ik_service.arm.compilation --batch bfgs [module that registers it]
    python -m ik_service.arm.compilation --paths [--elimination]
    python -m ik_service.arm.compilation --collisions

``--then`` between such words makes one process compile several things, one after the other. What
their kernels have in common is compiled once there.

Kernels depend on the method, and on whether it is for a chain or a tree, not on the arm, but that
some arms need the elimination. The process runs at low priority.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from itertools import groupby
import os
import sys
import threading

from ik_service.arm.arm import Arm
from ik_service.arm.group import SolverSettings
from ik_service.common.child_process import ChildFailedError, ChildProcess
from ik_service.common.resources import urdf_path
from ik_service.exceptions import CompilationError, OptionError
from ik_service.jit.cached_files import cache_folder
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.tree import KinematicTree
from ik_service.paths.preparation import CartesianPathKernels
from ik_service.robot import Robot
from ik_service.solvers.batch import BatchKernels
from ik_service.solvers.registry import DEFAULT_SOLVER, load_solvers, loaded_modules
from ik_service.solvers.solver import Solver

DONE = 'compiled'  # begins the line that the process prints after each thing, with its number
_MODULE = 'ik_service.arm.compilation'
_TREE, _PATHS, _BATCH, _ELIMINATION = '--tree', '--paths', '--batch', '--elimination'
_COLLISIONS, _THEN = '--collisions', '--then'
_PATIENCE = 600.0  # time for the compiler [s]
MOST_WAITING = 4  # changes of parameters that wait for a compiler, at most
Compiled = Solver | CartesianPathKernels | BatchKernels  # anything that can be compiled
_Words = tuple[str, ...]  # of the command line, for one thing to compile


_TURN = threading.Lock()
"""Held by the compiler that compiles: of several nodes, all but the first find its kernels."""

_STARTING = threading.Lock()
_starting: dict[_Words, threading.Event] = {}
"""Compilations for the first start of a node in this process, with what is set at their end."""

_LOOK = 0.5  # time between two looks whether a compiler that waits shall end [s]


class Compiler:
    """
    Compiler of solvers, one after the other in all of a process; safe to share between threads.

    :param warn: called with a sentence when a solver has to be compiled in this process.
    """

    def __init__(self, warn: Callable[[str], object]) -> None:
        self._warn = warn
        self._children: set[ChildProcess] = set()
        self._first: list[threading.Event] = []
        self._ended = False
        self._places = threading.Semaphore(MOST_WAITING)

    def begin(self, name: str) -> None:
        """
        Begin to compile what a node needs first, side by side; nothing happens where it is cached.

        The solver is followed by what the first requests may need.

        :param name: name of the solver.
        """
        try:
            if cache_folder() is None or (solver := Solver(_any_chain(), name)).cached:
                return
            solvers = _all_words_of(solver)
        except Exception:  # of a solver that is for other chains; it is compiled for the arm
            return
        for jobs in (solvers, [(_COLLISIONS,)]):
            with _STARTING:
                if jobs[0] not in _starting:
                    ends = {words: threading.Event() for words in jobs if words not in _starting}
                    _starting.update(ends)
                    threading.Thread(target=self._try, args=(ends,), daemon=True).start()
                self._first.append(_starting[jobs[0]])

    def finish(self) -> None:
        """Return when the first things of :meth:`begin` are done; some may be missing yet."""
        for end in self._first:
            end.wait()

    def _try(self, ends: Mapping[_Words, threading.Event]) -> None:
        try:
            with suppress(ChildFailedError, OSError):  # then it is compiled when it is needed
                self._run(ends)
        finally:
            for words, end in ends.items():
                with _STARTING:
                    del _starting[words]
                end.set()

    def prepare(self, solver: Compiled, refusable: bool = False) -> None:
        """
        Compile a solver or load its code; returns when it is ready to solve.

        :param solver: the solver, or the kernels of paths or of batches.
        :param refusable: whether it is refused while :data:`MOST_WAITING` such ones wait.
        :raises CompilationError: the compiler was ended meanwhile, or too many wait for it.
        """
        if not (solver.compiled or solver.cached or cache_folder() is None):
            begun = _starting.get(_words_of(solver))
            while begun is not None and not begun.wait(_LOOK):
                self._check()
            if not solver.cached:
                with self._place(solver.name) if refusable else nullcontext():
                    self._compile_in_turn(solver)
        solver.warm_up()

    @contextmanager
    def _place(self, name: str) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise CompilationError(
                f'{name} is not compiled yet, and {MOST_WAITING} others wait for that; '
                'try again in a minute'
            )
        try:
            yield
        finally:
            self._places.release()

    def _compile_in_turn(self, solver: Compiled) -> None:
        try:
            with self._turn():
                if not (solver.compiled or solver.cached):  # by the one before
                    self._run({_words_of(solver): threading.Event()})
        except (ChildFailedError, OSError) as error:
            if self._ended:
                raise CompilationError('the node is ending') from error
            self._warn(
                f'{solver.name} is compiled in the process of the node, which may delay commands: '
                f'{error}'
            )

    @contextmanager
    def _turn(self) -> Iterator[None]:
        while not _TURN.acquire(timeout=_LOOK):
            self._check()
        try:
            yield
        finally:
            _TURN.release()

    def end(self) -> None:
        """End the compiler, and the compilation in progress."""
        self._ended = True
        for child in self._children.copy():
            child.kill()

    def _check(self) -> None:
        if self._ended:
            raise CompilationError('the node is ending')

    def _run(self, ends: Mapping[_Words, threading.Event]) -> None:
        """Compile things in one process, and set the end of each."""
        arguments = [word for words in ends for word in (_THEN, *words)][1:]
        with ChildProcess('the compiler', _MODULE, arguments) as child:
            self._children.add(child)
            try:
                if self._ended:  # before there was something to end
                    child.kill()
                for number, end in enumerate(ends.values()):
                    child.wait_for(f'^{DONE} {number}$', _PATIENCE)
                    end.set()
            finally:
                self._children.discard(child)


def _words_of(solver: Compiled) -> _Words:
    """Return the words for a solver, or for the kernels of paths or of batches."""
    if isinstance(solver, CartesianPathKernels):
        return (_PATHS, _ELIMINATION) if solver.eliminates else (_PATHS,)
    words = solver.name, *loaded_modules()
    if isinstance(solver, BatchKernels):
        return _BATCH, *words
    return (_TREE, *words) if isinstance(solver.chain, KinematicTree) else words


def _all_words_of(solver: Solver) -> list[_Words]:
    """Return the words for the method of a solver: for one pose, for several, and for batches."""
    tree = KinematicTree.of_chain(solver.chain)
    try:
        several = Solver(tree, solver.name)
    except OptionError:  # the method is for one pose
        several = Solver(tree, DEFAULT_SOLVER)
    return [_words_of(each) for each in (solver, several, BatchKernels(solver))]


class KernelPreparation:
    """
    Compilation of kernels, once, whatever the arm. Thread-safe.

    :param on_ready: called once, in a thread of its own, when they are ready.
    :param on_error: called with an exception that ends the preparation; the next :meth:`begin`
        tries again.
    :param pause: before another try where the compiler was occupied [s].
    """

    def __init__(
        self,
        on_ready: Callable[[], object],
        on_error: Callable[[Exception], object],
        pause: float = 5.0,
    ) -> None:
        self._on_ready, self._on_error = on_ready, on_error
        self._pause = pause
        self._turn, self._report = threading.Lock(), threading.Lock()
        self._is_ready = False
        self._ended = threading.Event()

    def begin(self, compiled: Callable[[], object]) -> None:
        """
        Begin the compilation, in a thread of its own; nothing happens where it is done.

        :param compiled: compiles them, or loads their code; returns when they are ready.
        """
        if not self._is_ready:
            work = partial(self._prepare, compiled)
            threading.Thread(target=work, name='kernel preparation', daemon=True).start()

    def end(self) -> None:
        """From now on, nothing is called any more."""
        with self._report:
            self._ended.set()

    def _prepare(self, compiled: Callable[[], object]) -> None:
        with self._turn:
            while not (self._is_ready or self._ended.is_set()):
                try:
                    compiled()
                except CompilationError:  # the compiler is busy with others, or ends
                    self._ended.wait(self._pause)
                    continue
                except Exception as error:
                    self._tell(partial(self._on_error, error))
                    return
                self._is_ready = True
                self._tell(self._on_ready)

    def _tell(self, news: Callable[[], object]) -> None:
        with self._report:
            if not self._ended.is_set():
                news()


MOST_TREE_REQUESTS = 2
"""Requests that may wait for the compiler; the node has a thread more, for all other requests."""


class TreePreparation:
    """
    Compilation of the kernels of trees, which depend on the method only. Thread-safe.

    :ivar compile: compiles a solver, or loads its code; returns when it is ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[Solver], object] = lambda solver: solver.warm_up()
        self._compiled: set[str] = set()
        self._places = threading.Semaphore(MOST_TREE_REQUESTS)

    def begin(self, arm: Arm, settings: SolverSettings) -> None:
        """Begin the compilation for an arm and the settings of a solver, in a thread."""
        prepared = arm.group.tree_solvers[arm.group.tip_links, settings]

        def prepare() -> None:
            with suppress(CompilationError):  # whoever needs it gets the error from :meth:`finish`
                self._prepare(prepared.solver)

        threading.Thread(target=prepare, name='tree preparation', daemon=True).start()

    def finish(self, solver: Solver) -> None:
        """
        Return when a solver is compiled; at once where it is not that of a tree.

        :raises CompilationError: it could not be compiled, or too many others wait.
        """
        if solver.name in self._compiled or not isinstance(solver.chain, KinematicTree):
            return
        if not self._places.acquire(blocking=False):
            raise CompilationError(
                f'{solver.name} is still being compiled for several poses and for tolerances, and '
                f'{MOST_TREE_REQUESTS} other requests wait for it; try again in a minute'
            )
        try:
            self._prepare(solver)
        finally:
            self._places.release()

    def _prepare(self, solver: Solver) -> None:
        if solver.name not in self._compiled:
            self.compile(solver)
            self._compiled.add(solver.name)


class BatchPreparation:
    """
    Compilation of the kernels of batches, which depend on the method only. Thread-safe.

    :ivar compile: compiles them, or loads their code; returns when they are ready.
    """

    def __init__(self) -> None:
        self.compile: Callable[[BatchKernels], object] = lambda kernels: kernels.warm_up()
        self._turn = threading.Lock()
        self._ready: set[str] = set()

    def finish(self, solver: Solver) -> None:
        """Return when the kernels for a chain's solver are ready; raises CompilationError."""
        with self._turn:
            if solver.name not in self._ready:
                self.compile(BatchKernels(solver))
                self._ready.add(solver.name)


def _any_robot() -> Robot:
    return Robot.from_urdf(urdf_path('planar_6r'))


@cache
def _any_chain() -> KinematicChain:
    return _any_robot().chain('base_link', 'tool0')


def main() -> None:
    """Compile the kernels that the command line names."""
    os.nice(5)
    parts = groupby(sys.argv[1:], lambda word: word == _THEN)
    for number, words in enumerate([*part] for between, part in parts if not between):
        _compile(words)
        print(DONE, number)


def _compile(words: list[str]) -> None:
    """Compile the kernels that some words name."""
    chain = _any_chain()
    if words[0] == _PATHS:
        CartesianPathKernels(chain, _ELIMINATION in words).warm_up()
    elif words[0] == _COLLISIONS:
        from ik_service.collision.checker import CollisionChecker  # only with the extra

        CollisionChecker(_any_robot())
    else:
        kinds = {word for word in words[:1] if word in (_TREE, _BATCH)}
        name, *modules = words[len(kinds) :]
        load_solvers(modules)
        solver = Solver(KinematicTree.of_chain(chain) if _TREE in kinds else chain, name)
        (BatchKernels(solver) if _BATCH in kinds else solver).warm_up()


if __name__ == '__main__':
    main()
