"""
Files of the package whose functions one default solve runs, with their numbers of lines.

    python benchmarks/walk.py

``solve_ik`` is called for a chain for which no solver is prepared yet, with kernels that are
already compiled. Python functions are counted where they are called. What the compiled solve runs
is found by running it once more as plain Python, every kernel replaced by the function that it was
compiled from. So a file counts when a function of it runs; imports and decorators, which have
happened before, do not count, nor does building the chain. Behind that, the files are listed that
are compiled into the same solve for other options or harder targets.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
import sys
import time
from types import CodeType, FrameType, ModuleType
from unittest import mock

import numpy as np

import ik_service as iks
from ik_service.common.resources import urdf_path

PACKAGE = Path(iks.__file__).parent
SEED = (0.1, -0.5, 0.2, -2.0, 0.1, 1.5, 0.3)


def new_chain() -> iks.KinematicChain:
    """Chain for which no solver is prepared."""
    return iks.Robot.from_urdf(urdf_path('panda')).chain('panda_link0', 'panda_hand_tcp')


def files_run(call: Callable[[], object]) -> set[str]:
    """Files of the package whose functions a call runs."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == 'call':
            codes.add(frame.f_code)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return {code.co_filename for code in codes if code.co_filename.startswith(str(PACKAGE))}


def modules() -> list[ModuleType]:
    """Modules of the package that are imported."""
    return [m for name, m in list(sys.modules.items()) if name.startswith('ik_service') and m]


def _now(clock: object) -> int:
    return time.monotonic_ns()


def as_python(solve: Callable) -> tuple[Callable, list]:
    """The function behind a compiled solve, and the patches that make all it calls Python."""
    from ik_service.solvers.loop import iteration
    from ik_service.solvers.methods import levenberg_marquardt

    patches = [
        mock.patch.object(module, name, value.py_func)
        for module in modules()
        for name, value in list(vars(module).items())
        if hasattr(value, 'py_func')
    ]
    patches += [
        mock.patch.object(module, 'monotonic_ns', _now)
        for module in modules()
        if hasattr(module, 'monotonic_ns')
    ]
    step, chosen = levenberg_marquardt.levenberg_marquardt_step, iteration._step_within_limits
    patches.append(mock.patch.object(iteration, 'step', step))
    patches += [
        mock.patch.object(module, 'step_within_limits', chosen)
        for module in modules()
        if hasattr(module, 'step_within_limits')
    ]
    return solve.py_func, patches


def kernel_files_run(chain: iks.KinematicChain, target: np.ndarray) -> set[str]:
    """Files whose functions the compiled solve runs."""
    from ik_service.solvers.loop import search

    solver = iks.Solver(chain)
    function, patches = as_python(search.solve)
    q = chain.mid_range()
    call = partial(
        function, solver.problem(), solver.parameters, target, q.copy(), q, np.empty((0, 17))
    )
    for patch in patches:
        patch.start()
    try:
        return files_run(call)
    finally:
        for patch in reversed(patches):
            patch.stop()


def kernel_files() -> set[str]:
    """Files of all kernels that the compiled solve can reach, for this method."""
    from ik_service.solvers.loop import iteration, search
    from ik_service.solvers.methods import levenberg_marquardt

    found: set[str] = set()
    pending = [search.solve.py_func, iteration._step_within_limits]
    pending.append(levenberg_marquardt.levenberg_marquardt_step)
    seen: set[CodeType] = set()
    while pending:
        function = pending.pop()
        code = function.__code__
        if code in seen:
            continue
        seen.add(code)
        module = sys.modules.get(function.__module__)
        found.add(getattr(module, '__file__', None) or code.co_filename)
        for name in code.co_names:
            value = function.__globals__.get(name)
            if isinstance(value, ModuleType):
                pending += [
                    inner.py_func
                    for attribute in code.co_names
                    if hasattr(inner := getattr(value, attribute, None), 'py_func')
                ]
            elif hasattr(value, 'py_func'):
                pending.append(value.py_func)
    return {file for file in found if file.startswith(str(PACKAGE))}


def report(title: str, files: set[str]) -> None:
    """Print files with their lines."""
    lengths = {file: len(Path(file).read_text().splitlines()) for file in files}
    print(f'{title}: {len(files)} files, {sum(lengths.values())} lines')
    for file, lines in sorted(lengths.items()):
        print(f'  {lines:5}  {Path(file).relative_to(PACKAGE)}')


def main() -> None:
    """Print the files."""
    chain = new_chain()
    target = chain.forward(SEED)
    iks.solve_ik(chain, target)
    fresh = new_chain()
    run = files_run(lambda: iks.solve_ik(fresh, target)) | kernel_files_run(fresh, target)
    report('one default solve runs', run)
    report('compiled in for other options and targets', kernel_files() - run)


if __name__ == '__main__':
    main()
