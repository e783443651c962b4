"""Study of whole paths: jumps of solving pose after pose, and of ``solve_path``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
import math
from pathlib import Path
from time import perf_counter

import numpy as np

from ik_service.common.arguments import at_least
from ik_service.drawing.figures import ACCENT, method_label, PALETTE, sheet
from ik_service.extras.studies.arms import load_arm, MOST_POSES
from ik_service.extras.studies.tables import write_csv, write_summary
from ik_service.kinematics.chain import KinematicChain
from ik_service.kinematics.link_poses import tip_poses
from ik_service.paths.search.path_solver import solve_path
from ik_service.solvers.batch import solve_ik_batch
from ik_service.solvers.registry import DEFAULT_SOLVER

SUMMARY = 'whole paths of the Panda: jumps from pose to pose, and of solve_path'

WHOLE = 'solve_path'
JUMP = 0.1  # motion of a joint from one pose to the next that is a jump [rad] or [m]

_ARM = 'panda'
_RANDOM_SEED = 1  # of the path
_COMPILED = 3  # poses that are solved before time counts
_SHOWN = 5  # of the poses whose joints go into the table, one in so many, beside those at jumps
_TICK = 0.08  # height of the marks of jumps, of the axes


@dataclass(frozen=True)
class FoundPath:
    """Joint path (N, n) [rad] or [m], NaN where not solved, and time for all of it [s]."""

    method: str
    q: np.ndarray
    seconds: float

    @property
    def solved(self) -> np.ndarray:
        """(N,) Whether each pose is solved."""
        return ~np.isnan(self.q[:, 0])

    @property
    def motions(self) -> np.ndarray:
        """(N,) Largest motion of a joint since the solution before [rad] or [m]; 0 for none."""
        rows = np.flatnonzero(self.solved)
        motions = np.zeros(len(self.q))
        motions[rows[1:]] = np.abs(np.diff(self.q[rows], axis=0)).max(axis=1, initial=0.0)
        return motions

    @property
    def jumps(self) -> np.ndarray:
        """Numbers of the poses to which a joint jumps."""
        return np.flatnonzero(self.motions > JUMP)

    @property
    def fraction(self) -> float:
        """Share of the path up to the first jump, or the first pose that is not solved."""
        wrong = (self.motions > JUMP) | ~self.solved
        return float(np.argmax(wrong)) / len(wrong) if wrong.any() else 1.0


def whole_path(chain: KinematicChain, targets: np.ndarray, start: np.ndarray) -> FoundPath:
    """Find the path through targets (N, 4, 4) T_base_tip as a whole, from a start (n,)."""
    solve_path(chain, targets[:_COMPILED], start)
    began = perf_counter()
    path = solve_path(chain, targets, start)
    return FoundPath(WHOLE, path.q, perf_counter() - began)


def stepwise_path(chain: KinematicChain, targets: np.ndarray, start: np.ndarray) -> FoundPath:
    """Solve pose after pose (N, 4, 4), each from the answer before, the first from a start."""
    solve_ik_batch(chain, targets[:_COMPILED], start, chained=True)
    began = perf_counter()
    batch = solve_ik_batch(chain, targets, start, chained=True)
    seconds = perf_counter() - began
    return FoundPath(DEFAULT_SOLVER, np.where(batch.success[:, None], batch.q, np.nan), seconds)


def wandering_path(
    chain: KinematicChain, seed: int, points: int, legs: int, share: float = 0.3
) -> np.ndarray:
    """Joint path (points, n) [rad, m] between random postures, at rest in each."""
    ends = random_corners(chain, seed, legs, share)
    progress = np.linspace(0, legs, points)
    leg = np.minimum(progress.astype(int), legs - 1)
    done = 0.5 - 0.5 * np.cos(math.pi * (progress - leg))[:, None]
    return ends[leg] + (ends[leg + 1] - ends[leg]) * done


def random_corners(chain: KinematicChain, seed: int, legs: int, share: float) -> np.ndarray:
    """Random postures (legs + 1, n), each within ``share`` of the ranges of the one before."""
    random = np.random.default_rng(seed)
    lower, upper = np.maximum(chain.lower, -math.pi), np.minimum(chain.upper, math.pi)
    corners = [random.uniform(lower, upper)]
    for _ in range(legs):
        q = corners[-1] + random.uniform(-share, share, chain.n) * (upper - lower)
        q = np.where(q > upper, 2 * upper - q, q)  # positions beyond a limit are reflected
        corners.append(np.where(q < lower, 2 * lower - q, q))
    return np.array(corners)


def add_arguments(parser: ArgumentParser) -> None:
    """Add the options of the study."""
    parser.add_argument(
        '--poses',
        type=at_least(2, MOST_POSES),
        default=2000,
        metavar='N',
        help='of it (default: %(default)s)',
    )
    parser.add_argument(
        '--legs',
        type=at_least(1, MOST_POSES),
        default=40,
        metavar='N',
        help='ways between random postures on the path (default: %(default)s)',
    )


def run(arguments: Namespace) -> list[Path]:
    """Go along a path of ``poses`` and ``legs`` with both methods; write figure and tables."""
    chain = load_arm(_ARM)
    truth = wandering_path(chain, _RANDOM_SEED, arguments.poses, arguments.legs)
    targets = tip_poses(chain, truth)
    paths = [find(chain, targets, truth[0]) for find in (whole_path, stepwise_path)]
    folder: Path = arguments.output
    _draw(folder / 'paths.png', paths)
    return [
        folder / 'paths.png',
        write_summary(folder / 'paths-summary.csv', map(_summary, paths)),
        write_csv(folder / 'paths.csv', _joints(chain, paths)),
    ]


def _summary(found: FoundPath) -> dict[str, object]:
    return {
        'arm': _ARM,
        'method': found.method,
        'poses': len(found.q),
        'solved': found.solved.sum(),
        'without_jump_up_to': found.fraction,
        'jumps': len(found.jumps),
        'largest_motion': found.motions.max(),
        'seconds': round(found.seconds, 4),
    }


def _joints(chain: KinematicChain, paths: Sequence[FoundPath]) -> Iterator[dict[str, object]]:
    for found in paths:
        jumps = set(found.jumps.tolist())
        for pose in sorted({*range(0, len(found.q), _SHOWN), *jumps}):
            q = dict(zip(chain.joint_names, np.round(found.q[pose], 5), strict=True))
            yield {'method': found.method, 'pose': pose, 'jump': pose in jumps, **q}


def _draw(path: Path, paths: Sequence[FoundPath]) -> None:
    with sheet(path, 11.0, 5.6) as figure:
        figure.suptitle(
            f'{_ARM}: joints along a path, jumps above {JUMP:g} rad marked', x=0.02, ha='left'
        )
        grid = figure.subplots(len(paths), 1, sharex=True, sharey=True)
        for axes, found in zip(grid, paths, strict=True):
            for joint, color in zip(np.degrees(found.q).T, cycle(PALETTE), strict=False):
                axes.plot(joint, color=color, linewidth=1.1)
            for jump in found.jumps:
                axes.axvspan(jump - 1.0, jump, color=ACCENT, alpha=0.28, linewidth=0.6, zorder=0)
                axes.axvline(jump, 1.0 - _TICK, 1.0, color=ACCENT, linewidth=1.2)
            axes.set_title(_title(found))
            axes.set(ylabel='joints [°]', xlim=(0, len(found.q) - 1))
        grid[-1].set_xlabel('pose')


def _title(found: FoundPath) -> str:
    missing = int((~found.solved).sum())
    more = f', {missing} poses not solved' if missing else ''
    label = WHOLE if found.method == WHOLE else f'{method_label(found.method)}, pose after pose'
    return f'{label}: {len(found.jumps)} jumps{more}, {found.seconds:.2f} s'
