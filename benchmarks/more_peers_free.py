"""
Solutions free of collisions by those further libraries that can test for them.

The arm is the Panda of this package, its fingers closed. Targets are the poses of random postures
that are free of collisions, seeds are other random postures. A local method counts an answer that
collides by its library's own test as a failed start. Pinocchio tests all pairs of links of every
answer afterwards.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
import tempfile
from xml.etree import ElementTree

from collision_free import free_problems, PANDA, Verdicts
from more_peers import alternately, arm_fields, columns, FOR_MUJOCO, pink, Remote
import numpy as np
from peers import Adapter, gather
from records import options, progress, save
from timing import use_one_core

import ik_service as iks

_REMOTE = ('mink', 'placo', 'roboplan-oink', 'embodik')


def main() -> None:
    """Measure and save."""
    args = options(__doc__, count=(200, 'problems'), seed=1)
    use_one_core()
    progress('more_peers_free')
    checker = iks.CollisionChecker(iks.Robot.from_urdf(PANDA.path))
    problems = free_problems(checker, args.count, args.seed)
    verdicts = Verdicts(checker, problems.targets)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, 'panda.urdf')
        file.write_text(description_with_closed_fingers())
        disabled = [tuple(sorted(pair)) for pair in checker.disabled_pairs]
        arm = arm_fields(PANDA, file, PANDA.base_link, PANDA.tip_link)
        there, absent = gather(
            {
                'ours': partial(ours, checker),
                'pink': partial(pink, PANDA, verdicts.collides),
                **{name: partial(Remote, name, {**arm, 'disabled': disabled}) for name in _REMOTE},
            }
        )
        found = alternately(there, problems)
        for each in there:
            if isinstance(each, Remote):
                each.close()
    rows = []
    for name, solutions in found.items():
        colliding = [q is not None and verdicts.collides(q) for q, _ in solutions]
        free = [
            (None if collides else q, seconds)
            for (q, seconds), collides in zip(solutions, colliding, strict=True)
        ]
        share = {'colliding_percent': 100.0 * np.mean(colliding)}
        rows.append({'solver': name, **columns(PANDA, problems, free), **share})
    rows += [{'chain': 'panda', **row} for row in absent]
    save('more_peers_free', rows, count=args.count, seed=args.seed)


def ours(checker: iks.CollisionChecker) -> Adapter:
    """Adapter of this project's default method, which goes on until nothing collides."""
    solver = iks.Solver(PANDA.chain, collisions=checker)
    solver.warm_up()

    def solve(target: np.ndarray, seed: np.ndarray) -> np.ndarray | None:
        result = solver.solve(target, seed)
        return result.q if result.success else None

    return Adapter('levenberg_marquardt', solve)


def description_with_closed_fingers() -> str:
    """Return the description of the arm with fingers that do not move."""
    root = ElementTree.parse(PANDA.path).getroot()
    root.insert(0, ElementTree.fromstring(FOR_MUJOCO))
    for joint in root.findall("joint[@type='prismatic']"):
        joint.set('type', 'fixed')
        for mimic in joint.findall('mimic'):
            joint.remove(mimic)
    return ElementTree.tostring(root, encoding='unicode')


if __name__ == '__main__':
    main()
