"""``ik_train``: training of learned starting postures for the solvers, with a measured benefit."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import time
from time import thread_time
from typing import Any

import numpy as np

from ik_service.cli.parser import Parser
from ik_service.cli.solve.options import add_robot_options, read_chain
from ik_service.cli.solve.request import notes_about_robot
from ik_service.common.arguments import checked_option
from ik_service.exceptions import IkServiceError
from ik_service.extras.learning.table import sample_postures, TableGuess
from ik_service.extras.learning.table_file import default_path, load_table, train_table
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_poses
from ik_service.solvers.options import IkOptions
from ik_service.solvers.solver import Solver

_SAMPLES = 10_000  # postures of a table
_FEWEST, _MOST = 100, 1_000_000  # postures of a table
# The methods with which the guess is tried: the default and two slower ones.
_METHODS = ('levenberg_marquardt', 'pseudoinverse', 'bfgs')
_CHECKED_POSES = 300

_DESCRIPTION = """
Makes a table of random postures of an arm, and saves it beside the robot's file. With
seed_source='table' a search starts at a posture of the table: of the few whose poses are closest
to the target, the one that a single solver step brings closest. Made in a second; needs SciPy.
"""

_EXAMPLES = """
examples:
  ik_train my_arm.urdf
  ik_train my_robot.urdf --base-link torso --tip-link left_hand --lock waist=0.1
  ik_train my_arm.urdf --samples 100000 --output ~/arm.table.npz

then, in Python:
  iks.Solver(chain, options=iks.IkOptions(seed_source='table'))

exit code: 0 saved, 1 a failure, 2 the command is wrong.
"""


@dataclass(frozen=True)
class Effort:
    """Shares reached by the first search and at all, and mean effort; call time with guess [s]."""

    iterations: float
    searches: float
    first_search: float
    solved: float
    call_time: float


def measure_effort(solver: Solver, targets: np.ndarray) -> Effort:
    """Effort of solving targets (N, 4, 4) T_base_tip from where the solver's options start."""
    results, times = _timed(solver.solve, targets)
    return Effort(
        iterations=_mean(result.iterations for result in results),
        searches=_mean(result.searches for result in results),
        first_search=_mean(result.success and result.searches == 1 for result in results),
        solved=_mean(result.success for result in results),
        call_time=_mean(times),
    )


def mean_guess_time(guess: TableGuess, targets: np.ndarray) -> float:
    """Return the mean time of a guess [s] for targets (N, 4, 4) T_base_tip."""
    return _mean(_timed(guess.guess, targets)[1])


def _timed(call: Callable[[np.ndarray], Any], targets: np.ndarray) -> tuple[list, list[float]]:
    """Return the results of calls for targets, and the processor's time of each [s]."""
    call(targets[0])  # compiles, or loads the compiled code
    results, times = [], []
    for T in targets:
        began = thread_time()
        results.append(call(T))
        times.append(thread_time() - began)
    return results, times


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def main(arguments: Sequence[str]) -> int:
    """Run the program; return the exit code 0."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        urdf, chain = read_chain(options)
        path = default_path(chain) if options.output is None else options.output.expanduser()
    except IkServiceError as error:
        parser.error(str(error))
    if os.path.realpath(path) == os.path.realpath(urdf):
        parser.error(f'--output: {path} is the file of the robot')
    print(f'Chain     {chain.robot.name}: {chain.n} joints, {chain.base_link} → {chain.tip_link}')
    for note in notes_about_robot(chain):
        print(f'Note      {note}')
    print(f'Training  a table from {options.samples:,} random postures', flush=True)
    began = time.perf_counter()
    train_table(chain, options.samples, path, options.seed)
    took = time.perf_counter() - began
    print(f'Saved     {path} ({path.stat().st_size / 1e3:.0f} kB) after {took:.1f} s', flush=True)
    _check(chain, path, options.seed)
    return 0


def _check(chain: KinematicChain, path: Path, seed: int) -> None:
    """Print the effort of solvers with and without the saved table, on poses of their own."""
    targets = tip_poses(chain, sample_postures(chain, _CHECKED_POSES, seed + 1))
    table = load_table(chain, path)
    print(f'\n{len(targets)} other random poses, full pose, means:\n')
    print(f'{"solver":20} {"start":8} iterations  searches  first search  solved  time of a call')
    for name in _METHODS:
        middle = measure_effort(Solver(chain, name), targets)
        print(_row(name, 'middle', middle), flush=True)
        guessed = IkOptions(seed_source='table', seed_file=str(path))
        learned = measure_effort(Solver(chain, name, guessed), targets)
        print(_row('', 'table', learned), flush=True)
    cost = 1e6 * mean_guess_time(table, targets)
    print(
        '\n"first search" is the share of the poses that the first search reaches. The time of a\n'
        f'call is that of the processor; it includes the guess, which takes {cost:.0f} µs.'
    )


def _row(solver: str, start: str, row: Effort) -> str:
    return (
        f'{solver:20} {start:8} {row.iterations:10.1f}  {row.searches:8.2f}  '
        f'{row.first_search:12.1%}  {row.solved:6.1%}  {1e6 * row.call_time:11.0f} µs'
    )


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog='ik_train',
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_robot_options(parser)
    parser.add_argument(
        '--samples',
        type=checked_option(
            int,
            lambda n: _FEWEST <= n <= _MOST,
            f'has to be a whole number from {_FEWEST} to {_MOST:,}, not {{!r}}',
        ),
        default=_SAMPLES,
        metavar='N',
        help='number of random postures of the table (default: %(default)s)',
    )
    parser.add_argument(
        '--output',
        type=Path,
        metavar='FILE',
        help='default: NAME.BASE.TIP.table.npz beside that file, where solvers find it',
    )
    parser.add_argument(
        '--seed',
        type=checked_option(
            int,
            lambda n: 0 <= n < 2**32,
            'has to be a whole number from 0 to 4294967295, not {!r}',
        ),
        default=0,
        metavar='N',
        help='seed of the random postures (default: 0)',
    )
    return parser
