"""
Ten further IK libraries from PyPI, on the same poses, with the same tolerances, in turns.

Each library but Pink and EAIK solves in a process of its own, see ``peer_worker.py``, on the same
core as this one, which waits meanwhile. Targets are poses of random joint vectors; the search
starts from another random joint vector, or from that of the target with noise.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path
import pickle
import subprocess
import sys
import tempfile

from findings import NEAREST, OURS
import numpy as np
from peer_worker import Collides, MAKERS, restarted, timed
import peers
from peers import AbsentPeerError, Adapter, gather, ours, revolute_path, why_absent
from records import options, progress, Row, save
from robots import BenchRobot, chosen_robots, published_arms, urdf_of
from setup_env import ENVIRONMENT
from timing import rounds_of, use_one_core
from verifier import Problems, Verifier

import ik_service as iks
from ik_service.common.transforms import rpy_from_rotation

_CHAINS = 'panda,iiwa14,ur5,abb_irb120,xarm6,xarm7'
_PUBLISHED = {'xarm6', 'xarm7'}
_NEAR = 0.1  # largest noise of a near seed [rad]
FOR_MUJOCO = '<mujoco><compiler fusestatic="false"/></mujoco>'  # keeps links that do not move
_MASS = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)
_ROUND = 50  # problems after which the next library has its turn

Solutions = list[tuple[np.ndarray | None, float]]
"""Joint vectors (n,), None for none, and times [s]."""


def main() -> None:
    """Measure and save."""
    args = options(__doc__, count=(200, 'problems for each arm and seed'), chains=_CHAINS, seed=1)
    use_one_core()
    names = args.chains.split(',')
    shared = ','.join(name for name in names if name not in _PUBLISHED)
    published = [name for name in names if name in _PUBLISHED]
    rows, versions = [], {name: metadata.version(name) for name in ('EAIK', 'pin-pink')}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        robots = chosen_robots(shared) if shared else []
        for robot in [*robots, *published_arms(folder, published)]:
            progress(f'more_peers: {robot.name}')
            rows += compare(robot, folder, args.count, args.seed, versions)
    save('more_peers', rows, count=args.count, seed=args.seed, **versions)


def compare(
    robot: BenchRobot, folder: Path, count: int, seed: int, versions: dict[str, str]
) -> list[Row]:
    """Rows of the table for one arm; fills in the versions of the libraries."""
    arm = plain_arm(robot, folder)
    there, absent = gather(
        {
            OURS: partial(ours, robot, OURS),
            NEAREST: partial(nearest, robot),
            'EAIK': partial(peers.eaik, robot),
            'EAIK (first)': partial(eaik_first, robot),
            'pink': partial(pink, robot),
            **{name: partial(Remote, name, arm) for name in MAKERS},
        }
    )
    rows = []
    for seeds, problems in all_problems(robot, count, seed).items():
        for name, found in alternately(there, problems).items():
            row = {'chain': robot.name, 'seeds': seeds, 'solver': name}
            rows.append({**row, **columns(robot, problems, found)})
    for each in there:
        if isinstance(each, Remote):
            versions[each.package] = each.version
            each.close()
    return rows + [{'chain': robot.name, **row} for row in absent]


class Remote:
    """Library in a process of its own; AbsentPeerError says why it has nothing for the arm."""

    def __init__(self, name: str, arm: dict[str, object]) -> None:
        self.name, (self.package, _) = name, MAKERS[name]
        own = ENVIRONMENT / self.package / 'bin' / 'python'
        worker = Path(__file__).with_name('peer_worker.py')
        self._process = subprocess.Popen(
            [own if own.exists() else sys.executable, worker, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        reason, self.version = self._asked(arm)
        if reason:
            self.close()
            raise AbsentPeerError(why_absent(self.package, reason))

    def solutions(self, problems: Problems) -> Solutions:
        """Solve problems one by one."""
        return self._asked((problems.targets, problems.seeds))

    def close(self) -> None:
        """End the process."""
        self._process.stdin.close()
        self._process.wait()

    def _asked(self, message: object) -> object:
        pickle.dump(message, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)


def plain_arm(robot: BenchRobot, folder: Path) -> dict[str, object]:
    """Return the arm as ``peer_worker.Arm`` takes it: with one chain, and a mass for MuJoCo."""
    path, chain = revolute_path(robot.chain), robot.chain
    frames = [*(motion.T_before for motion in path.motions), path.T_after]
    limits = [*zip(chain.lower.tolist(), chain.upper.tolist(), strict=True), None]
    joints = [
        (T[:3, 3], rpy_from_rotation(T[:3, :3]), own)
        for T, own in zip(frames, limits, strict=True)
    ]
    file = folder / f'{robot.name}_plain.urdf'
    file.write_text(urdf_of(robot.name, joints, _MASS, FOR_MUJOCO))
    return arm_fields(robot, file, 'link0', f'link{chain.n + 1}')


def arm_fields(robot: BenchRobot, file: Path, base: str, tip: str) -> dict[str, object]:
    """Return the fields of ``peer_worker.Arm``, with the description for other libraries."""
    path = revolute_path(robot.chain)
    return {
        'name': robot.name,
        'urdf': str(file),
        'base': base,
        'tip': tip,
        'lower': robot.chain.lower,
        'upper': robot.chain.upper,
        'joints': np.array([*(motion.T_before for motion in path.motions), path.T_after]),
    }


def nearest(robot: BenchRobot) -> Adapter:
    """Adapter of this project's search for the solution that is nearest to the seed."""
    options = iks.IkOptions(prefer='nearest', timeout=0.001)
    return replace(ours(robot, OURS, options), name=NEAREST)


