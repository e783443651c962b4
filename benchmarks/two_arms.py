"""
Time and success with several tips, and with tolerances, on one core.

Targets are the poses of random postures within the limits, seeds other random postures. An answer
counts when plain NumPy finds every tip within its tolerances, and every joint within its limits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from xml.etree import ElementTree

import numpy as np
from records import options, progress, save
from robots import joint_xml
from timing import times_row, use_one_core

import ik_service as iks
from ik_service.common.resources import urdf_path
from ik_service.extras.studies.tables import show
from ik_service.kinematics.tree import Tip

INF = np.inf
UPRIGHT = (0.1, 0.1, INF)
TASKS: dict[str, dict] = {
    'exact pose': {},
    'position only': {'orientation_tolerances': (INF, INF, INF)},
    'any turn about z': {'orientation_tolerances': (0, 0, INF)},
    'keep upright': {'orientation_tolerances': UPRIGHT},
    'keep upright, Euler angles': {
        'orientation_tolerances': UPRIGHT, 'parameterization': 'euler_xyz',
    },
    'upright in a box': {
        'region': iks.Box((0.1, 0.1, 0.02)), 'orientation_tolerances': UPRIGHT,
    },
    'in a ball': {'region': iks.Sphere(0.05)},
}  # fmt: skip
Target = Mapping[Tip, np.ndarray | iks.Task]


def main() -> None:
    """Measure, print and save."""
    args = options(__doc__, count=(1000, 'problems of each kind'), seed=1)
    use_one_core()
    rows = []
    for name, tree in trees().items():
        progress(f'two_arms: {name}')
        rows.append({'problem': name, **measured(tree, args.count, args.seed, lambda T: T)})
    panda = iks.Robot.from_urdf(urdf_path('panda')).tree('panda_link0', ['panda_hand_tcp'])
    for name, fields in TASKS.items():
        progress(f'two_arms: panda, {name}')
        row = measured(panda, args.count, args.seed, lambda T, f=fields: iks.Task(T, **f))
        rows.append({'problem': f'panda, {name}', **row})
    show(rows)
    save('two_arms', rows, count=args.count, seed=args.seed)


def trees() -> dict[str, iks.KinematicTree]:
    """Trees of several tips, by what they are."""
    body = iks.Robot.from_urdf(urdf_path('upper_body'))
    pair = ('left_grip', 'right_grip')
    pandas = iks.Robot.from_urdf(two_pandas())
    tips = [f'{side}_panda_hand_tcp' for side in ('left', 'right')]
    return {
        'upper body, both hands': body.tree('pelvis', pair),
        'upper body, one hand in the other': body.tree('pelvis', [pair]),
        'upper body, a hand and the other in it': body.tree('pelvis', ['left_grip', pair]),
        'upper body, both hands and the head': body.tree('pelvis', [*pair, 'head']),
        'two pandas on a turning column': pandas.tree('column', tips),
        **{f'{count} random arms on a torso': random_arms(count) for count in (2, 4, 6)},
    }


def random_arms(count: int) -> iks.KinematicTree:
    """Arms of six joints on a torso of three, all of random geometry."""
    rng = np.random.default_rng(0)
    links, joints = ['base'], []

    def limb(name: str, parent: str, length: int) -> str:
        for i in range(length):
            xyz, rpy = rng.uniform(-0.3, 0.3, 3), rng.uniform(-np.pi, np.pi, 3)
            limits = (-rng.uniform(0.5, 3.1), rng.uniform(0.5, 3.1))
            joints.append(joint_xml(f'{name}{i}', parent, f'{name}_{i}', xyz, rpy, limits))
            parent = f'{name}_{i}'
            links.append(parent)
        return parent

    torso = limb('torso', 'base', 3)
    tips = [limb(f'arm{k}', torso, 6) for k in range(count)]
    parts = [*(f'<link name="{link}"/>' for link in links), *joints]
    return iks.Robot.from_urdf(f'<robot name="arms">{"".join(parts)}</robot>').tree('base', tips)


def two_pandas() -> str:
    """Description of two arms on a column that turns and rises."""
    text = urdf_path('panda').read_text()
    parts = [
        '<link name="column"/><link name="lift"/><link name="bar"/>',
        joint_xml('rise', 'column', 'lift', (0, 0, 0), limits=(-0.3, 0.3), kind='prismatic'),
        joint_xml('turn', 'lift', 'bar', (0, 0, 0.5), limits=(-1.5, 1.5)),
    ]
    for side, y in (('left', 0.3), ('right', -0.3)):
        parts.append(joint_xml(f'{side}_mount', 'bar', f'{side}_panda_link0', (0, y, 0)))
        for part in ElementTree.fromstring(text):
            if part.tag in ('link', 'joint'):
                parts.append(_renamed(part, side))
    return f'<robot name="two_pandas">{"".join(parts)}</robot>'


def _renamed(part: ElementTree.Element, side: str) -> str:
    """Return a link or a joint of one side, without shapes."""
    part.set('name', f'{side}_{part.get("name")}')
    for child in list(part):
        if child.tag in ('visual', 'collision', 'inertial'):
            part.remove(child)
        for attribute in ('link', 'joint'):
            if child.get(attribute):
                child.set(attribute, f'{side}_{child.get(attribute)}')
    return ElementTree.tostring(part, encoding='unicode')


def measured(
    tree: iks.KinematicTree, count: int, seed: int, make: Callable[[np.ndarray], object]
) -> dict[str, object]:
    """Columns of the table for one tree."""
    rng = np.random.default_rng(seed)
    truth, seeds = rng.uniform(tree.lower, tree.upper, (2, count, tree.n))
    targets = [{tip: make(T) for tip, T in tree.forward(q).items()} for q in truth]
    solver = iks.Solver(tree)
    solver.solve(targets[0], seeds[0])
    results, seconds = [], []
    for target, start in zip(targets, seeds, strict=True):
        began = perf_counter()
        results.append(solver.solve(target, start))
        seconds.append(perf_counter() - began)
    solved = [
        result.success and accepts(tree, target, result.q)
        for target, result in zip(targets, results, strict=True)
    ]
    return {
        'joints': tree.n,
        'problems': count,
        **times_row(seconds),
        'searches': float(np.mean([result.searches for result in results])),
        'success_percent': 100.0 * float(np.mean(solved)),
    }


def accepts(tree: iks.KinematicTree, target: Target, q: np.ndarray) -> bool:
    """Whether every tip is within its tolerances, and every joint within its limits."""
    inside = bool(((tree.lower <= q) & (q <= tree.upper)).all())
    for tip, pose in tree.forward(q).items():
        task = target[tip]
        task = task if isinstance(task, iks.Task) else iks.Task(task)
        inside &= max(task.violation(pose)) <= 1e-5
    return inside


if __name__ == '__main__':
    main()
