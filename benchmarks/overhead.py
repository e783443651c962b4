"""Time of a call besides the solver, and time of a fresh process until its first solution."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import subprocess
import sys
import tempfile
from time import perf_counter
import zlib

import numpy as np
from records import options, progress, save
from robots import all_robots, BenchRobot
from timing import quartiles, use_one_core

import ik_service as iks

_NOTHING = 'pass'
_IMPORT = 'import ik_service'
# Numba imports these where they are installed, though this package does not need them.
_BARE = 'import sys\nsys.modules.update(scipy=None, coverage=None)\n'
# The smallest compiled function: a file, because Numba caches no other.
_ONE_LINE = """
import numba
@numba.njit(cache=True)
def following(number):
    return number + 1
assert following(1) == 2
"""
# Everything that the service calls: the solver, forward kinematics and the Jacobian.
_FIRST_SOLVE = """
import ik_service as iks
chain = iks.Robot.from_urdf({path!r}).chain({base!r}, {tip!r})
q = chain.mid_range()
solver = iks.Solver(chain)
solver.warm_up()
assert solver.solve(chain.forward(q), q).success
"""


def main() -> None:
    """Measure and save."""
    args = options(
        __doc__, count=(5000, 'calls of each kind'), repeats=(5, 'processes of each kind'), seed=1
    )
    use_one_core()
    robot = all_robots()['panda']
    progress('overhead: calls')
    rows = calls(robot, args.count, args.seed)
    progress('overhead: fresh processes')
    rows += starts(robot, args.repeats)
    save('overhead', rows, count=args.count, repeats=args.repeats, seed=args.seed)


def calls(robot: BenchRobot, count: int, seed: int) -> list[dict[str, object]]:
    """Time of a call less that of the compiled solver, which the result states."""
    chain = robot.chain
    rng = np.random.default_rng(seed)
    postures = rng.uniform(chain.lower, chain.upper, (count, chain.n))
    targets = [chain.forward(q) for q in postures]
    solver = iks.Solver(chain)
    solver.warm_up()

    def function(T: np.ndarray, seed: np.ndarray) -> iks.IkResult:
        return iks.solve_ik(chain, T, seed)

    middle = chain.mid_range()
    kinds: list[tuple[str, str, Callable, list[np.ndarray]]] = [
        ('Solver.solve', 'seed is the solution', solver.solve, list(postures)),
        ('Solver.solve', 'seed mid-range', solver.solve, [middle] * count),
        ('solve_ik', 'seed is the solution', function, list(postures)),
        ('solve_ik', 'seed mid-range', function, [middle] * count),
    ]
    spent = [[] for _ in kinds]
    for first in range(0, count, 250):
        part = slice(first, first + 250)
        for k, (_, _, call, seeds) in enumerate(kinds):
            for T, start in zip(targets[part], seeds[part], strict=True):
                began = perf_counter()
                result = call(T, start)
                spent[k].append((perf_counter() - began, result.solve_time))
    return [
        {
            'what': f'{name}, {seeds}',
            'unit': 'µs beside the solver',
            **quartiles('median', 1e6 * np.subtract(*np.transpose(times))),
            'whole_call_median': 1e6 * float(np.median(times, axis=0)[0]),
        }
        for (name, seeds, _, _), times in zip(kinds, spent, strict=True)
    ]


def starts(robot: BenchRobot, repeats: int) -> list[dict[str, object]]:
    """Times from the start of a process until its program is done."""
    solve = _FIRST_SOLVE.format(path=str(robot.path), base=robot.base_link, tip=robot.tip_link)
    with tempfile.TemporaryDirectory() as warm:
        programs = {
            'Python alone': (_NOTHING, warm),
            'import ik_service': (_IMPORT, warm),
            'first solve, warm cache': (_BARE + solve, warm),
            'first solve, warm cache, SciPy installed': (solve, warm),
            'a line compiled by Numba, warm cache': (_BARE + _ONE_LINE, warm),
            'a line compiled by Numba, warm cache, SciPy installed': (_ONE_LINE, warm),
        }
        for program, cache in programs.values():
            _process(program, cache)
        seconds = {name: [] for name in programs}
        for _ in range(repeats):
            for name, (program, cache) in programs.items():
                seconds[name].append(_process(program, cache))
    seconds['first solve, cold cache'] = cold = []
    for _ in range(-(-repeats // 3)):
        with tempfile.TemporaryDirectory() as empty:
            cold.append(_process(solve, empty))
    return [
        {
            'what': name,
            'unit': 's from the start of the process',
            **quartiles('median', np.array(times)),
        }
        for name, times in seconds.items()
    ]


def _process(program: str, cache: str) -> float:
    """Time from the start of a fresh interpreter until a program is done [s]."""
    file = Path(cache) / f'program_{zlib.crc32(program.encode()):08x}.py'
    if not file.exists():
        file.write_text(f"{program}\nprint('done', flush=True)\n")
    began = perf_counter()
    with subprocess.Popen(
        [_interpreter(), str(file)],
        stdout=subprocess.PIPE,
        env={**os.environ, 'NUMBA_CACHE_DIR': cache, 'PYTHONDONTWRITEBYTECODE': ''},
    ) as process:
        line = process.stdout.readline()
        seconds = perf_counter() - began
    if line != b'done\n':
        raise RuntimeError(f'a program that was timed has failed: {program}')
    return seconds


def _interpreter() -> str:
    """The package's own environment, where there is one."""
    own = Path(__file__).resolve().parents[1] / '.venv' / 'bin' / 'python'
    return str(own) if own.exists() else sys.executable


if __name__ == '__main__':
    main()