def eaik_first(robot: BenchRobot) -> Adapter:
    """First of EAIK's exact solutions, within the limits or not: its call and nothing else."""
    solver = peers.eaik_solver(robot)

    def solve(target: np.ndarray, _seed: np.ndarray) -> np.ndarray | None:
        solution = solver.IK(target)
        for q, approximate in zip(solution.Q, solution.is_LS, strict=True):
            if not approximate:
                return q
        return None

    return Adapter('EAIK (first)', solve)


def pink(robot: BenchRobot, collides: Collides | None = None) -> Adapter:
    """Pink with the further starts that the other local methods have."""
    once = peers.pink(robot)
    solve = restarted(once.solve, robot.chain.lower, robot.chain.upper, collides)
    return Adapter('pink', solve, once.prepare)


def all_problems(robot: BenchRobot, count: int, seed: int) -> dict[str, Problems]:
    """Poses of random joint vectors, by the kind of their seeds."""
    verifier = Verifier(robot)
    truth = verifier.postures(count, seed)
    noise = np.random.default_rng(seed).uniform(-_NEAR, _NEAR, truth.shape)
    near = np.clip(truth + noise, verifier.lower, verifier.upper)
    random = verifier.postures(count, seed + 1)
    targets = verifier.poses(truth)
    return {'random': Problems(truth, targets, random), 'near': Problems(truth, targets, near)}


def alternately(solvers: list[Adapter | Remote], problems: Problems) -> dict[str, Solutions]:
    """Answers of all solvers by name, some problems each before the next one's turn."""
    for solver in solvers:  # what is compiled or prepared at a first call does not count
        solved(solver, problems.part(slice(0, 3)))
    found: dict[str, Solutions] = {solver.name: [] for solver in solvers}
    for rows in rounds_of(len(problems), _ROUND):
        for solver in solvers:
            found[solver.name] += solved(solver, problems.part(rows))
    return found


def solved(solver: Adapter | Remote, problems: Problems) -> Solutions:
    """Answers of one solver."""
    if isinstance(solver, Remote):
        return solver.solutions(problems)
    targets = [solver.prepare(T) for T in problems.targets]
    return [
        timed(solver.solve, target, seed)
        for target, seed in zip(targets, problems.seeds, strict=True)
    ]


def columns(robot: BenchRobot, problems: Problems, found: Solutions) -> dict[str, object]:
    """Columns of the table; the motion is the largest of any joint from the seed."""
    verifier = Verifier(robot)
    times = 1e6 * np.array([seconds for _, seconds in found])
    accepted = [verifier.accepts(q, T) for (q, _), T in zip(found, problems.targets, strict=True)]
    motion = [
        np.abs(q - seed).max()
        for (q, _), seed, good in zip(found, problems.seeds, accepted, strict=True)
        if good
    ]
    return {
        'problems': len(found),
        'success_percent': 100.0 * np.mean(accepted),
        'median_us': np.median(times),
        'p95_us': np.percentile(times, 95),
        'mean_us': times.mean(),
        'motion': float(np.median(motion)) if motion else '',
    }


if __name__ == '__main__':
    main()
