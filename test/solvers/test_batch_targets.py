"""Targets of a batch: poses, tasks and mappings of tips to these; rows as single solves."""

import math

import numpy as np
import pytest
from support.chains import arm, arm_path, postures

import ik_service as iks
from ik_service.exceptions import ArgumentError

FREE = (math.inf,) * 3


@pytest.fixture(scope='module')
def tree():
    return iks.Robot.from_urdf(arm_path('upper_body')).tree(None, ['left_grip', 'right_grip'])


@pytest.fixture(scope='module')
def targets(tree):
    poses = [tree.forward(q) for q in postures(tree, 20, 1)]
    return {tip: np.array([pose[tip] for pose in poses]) for tip in tree.tips}


def test_rows_are_single_solves(tree, targets):
    batch = iks.solve_ik_batch(tree, targets, threads=2)
    assert batch.success.all()
    for row in range(20):
        single = iks.solve_ik(tree, {tip: poses[row] for tip, poses in targets.items()})
        np.testing.assert_array_equal(batch.q[row], single.q)


def test_tasks_among_poses(tree, targets):
    tasks = [iks.Task(T, orientation_tolerances=FREE) for T in targets['left_grip']]
    mixed = [task if row % 2 else task.target for row, task in enumerate(tasks)]
    batch = iks.solve_ik_batch(tree, {**targets, 'left_grip': mixed})
    assert batch.success.all()
    turned = [
        iks.Task(T).violation(tree.forward(q)['left_grip'])[1] > 1e-3
        for T, q in zip(targets['left_grip'], batch.q, strict=True)
    ]
    assert not any(turned[::2])
    assert all(turned[1::2])


def test_tasks_for_a_chain():
    chain = arm('panda')
    tasks = [
        iks.Task(chain.forward(q), orientation_tolerances=FREE) for q in postures(chain, 10, 2)
    ]
    batch = iks.solve_ik_batch(chain, [tasks[0].target, *tasks[1:]], np.zeros(7), chained=True)
    assert batch.success.all()
    assert iks.Task(tasks[0].target).violation(chain.forward(batch.q[0]))[1] < 1e-5


def test_no_targets(tree, targets):
    empty = {tip: poses[:0] for tip, poses in targets.items()}
    assert iks.solve_ik_batch(tree, empty).q.shape == (0, 19)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (lambda t: t.pop('left_grip'), "is missing for the tip 'left_grip'"),
        (lambda t: t.update(nose=t['left_grip']), "for 'nose'"),
        (lambda t: t.update(right_grip=t['right_grip'][:3]), "of 'right_grip' are 3"),
        (lambda t: t.update(right_grip=np.full((20, 4, 4), math.nan)), r"'right_grip'\[0\]"),
        (lambda t: t.update(right_grip=[iks.Task(np.eye(4)), None] * 10), r"'right_grip'\[1\]"),
        (lambda t: t.update(right_grip=None), "'right_grip'"),
    ],
)
def test_targets_that_are_none_are_refused(tree, targets, change, message):
    targets = dict(targets)
    change(targets)
    with pytest.raises(ArgumentError, match=message):
        iks.solve_ik_batch(tree, targets)


@pytest.mark.parametrize('seeds', [np.zeros(7), np.zeros((3, 19)), np.full(19, math.nan)])
def test_seeds_are_of_the_tree(tree, targets, seeds):
    with pytest.raises(ArgumentError, match=r'^seeds: '):
        iks.solve_ik_batch(tree, targets, seeds)
